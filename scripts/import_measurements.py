"""Rebuild the tables of `data/measurements` from collected logs.

    python -m scripts.import_measurements --models MAP FILE ...  [--output FOLDER]
    python -m scripts.import_measurements --models MAP --append FILE ...

A developer's tool. FILEs are JSON Lines of start-up logs of serving engines, allocation logs of
llama.cpp, published GGUF sizes, measured speeds, peaks of training runs, or losses of
quantizations; each goes to the table of its kind. MAP is a CSV with the repository of each model
named in a log. `--append` keeps the present rows, adds those with new IDs and records their errors
before any constant is changed for them (`bench/first_contact.py`). Only the fields listed in the
converters are carried over: numbers, settings, URLs and dates, but no text of a log or collector.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path

from bench import first_contact
from bench.evaluation import compared
from bench.measurements import load
from gpusizer.core.paths import DATA_DIR
from scripts.measurement_rows import (
    community,
    gguf_sizes,
    llama_cpp,
    one_user,
    quality,
    serving,
    serving_load,
    throughput,
    training,
)
from scripts.measurement_rows.common import ModelMap, Row

Convert = Callable[[Row, ModelMap], Row | None]

TABLES: dict[str, tuple[str, Convert]] = {
    # a field that only this kind of source has -> (table, converter)
    "gpu_memory_utilization": ("serving.jsonl", serving.convert),
    "measure_kind": ("llama_cpp.jsonl", llama_cpp.convert),
    "gguf_file": ("gguf_sizes.jsonl", gguf_sizes.convert),
    "measured_peak_gib": ("training.jsonl", training.convert),
    "exact": ("gguf_sizes.jsonl", gguf_sizes.convert),
    "decode_tps": ("throughput.jsonl", throughput.convert),
    "how": ("throughput.jsonl", one_user.convert),
    "tok_s": ("throughput.jsonl", community.convert),
    "baseline_quantization": ("quality.jsonl", quality.convert),
    "output_tok_s": ("serving_load.jsonl", serving_load.convert),
}


def main() -> None:
    """Convert every file and print how many rows were left out."""
    parser = argparse.ArgumentParser(prog="python -m scripts.import_measurements")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=DATA_DIR / "measurements")
    parser.add_argument("--append", action="store_true", help="add new rows, keep the others")
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
        path = arguments.output / name
        if arguments.append:
            present = load([path]) if path.is_file() else []
            table = [*present, *_new_rows(table, present, arguments.output)]
        write(path, table)


def _new_rows(table: Iterable[Row], present: Iterable[Row], folder: Path) -> list[Row]:
    """Record the first errors of rows with new IDs, and return these rows."""
    present_ids = {row["id"] for row in present}
    rows = {row["id"]: row for row in table if row["id"] not in present_ids}
    added = first_contact.record(rows.values(), compared, folder / first_contact.FILE.name)
    print(f"{len(rows)} new rows, {added} first errors")
    return list(rows.values())


def convert_all(rows: list[Row], models: ModelMap) -> tuple[str, list[Row]]:
    """Convert the rows of one file; return the table's name and the converted rows."""
    name, convert = next(
        target for field, target in TABLES.items() if all(field in row for row in rows)
    )
    return name, [row for row in (convert(source, models) for source in rows) if row is not None]


def write(path: Path, rows: Iterable[Row]) -> None:
    """Write one row per line, with fields in the converter's order."""
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
