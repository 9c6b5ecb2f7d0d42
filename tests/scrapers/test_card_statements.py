"""How many statements of cards are read rightly: made-up ones in the shapes that authors use.

`card_statements.jsonl` has 447 in the format of `bench.cards`, in five sets that were each written
before the rules of their day were changed; their ids say which.
"""

from __future__ import annotations

import json
from pathlib import Path

from bench.cards import STATED, Reading, read_row

ROWS = Path(__file__).with_name("card_statements.jsonl")
MISREAD = {
    "first-091": "the number of GPUs of the second claim stands without its noun",
    "second-003": "the amount of the second clause has no noun",
    "second-031": "the word beside the length is no word of context",
    "third-068": "the clause before says that it is another model",
    "fifth-037": "the clause behind says that it is another model",
}
"""Statements that are read wrongly, with the reason."""


def readings() -> list[Reading]:
    return [read_row(json.loads(line)) for line in ROWS.read_text("utf-8").splitlines()]


def test_statements_are_read_rightly() -> None:
    read = readings()
    assert {item.row["id"] for item in read if item.fault} == MISREAD.keys()
    negatives = [item for item in read if item.row["kind"] not in STATED]
    assert len(negatives) * 2 > 0.9 * len(read)


def test_false_needs_are_few() -> None:
    negatives = [item for item in readings() if not item.row["expected"]["is_requirement"]]
    false = [item.row["id"] for item in negatives if item.is_false_requirement]
    assert len(false) <= 0.03 * len(negatives)
