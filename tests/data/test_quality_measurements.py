"""Measured losses, and the habits of publishers of GGUF files."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import MalformedTable
from gpusizer.memory.quants import all_quants
from gpusizer.memory.quants.publishers import (
    COLUMNS,
    FILE,
    PublisherRule,
    choices_of,
    file_overrides,
    publishers,
    read_rules,
)
from gpusizer.memory.quants.recipes import RECIPES
from gpusizer.quality.evidence import is_evidence, kin_of, read_rows
from gpusizer.quality.kv_loss import cache_loss
from gpusizer.quality.relation import recipe_of

ROWS = read_rows()
ABOUT = {"weights", "kv_cache", "weights_and_kv_cache", "image_weights"}
TEXTS = (
    "id",
    "source_group",
    "source_url",
    "repo",
    "quant",
    "family",
    "metric",
    "setup",
    "baseline",
)


def test_rows_are_complete_and_unique() -> None:
    assert [row_id for row_id, n in Counter(row["id"] for row in ROWS).items() if n > 1] == []
    for row in ROWS:
        assert row["kind"] == "quality" and row["about"] in ABOUT, row["id"]
        assert all(isinstance(row[name], str) and row[name] for name in TEXTS), row["id"]
        assert row["source_url"].startswith("https://"), row["id"]
        assert row["parameters"] > 10**8, row["id"]


def test_a_ratio_is_that_of_the_two_perplexities() -> None:
    ratios = [
        row for row in ROWS if "ln_ratio" in row and not row["metric"].startswith("ppl_ratio")
    ]
    assert len(ratios) > 800
    for row in ratios:
        expected = math.log(row["value"] / row["baseline_value"])
        assert row["ln_ratio"] == pytest.approx(expected, abs=2e-3), row["id"]


def test_flagged_and_trained_rows_are_no_evidence() -> None:
    evidence = [row for row in ROWS if is_evidence(row)]
    assert len(evidence) > 700
    assert {kin_of(row["repo"]) for row in evidence} & {"glm-4.7-flash"} == set()
    assert not any("qat" in row["quantization"] for row in evidence)


def test_every_quantization_of_the_table_has_a_family() -> None:
    for quant in all_quants():
        gguf = quant.engines[0] == "llama.cpp"
        recipe = recipe_of(quant.slug, quant.bits, gguf=gguf)
        assert recipe.family != "tuned", quant.slug
        assert abs(recipe.bits - quant.bits) <= 1.5, quant.slug


@pytest.mark.parametrize("kv_dtype", ["q8_0", "fp8", "q5_1", "q5_0", "q4_1", "iq4_nl", "q4_0"])
def test_every_cache_type_loses_something_and_keys_lose_most(kv_dtype: str) -> None:
    both = cache_loss(kv_dtype, "", rotated=False)
    keys = cache_loss(f"{kv_dtype}/f16", "", rotated=False)
    values = cache_loss(f"f16/{kv_dtype}", "", rotated=False)
    assert 0 < values.likely <= keys.likely < both.likely < both.high
    assert both.source.startswith("https://")


def test_rotation_takes_most_of_the_loss_of_four_bits() -> None:
    plain = cache_loss("q4_0", "llama.cpp", rotated=False).likely
    assert cache_loss("q4_0", "llama.cpp", rotated=True).likely < plain / 4
    assert cache_loss("auto", "vllm", rotated=False).likely == 0


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
            assert row.type in file_overrides(row.publisher)
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


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("", GOOD), "line 1: missing columns"),
        ((HEADER.replace("type", "kind"), GOOD), "line 1: missing columns"),
        ((HEADER, GOOD, GOOD.rpartition(",")[0]), "line 3: 6 fields expected, 5 given"),
    ],
)
def test_missing_columns_and_short_rows(tmp_path: Path, lines: list[str], said: str) -> None:
    with pytest.raises(MalformedTable, match=said):
        read(tmp_path, *lines)
