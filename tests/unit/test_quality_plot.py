"""The picture of quality by speed: its front, its points, and answers without a picture."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.ui.presenters.charts.quality import models_plot, quality_plot
from gpusizer.usecases.figures.quality_speed import QualityPoint, quality_points, with_front
from gpusizer.usecases.models_for.models_request import ModelsRequest
from tests.pages import ENGLISH
from tests.sizers import embedded_sizer

PAIRS = st.lists(st.tuples(st.sampled_from([0.1, 0.5, 0.9]), st.sampled_from([10.0, 50.0])))


def point(share: float, pace: float, label: str = "m") -> QualityPoint:
    return QualityPoint(label, share, pace, 8 * 2**30)


def test_the_front_is_what_no_model_beats() -> None:
    best, fast, both_worse = point(0.9, 20), point(0.5, 200), point(0.4, 100)
    marked = with_front([best, fast, both_worse])
    assert [p.is_front for p in marked] == [True, True, False]


@given(PAIRS)
def test_every_other_point_is_beaten_by_one_of_the_front(pairs: list[tuple[float, float]]) -> None:
    marked = with_front([point(*pair) for pair in pairs])
    front = [p for p in marked if p.is_front]
    assert bool(front) is bool(pairs)
    for other in marked:
        beats = [p for p in front if p.share >= other.share and p.pace >= other.pace]
        assert beats if not other.is_front else other in beats


def test_a_card_gets_a_point_for_each_measured_model() -> None:
    fields = {"gpu": "4090", "purpose": "chat", "top": 20}
    answer = embedded_sizer().models_for(ModelsRequest.from_fields(fields))
    plot, points = models_plot(answer, ENGLISH), quality_points(answer.rows)
    assert plot is not None and 3 <= len(points) <= len(answer.rows)
    drawn = [
        value
        for layer in json.loads(json.dumps(plot.spec))["layer"]
        for value in layer["data"]["values"]
        if "said" in value
    ]
    assert len(drawn) == len(points) == plot.below.count('<th scope="row"')
    heights = sorted(row["y"] for row in drawn)
    assert heights == pytest.approx(sorted(100 * p.share for p in points))
    for best in (p for p in points if p.is_front):
        assert f'"{best.label}"' in json.dumps(plot.spec)


@pytest.mark.parametrize("fields", [{"gpu": "4090"}, {"gpu": "4090", "purpose": "pictures"}])
def test_without_a_board_nothing_is_drawn(fields: dict[str, str]) -> None:
    answer = embedded_sizer().models_for(ModelsRequest.from_fields(fields))
    assert models_plot(answer, ENGLISH) is None
    assert quality_plot([point(0.5, 5), point(0.6, 4)], "board", "tok/s", ENGLISH) is None
