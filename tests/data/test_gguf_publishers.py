"""data/gguf_publishers.csv: what its rows may say, and that each of them is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpusizer.paths import DATA_DIR
from gpusizer.quants.publisher_rows import (
    COLUMNS,
    FIRST_DOWN,
    MalformedTable,
    PublisherRow,
    read_rows,
)
from gpusizer.quants.publishers import choices_of, publishers
from gpusizer.quants.recipes import RECIPES

TENSORS = {"tied_embedding", "layer_table", "expert_down", "shared_experts", "recurrent_out"}
HEADER = ",".join(COLUMNS)
GOOD = "unsloth,gemma4,q4_k_m,layer_table,Q5_1,worked out"


def read(folder: Path, *lines: str) -> tuple[PublisherRow, ...]:
    path = folder / "rows.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return read_rows(path, TENSORS)


def test_every_row_of_the_table_is_used() -> None:
    rows = read_rows(DATA_DIR / "gguf_publishers.csv", TENSORS)
    assert publishers() == {row.publisher for row in rows}
    for row in rows:
        slug = min(row.recipes, default="q4_k_m")
        recipe, choices = choices_of(row.publisher, slug, RECIPES[slug])
        if row.tensor == FIRST_DOWN:
            assert recipe != RECIPES[slug]
        else:
            assert (row.tensor, row.type) in {(one.tensor, one.type) for one in choices}


def test_a_good_row(tmp_path: Path) -> None:
    models, recipes = frozenset({"gemma4"}), frozenset({"q4_k_m"})
    assert read(tmp_path, HEADER, GOOD) == (
        PublisherRow("unsloth", models, recipes, "layer_table", "Q5_1"),
    )


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (",gemma4,q4_k_m,layer_table,Q5_1,s", "publisher"),
        ("Unsloth,gemma4,q4_k_m,layer_table,Q5_1,s", "publisher"),
        ("unsloth,gemma4/x,q4_k_m,layer_table,Q5_1,s", "models"),
        ("unsloth,gemma4,q4_0,first_down,Q4_1,s", "models"),
        ("unsloth,gemma4,q4_k_m q4_k_x,layer_table,Q5_1,s", "recipes"),
        ("unsloth,gemma4,q4_k_m,layer_tables,Q5_1,s", "tensor"),
        ("unsloth,gemma4,q4_k_m,layer_table,Q5_9,s", "type"),
        ("unsloth,gemma4,q4_k_m,layer_table,,s", "type"),
        ("unsloth,,q4_0,first_down,base,s", "type"),
        ("unsloth,gemma4,q4_k_m,layer_table,Q5_1, ", "source"),
        ("unsloth,gemma4,q4_k_m,layer_table,Q5_1", "columns"),
        ("", "columns"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, row: str, field: str) -> None:
    with pytest.raises(MalformedTable, match=f"rows.csv, line 3: field {field}") as caught:
        read(tmp_path, HEADER, GOOD, row)
    assert (caught.value.line, caught.value.field) == (3, field)


@pytest.mark.parametrize("header", ["", HEADER.replace("type", "kind"), HEADER + ",more"])
def test_wrong_columns(tmp_path: Path, header: str) -> None:
    with pytest.raises(MalformedTable, match="line 1: field columns"):
        read(tmp_path, header, GOOD)
