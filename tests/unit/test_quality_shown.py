"""Every door states a quantization's loss in the same words and with the same number."""

from __future__ import annotations

import csv
import io
import re
from functools import partial
from typing import Any

import pytest

from gpusizer.api.exports import estimates_csv, ranking_csv
from gpusizer.api.size import size_answer
from gpusizer.cli.details import details_text
from gpusizer.cli.summary import size_summary
from gpusizer.quality.quality import LIMITS, WORDS, LossWord
from gpusizer.text import LANGUAGES, Language, say_note
from gpusizer.ui.page.answering import answer
from gpusizer.ui.page.answering import compare as compare_page
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.beside.side_by_side import side_by_side_html
from gpusizer.ui.presenters.charts.loss import share_of
from gpusizer.ui.presenters.markdown import markdown
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.tables import RANKING_COLUMNS, memory_html
from gpusizer.ui.server.short_answers import shortened
from gpusizer.usecases.figures.memory import loss_points
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.documents import written
from tests.pages import ENGLISH, Page, column_of
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


def rows(report: Report, language: Language = "en") -> dict[str, dict[str, Any]]:
    """Return the `quality` of each quantization."""
    data = written(report, partial(say_note, language=language))
    return {row["quant"]: row["quality"] for row in data["estimates"]}


@pytest.mark.parametrize("model", MODELS)
def test_every_row_and_place_has_a_loss(model: str) -> None:
    data = written(ask(model))
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
    data = written(ask(model, top=0))
    of_rows = {row["quant"]: row["quality"] for row in data["estimates"]}
    for place in data["ranking"]:
        assert place["quality"] == of_rows[place["quant"]], place["gpu"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_percentages_have_one_digit_in_the_language(language: Language) -> None:
    message = rows(ask(LLAMA), language)["fp8"]["message"]
    point = "," if language == "pt" else "."
    assert f"0{point}7" in message and f"1{point}0" not in message


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_door_says_the_same_words(language: Language) -> None:
    """JSON, the page's bars and table, cards, Markdown and, in English, the shell and MCP."""
    words = Words(language)
    shown = answer(SIZER, PageState(LLAMA))
    report = shown.report
    qualities = rows(report, language)
    memory = Page(memory_html(report, shown.tiers, words)).text
    text = markdown(report, words, "")
    for slug in ("bf16", "fp8", "q4_k_m", "q2_k"):
        assert qualities[slug]["label"] in memory, slug
        assert qualities[slug]["message"] in str(memory_html(report, shown.tiers, words)), slug
        assert qualities[slug]["label"] in text, slug
    first = report.ranking[0].fit.estimate.quant.slug
    assert qualities[first]["message"] in memory
    compared = compare_page(SIZER, PageState(LLAMA).picking(("1x4090",)))
    card = Page(side_by_side_html(compared, ("1x4090",), "", words)).text
    (ranked,) = [item.ranked for item in compared.items if item.ranked]
    quality = rows(report, language)[ranked.fit.estimate.quant.slug]
    assert quality["label"] in card and quality["message"] in card


def test_the_table_has_the_band_in_percent() -> None:
    cell = Page(memory_html(ask(LLAMA), (), ENGLISH)).text
    assert re.search(r"very small loss\s*0\.7–2 %", cell)


def test_the_shell_says_it_in_its_table_and_of_a_named_gpu() -> None:
    text = details_text(written(ask(LLAMA, gpu="4090", quant="q2_k")))
    quality = rows(ask(LLAMA, gpu="4090", quant="q2_k"))["q2_k"]
    assert quality["label"] in text and quality["message"] in text
    assert all(f"  ! {caveat['message']}" in text for caveat in quality["caveats"])
    table = size_summary(ask(LLAMA, quant="q2_k,bf16"))
    assert "large loss, 10-100 %" in table and "no measurable loss" in table


def test_exports_carry_word_and_share() -> None:
    report = ask(LLAMA)
    qualities, answer = rows(report), size_answer(report, say_note)
    estimates = list(csv.DictReader(io.StringIO(estimates_csv(answer))))
    for row in (*estimates, *csv.DictReader(io.StringIO(ranking_csv(answer)))):
        quality = qualities[row["quant"]]
        assert row["quality"] == quality["word"]
        assert float(row["perplexity_increase"]) == quality["perplexity_increase"]["likely"]


def test_short_answers_say_the_words() -> None:
    data = written(ask(LLAMA))
    short = shortened("size", data)
    first = data["ranking"][0]["quality"]
    assert short["ranking"][0]["quality"] == f"{first['label']}: {first['message']}"
    labels = {row["quant"]: row["quality"]["label"] for row in data["estimates"]}
    for line in short["quantizations"]:
        assert labels[line.split(" ")[0]] in line.split(", ")
    narrow = written(ask(LLAMA, quant="q2_k"))
    caveats = [caveat["message"] for caveat in narrow["ranking"][0]["quality"]["caveats"]]
    assert caveats and set(caveats) <= set(shortened("size", narrow)["caveats"])


def test_tiles_and_places_name_the_loss() -> None:
    shown = answer(SIZER, PageState(LLAMA))
    cell = column_of(RANKING_COLUMNS, "gpu").write(shown.report.ranking[0], ENGLISH)
    first = shown.report.ranking[0].fit.estimate
    label = rows(shown.report)[first.quant.slug]["label"]
    assert f"{first.quant.name} · {label} · {first.engine.name}" in cell
    tiles = " ".join(Page(memory_html(shown.report, shown.tiers, ENGLISH)).text.split())
    for tier in shown.tiers:
        quant = tier.row.estimate.quant
        assert f"{quant.name} · {rows(shown.report)[quant.slug]['label']}" in tiles


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
