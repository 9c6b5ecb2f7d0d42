"""Rebuild the tables of `data/measurements` from collected logs.

    python -m scripts.import_measurements --models MAP FILE ...  [--output FOLDER]

A developer's tool. FILEs are JSON Lines of start-up logs of serving engines, allocation logs of
llama.cpp, published GGUF sizes, measured speeds, or peaks of training runs; each goes to the
table of its kind. MAP is a
CSV that says which repository stands for a model named in a log. Only the fields listed in the
converters are carried over: numbers, settings, addresses and dates, never a log's or a
collector's text.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from gpusizer.paths import DATA_DIR
from scripts.measurement_rows import gguf_sizes, llama_cpp, serving, throughput, training
from scripts.measurement_rows.common import ModelMap, Row

Convert = Callable[[Row, ModelMap], Row | None]

TABLES: dict[str, tuple[str, Convert]] = {
    # a field only this kind of source has -> (table, converter)
    "gpu_memory_utilization": ("serving.jsonl", serving.convert),
    "measure_kind": ("llama_cpp.jsonl", llama_cpp.convert),
    "gguf_file": ("gguf_sizes.jsonl", gguf_sizes.convert),
    "measured_peak_gib": ("training.jsonl", training.convert),
    "exact": ("gguf_sizes.jsonl", gguf_sizes.convert),
    "decode_tps": ("throughput.jsonl", throughput.convert),
}


def main() -> None:
    """Convert every file and say what was left out."""
    parser = argparse.ArgumentParser(prog="python -m scripts.import_measurements")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=DATA_DIR / "measurements")
    arguments = parser.parse_args()
    models = ModelMap(arguments.models)
    tables: dict[str, list[Row]] = {}
    for path in arguments.files:
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line]
        name, converted = convert_all(rows, models)
        tables.setdefault(name, []).extend(converted)
        print(f"{path.name}: {len(converted)} of {len(rows)} rows to {name}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        write(arguments.output / name, table)


def convert_all(rows: list[Row], models: ModelMap) -> tuple[str, list[Row]]:
    """(table, rows that could be carried over) of one file."""
    name, convert = next(
        target for field, target in TABLES.items() if all(field in row for row in rows)
    )
    return name, [row for row in (convert(source, models) for source in rows) if row is not None]


def write(path: Path, rows: Iterable[Row]) -> None:
    """One row per line, fields in the converter's order."""
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
