"""data/gguf_publishers.csv: valid rows are read, others refused, and each row is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import MalformedTable
from gpusizer.memory.quants.publishers import (
    COLUMNS,
    FILE,
    PublisherRule,
    choices_of,
    habits_of,
    publishers,
    read_rules,
)
from gpusizer.memory.quants.recipes import RECIPES

HEADER = ",".join(COLUMNS)
GOOD = "unsloth,gemma4,q4_k_m,tied_embedding,Q5_1,worked out"


def read(folder: Path, *lines: str) -> tuple[PublisherRule, ...]:
    path = folder / "rows.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_rules(path)


def test_every_row_of_the_table_is_used() -> None:
    rows = read_rules(DATA_DIR / "gguf_publishers.csv")
    assert publishers() == {row.publisher for row in rows}
    for row in rows:
        slug = min(row.recipes, default="q4_k_m")
        choices = choices_of(row.publisher, slug, RECIPES[slug])
        if row.tensor == FILE:
            assert row.type in habits_of(row.publisher)
        else:
            assert (row.tensor, row.type) in {(rule.tensor, rule.type) for rule in choices}


def test_a_good_row(tmp_path: Path) -> None:
    models, recipes = frozenset({"gemma4"}), frozenset({"q4_k_m"})
    assert read(tmp_path, HEADER, GOOD) == (
        PublisherRule("unsloth", models, recipes, "tied_embedding", "Q5_1"),
    )


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (",gemma4,q4_k_m,tied_embedding,Q5_1,s", "publisher"),
        ("Unsloth,gemma4,q4_k_m,tied_embedding,Q5_1,s", "publisher"),
        ("unsloth,gemma4/x,q4_k_m,tied_embedding,Q5_1,s", "models"),
        ("unsloth,gemma4,,file,importance_matrix,s", "models"),
        ("unsloth,,q4_0,file,importance_matrix,s", "recipes"),
        ("unsloth,,,file,Q8_0,s", "type"),
        ("unsloth,gemma4,q4_k_m q4_k_x,tied_embedding,Q5_1,s", "recipes"),
        ("unsloth,gemma4,q4_k_m,tied_embeddings,Q5_1,s", "tensor"),
        ("unsloth,gemma4,q4_k_m,tied_embedding,Q5_9,s", "type"),
        ("unsloth,gemma4,q4_k_m,tied_embedding,,s", "type"),
        ("unsloth,,,tied_embedding,importance_matrix,s", "type"),
        ("unsloth,gemma4,q4_k_m,tied_embedding,Q5_1, ", "source"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: str, field: str) -> None:
    with pytest.raises(MalformedTable, match=f"rows.csv, line 3: field {field}") as caught:
        read(tmp_path, HEADER, GOOD, row)
    assert (caught.value.line, caught.value.field) == (3, field)


@pytest.mark.parametrize("header", ["", HEADER.replace("type", "kind")])
def test_missing_columns(tmp_path: Path, header: str) -> None:
    with pytest.raises(MalformedTable, match="line 1: missing columns"):
        read(tmp_path, header, GOOD)


def test_a_short_row(tmp_path: Path) -> None:
    with pytest.raises(MalformedTable, match="line 3: 6 fields expected, 5 given"):
        read(tmp_path, HEADER, GOOD, "unsloth,gemma4,q4_k_m,tied_embedding,Q5_1")
