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
    "labels and values of a line, parted by strokes": {"first-018"},
    "calls in Python": {"second-039", "third-044"},
    "accelerate's limits of devices": {"first-080", "first-081", "fourth-023", "fifth-019"},
    "a GPU and its number, or its noun, in two clauses": {"first-045", "first-091", "fifth-009"},
    "amounts without a noun or a word of need": {
        "first-001",
        "first-014",
        "fourth-001",
    },
    "a precision in brackets behind an amount, another one before the next": {"second-006"},
    "an amount of the second clause without a noun": {"second-003"},
    "a GPU and an amount under two heads of need": {"third-006"},
    "no word of context beside the length": {"second-031"},
    "another model, in the clause before or behind": {"first-132", "fifth-037"},
    "memory that is less by so much": {"second-072"},
}


def readings() -> list[Reading]:
    return [read_row(json.loads(line)) for line in ROWS.read_text("utf-8").splitlines()]


def test_statements_are_read_rightly() -> None:
    read = readings()
    assert {item.row["id"] for item in read if item.fault} == set().union(*MISREAD.values())
    negatives = [item for item in read if item.row["kind"] not in STATED]
    assert len(negatives) * 2 > 0.9 * len(read)


def test_false_needs_are_few() -> None:
    negatives = [item for item in readings() if not item.row["expected"]["is_requirement"]]
    false = [item.row["id"] for item in negatives if item.is_false_requirement]
    assert len(false) <= 0.03 * len(negatives)
