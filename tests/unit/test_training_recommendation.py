"""How trainings are ranked: conditions, rent, the time that a run may take, alternatives."""

from __future__ import annotations

import pytest

from gpusizer.cli.training_tables import training_text
from gpusizer.fit.fit import Verdict
from gpusizer.text import say_note
from gpusizer.ui.presenters.training import training_html
from gpusizer.ui.presenters.words import Words
from tests.pages import Page
from tests.priced_day import priced_day
from tests.training_reports import every_place

pytestmark = pytest.mark.usefixtures(priced_day.__name__)


def test_training_opens_with_no_module_of_devices() -> None:
    """Ordered by memory it opened with two Jetsons."""
    smallest = every_place(model="Qwen/Qwen3-8B", rank_by="smallest").ranking[:2]
    assert {item.fit.gpu.segment for item in smallest} == {"embedded"}
    first = every_place().ranking[0]
    assert first.fit.gpu.segment != "embedded"
    assert first.score.missed() == ()
    said = f"on each GPU, which {first.fit.gpu.name} holds."
    assert said in training_text(every_place()).splitlines()[0]
    assert said in Page(training_html(every_place(), Words("en"))).text


@pytest.mark.parametrize("method", ["lora", "full"])
def test_training_is_ranked_by_conditions_then_by_rent(method: str) -> None:
    ranking = [
        item for item in every_place(method=method).ranking if item.fit.verdict is Verdict.FITS
    ]
    keys = [item.score.key for item in ranking]
    assert keys == sorted(keys)
    clean = [item for item in ranking if not item.score.missed()]
    assert clean == ranking[: len(clean)]
    assert len(clean) > 5
    rented = [item.score.most_usd for item in clean if item.score.most_usd is not None]
    assert rented == sorted(rented)


def test_a_training_must_end_within_a_week_or_as_asked() -> None:
    day = every_place(dataset_tokens=10**9).ranking
    assert day[0].cost.hours is not None
    assert day[0].cost.hours <= 7 * 24
    slow = [item for item in day if item.score.fast_enough is False]
    assert slow and all((item.cost.hours or 0) >= 7 * 24 for item in slow)
    asked = every_place(min_tok_s=5000).ranking
    assert asked and all(item.rate is None or item.rate.likely >= 5000 for item in asked)


def test_training_alternatives() -> None:
    alternatives = {item.kind: item for item in every_place().alternatives}
    assert list(alternatives) == ["cheapest", "fastest", "rent"]
    data = every_place().to_json(say_note)
    assert [item["kind"] for item in data["alternatives"]] == list(alternatives)
    assert data["ranking"][0]["score"]["trains"] is True
    rent = alternatives["rent"].item
    costs = [
        item.cost.usd
        for item in every_place().ranking
        if item.fit.verdict is Verdict.FITS and not item.score.missed()
    ]
    assert rent.cost.usd == min(usd for usd in costs if usd is not None)
