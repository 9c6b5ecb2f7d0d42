"""What a quantization loses, as every door says it: in the same words and with the same number."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.quality.quality import LIMITS, WORDS, LossWord
from gpusizer.text import say_note
from gpusizer.ui.presenters.charts.loss import share_of
from gpusizer.usecases.figures.memory import loss_points
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()
LLAMA = "meta-llama/Llama-3.1-8B"
MODELS = (
    LLAMA,
    "openai/gpt-oss-20b",
    "deepseek-ai/DeepSeek-R1",
    "black-forest-labs/FLUX.1-dev",
    "BAAI/bge-large-en-v1.5",
)


def ask(model: str, **fields: Any) -> Report:
    return size(SIZER, {"model": model, "card": False, **fields})


@pytest.mark.parametrize("model", MODELS)
def test_every_row_and_place_has_a_loss(model: str) -> None:
    data = ask(model).to_json(say_note)
    for entry in (*data["estimates"], *data["ranking"], *data["alternatives"]):
        quality = entry["quality"]
        increase = quality["perplexity_increase"]
        assert quality["label"] and quality["message"], entry["quant"]
        if increase is None:
            assert model.startswith("black-forest-labs/")
        else:
            assert 0 <= increase["low"] <= increase["likely"] <= increase["high"]
            assert quality["word"] == WORDS[sum(increase["likely"] >= limit for limit in LIMITS)]
            assert 0 <= quality["tokens_changed"] < 1


@pytest.mark.parametrize("model", MODELS)
def test_a_place_says_what_the_row_of_its_quantization_says(model: str) -> None:
    data = ask(model, top=0).to_json(say_note)
    of_rows = {row["quant"]: row["quality"] for row in data["estimates"]}
    for place in data["ranking"]:
        assert place["quality"] == of_rows[place["quant"]], place["gpu"]


def test_the_knee_is_the_smallest_with_a_small_loss() -> None:
    points = loss_points(ask(LLAMA).estimates)
    assert "FP32" not in {point.label for point in points}, "wider than the checkpoint"
    (knee,) = [point for point in points if point.knee]
    assert knee.label == "GGUF IQ4_XS" and knee.quality.word.value == "small"
    smaller = [point for point in points if point.total_bytes < knee.total_bytes]
    assert smaller and all(point.quality.word.rank > LossWord.SMALL.rank for point in smaller)


@pytest.mark.parametrize("model", MODELS)
def test_a_point_stands_in_the_row_of_its_word(model: str) -> None:
    points = sorted(loss_points(ask(model).estimates), key=lambda point: share_of(point.quality))
    ranks = [point.quality.word.rank for point in points]
    assert ranks == sorted(ranks)
