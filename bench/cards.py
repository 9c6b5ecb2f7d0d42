"""Accuracy of reading model cards: statements with the right reading, against `read_card`.

    python -m bench.cards --rows FILE [--wrong]

FILE has one JSON object a line: `text`, `context_before` (the text above it in the card),
`repo_id`, `kind`, and `expected` with the fields of the right reading. A row becomes a small card
of its context and its text. It is read correctly if the statements that reach into the text are
requirements or not, as expected, and have every expected field. A row whose text is about training,
a measurement or another subject must give no requirement.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from gpusizer.hub.card_statements import ModelCardStatement
from scrapers.readme.model_card import read_card

Row = Mapping[str, Any]

HARDWARE = ("min_vram", "recommended_vram", "gpus")

# kinds whose rows have statements; every other kind is a negative
STATED = (*HARDWARE, "command", "context", "sibling_table")

# expected fields that are compared, with their names in a statement if these differ
FIELDS = {
    **dict.fromkeys(("vram_gb", "vram_gb_high", "count", "gpu", "quant", "bits", "engine")),
    **dict.fromkeys(("tensor_parallel", "pipeline_parallel", "data_parallel", "kv_dtype")),
    **dict.fromkeys(("memory_utilization", "max_num_seqs", "max_num_batched_tokens")),
    **dict.fromkeys(("enforce_eager", "gpu_layers", "flash_attention", "yarn_factor")),
    **dict.fromkeys(("native_context", "context", "file", "branch", "group_size", "model")),
    **dict.fromkeys(("unified_memory_gb", "vram_gb_per_gpu")),
    "gpu_memory_gb": "vram_gb_per_gpu",
    "file_size_gb": "size_gb",
    "max_ram_gb": "ram_gb",
    "max_batch_size": "max_num_seqs",
    "max_num_tokens": "max_num_batched_tokens",
    "kv_cache_fraction": "memory_utilization",
    "quantized": "is_quantized",
    "offload": "with_offload",
}


@dataclass(frozen=True, slots=True)
class Reading:
    """One row as it was read, and its fault or ""."""

    row: Row
    statements: tuple[ModelCardStatement, ...]
    fault: str

    @property
    def is_false_requirement(self) -> bool:
        """Whether a row without a requirement was read as one."""
        stated = any(item.is_requirement for item in self.statements)
        return stated and not self.row["expected"]["is_requirement"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the accuracy by kind and by language, and the number of false requirements."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=Path, required=True, metavar="FILE")
    parser.add_argument("--wrong", action="store_true", help="list the rows that are read wrongly")
    options = parser.parse_args(arguments)
    rows = [json.loads(line) for line in options.rows.read_text("utf-8").splitlines() if line]
    readings = [read_row(row) for row in rows]
    print(table(readings))
    if options.wrong:
        print(*map(_explained, (item for item in readings if item.fault)), sep="\n")


def read_row(row: Row) -> Reading:
    """Read a row as a small card and compare it with what is expected."""
    text, first_line = small_card(row)
    card = read_card(text.encode(), row["repo_id"], "")
    own = tuple(item for item in card.statements if item.last_line >= first_line)
    return Reading(row, own, fault_of(row, own))


def small_card(row: Row) -> tuple[str, int]:
    """Return the card of a row's context and text, and the first line of its text.

    A fence without a language ends a block that the context leaves out; a head of a table without
    the line below it gets that line.
    """
    context = row["context_before"]
    above = "" if context.strip() == "```" else context
    head = above.rpartition("\n")[2]
    if head.startswith("|") and row["text"].startswith("|") and "|" not in above[: -len(head)]:
        above += f"\n{'|---' * (head.count('|') - 1)}|"
    return f"{above}\n{row['text']}\n", above.count("\n") + 2


def fault_of(row: Row, statements: Sequence[ModelCardStatement]) -> str:
    """Return the fault of a row's statements, or ""."""
    expected, kind = row["expected"], row["kind"]
    needs = [item for item in statements if item.is_requirement]
    if not expected["is_requirement"] and needs:
        return "false requirement"
    if kind not in STATED:
        return ""
    alike = HARDWARE if kind in HARDWARE else (kind,)
    same = [item for item in statements if item.kind in alike]
    if expected["is_requirement"] and not any(item.is_requirement for item in same):
        return "no requirement"
    if not same:
        has_none = kind == "context" and not {"context", "yarn_factor"} & expected.keys()
        return "" if has_none else "no statement"
    shared = {name: value for name, value in expected.items() if name != "claims"}
    claims = [shared | claim for claim in expected.get("claims", ())] or [shared]
    faults = [min((_differing(claim, item, row) for item in same), key=len) for claim in claims]
    return "; ".join(", ".join(fault) for fault in faults if fault)


def _differing(claim: Mapping[str, Any], statement: ModelCardStatement, row: Row) -> list[str]:
    values = statement.to_json()
    return [
        f"{name}={values.get(FIELDS[name] or name)!r}"
        for name, wanted in claim.items()
        if name in FIELDS and not _is_same(name, wanted, values, row)
    ]


def _is_same(name: str, wanted: Any, values: Mapping[str, Any], row: Row) -> bool:
    got = values.get(FIELDS[name] or name)
    if name == "model":
        text = _key(row["context_before"] + row["text"])
        return _key(wanted) not in text or _key(got) in _key(wanted) or _key(wanted) in _key(got)
    if name == "engine" and row["kind"] != "command":
        return got == wanted or _key(wanted) not in _key(row["context_before"] + row["text"])
    if name == "gpu":
        return _key(wanted) in _key(got) or _key(got) == _key(wanted)
    if name in ("context", "native_context") and got is not None:
        return got in (wanted, wanted * 1000 // 1024, wanted * 1024 // 1000) or _near(got, wanted)
    if name in ("vram_gb", "vram_gb_per_gpu") and values.get("count", 1) == 1:
        return wanted in (values.get("vram_gb"), values.get("vram_gb_per_gpu"))
    if isinstance(wanted, float):
        return got is not None and abs(got - wanted) < 1e-6
    return bool(got == wanted)


def _near(got: int, wanted: int) -> bool:
    # 128k is 128,000 or 131,072 tokens: cards mean either.
    return abs(got - wanted) <= 0.05 * wanted


def _key(text: str | None) -> str:
    return "".join(letter for letter in (text or "").casefold() if letter.isalnum())


def table(readings: Sequence[Reading]) -> str:
    """Return rows read correctly, by kind and by language, and the false requirements."""
    named = [
        (name, not item.fault)
        for item in readings
        for name in (item.row["kind"], item.row["language"], "all")
    ]
    groups = pd.DataFrame(named, columns=["rows", "right"]).groupby("rows")["right"]
    lines = [groups.agg(number="size", right="sum", share="mean").to_string()]
    false = Counter(item.row["kind"] for item in readings if item.is_false_requirement)
    lines.append(f"\nfalse requirements: {sum(false.values())} {dict(false) or ''}".rstrip())
    return "\n".join(lines)


def _explained(reading: Reading) -> str:
    read = [item.to_json() for item in reading.statements]
    return "\n".join(
        (
            f"\n{reading.row.get('id', '')} {reading.row['kind']}: {reading.fault}",
            f"  {reading.row['text']!r}",
            *(f"  {json.dumps(item, ensure_ascii=False)}" for item in read),
        )
    )


if __name__ == "__main__":
    main()
