"""The published losses: complete, with a source, and with their own reference."""

from __future__ import annotations

import math
from collections import Counter

import pytest

from gpusizer.memory.quants import all_quants
from gpusizer.quality.evidence import is_evidence, kin_of, read_rows
from gpusizer.quality.kv_loss import cache_loss
from gpusizer.quality.recipes import recipe_of

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
