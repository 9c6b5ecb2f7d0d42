"""One GPU and one model have one way, one speed, one longest context and one number of users: in
the answer's sentence, its ranking, the list of models for the GPU, side by side, on the page."""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest

from gpusizer.fit.fit import Fit
from gpusizer.fit.ranking import Ranked
from gpusizer.fit.speed import Rate
from gpusizer.text import say_note
from gpusizer.ui.page.answering import answer
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.answer import answer_html
from tests.asking import compare, models_for, size
from tests.pages import ENGLISH, Page
from tests.sizers import embedded_sizer

MODELS = (
    "Qwen/Qwen2-1.5B-Instruct",
    "Qwen/Qwen3-8B",
    "meta-llama/Llama-3.1-8B-Instruct",
    "microsoft/phi-4",
    "openai/gpt-oss-20b",
    "google/gemma-3-27b-it",
    "Qwen/Qwen3-30B-A3B",
    "Qwen/Qwen3-32B",
    "mistralai/Mixtral-8x7B-v0.1",
    "meta-llama/Llama-3.3-70B-Instruct",
    "openai/gpt-oss-120b",
    "deepseek-ai/DeepSeek-R1",
)
GPUS = (
    "rtx-3060-12gb",
    "rtx-4060-8gb",
    "rtx-4090-24gb",
    "rtx-5090-32gb",
    "rtx-a6000-48gb",
    "l40s-48gb",
    "a100-sxm-80gb",
    "h100-sxm-80gb",
    "h200-sxm-141gb",
    "apple-m3-max-64gb",
    "rx-7900-xtx-24gb",
    "gb10-dgx-spark-128gb",
)
SIZER = embedded_sizer()


class Card(NamedTuple):
    """What a card does with a model."""

    boards: int
    quant: str
    engine: str
    verdict: str
    tokens_per_second: float | None
    max_context: int | None
    users: float | None

    @classmethod
    def of(cls, fit: Fit, rate: Rate | None, max_context: int | None, users: float | None) -> Card:
        estimate, speed = fit.estimate, None if rate is None else rate.likely
        way = fit.count, estimate.quant.slug, estimate.engine.slug, fit.verdict.value
        return cls(*way, speed, max_context, users)


def ranked(place: Ranked) -> Card:
    return Card.of(place.fit, place.decode, place.longest_context, place.most_users)


def in_facts(facts: dict[str, Any]) -> Card:
    way = facts["count"], facts["quant"], facts["engine"], facts["verdict"]
    return Card(*way, facts["tokens_per_second"], facts["max_context"], facts["max_concurrency"])


def in_json(place: dict[str, Any]) -> Card:
    way = place["count"], place["quant"], place["engine"], place["verdict"]
    rate = place["decode_tokens_per_second"]
    speed = None if rate is None else rate["likely"]
    return Card(*way, speed, place["max_context"], place["max_concurrency"])


@pytest.mark.parametrize("model", MODELS)
def test_one_card_does_the_same_through_every_door(model: str) -> None:
    for gpu in GPUS:
        report = size(SIZER, {"model": model, "gpu": gpu})
        (place,) = report.ranking
        card = ranked(place)
        assert in_facts(dict(report.conclusion.facts)) == card
        assert in_json(report.to_json(say_note)["ranking"][0]) == card
        same = {"quant": card.quant, "engine": card.engine}
        (item,) = compare(SIZER, {"model": model, "gpus": [gpu], **same}).items
        assert item.ranked is not None
        beside = ranked(item.ranked)
        if beside.boards == card.boards:
            assert beside == card
        for row in models_for(SIZER, {"gpu": gpu, "models": [model]}).rows:
            listed = Card.of(row.fit, row.decode, row.max_context, row.most_users)
            if card.verdict == "fits" and card.boards == 1:
                assert listed == card


@pytest.mark.parametrize(("model", "gpu"), [*zip(MODELS, GPUS, strict=True)])
def test_the_page_shows_the_speed_and_the_context_of_the_answer(model: str, gpu: str) -> None:
    fields = {"model": model, "gpu": gpu}
    (place,) = size(SIZER, fields).ranking
    shown = answer(SIZER, PageState.from_query(urlencode(fields)))
    text = Page(answer_html(shown, ENGLISH)).text
    if place.decode is not None:
        assert f"{place.decode.likely:,g}" in text
    if place.fit.verdict.value == "fits":
        assert ENGLISH.whole(place.longest_context or 0) in text
