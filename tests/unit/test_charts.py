"""Plots: places on their axes, names beside them, numbers in tables, escaped texts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest

from gpusizer.core.units import GIB
from gpusizer.quality.quality import Increase, LossWord, Quality
from gpusizer.speed import Rate
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.answering import pictures
from gpusizer.ui.page.page_scripts import STYLE
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.page.plots import pictures_shown
from gpusizer.ui.presenters.charts.lines import context_plot, users_plot
from gpusizer.ui.presenters.charts.loss import loss_plot
from gpusizer.ui.presenters.charts.pictures import plots
from gpusizer.ui.presenters.charts.plot import COLOURS, PLOTS, Plot
from gpusizer.ui.presenters.charts.scale import log_ticks, spans_decades, spread, ticks
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.memory import Capacity, Curve, LossPoint, Point
from gpusizer.usecases.figures.pictures import Pictures
from gpusizer.usecases.figures.speeds import UserSpeed
from tests.hostile import ATTACKS
from tests.nightly import paired
from tests.pages import LLAMA, OF_EACH_KIND, Page, contrast, inert
from tests.sizers import embedded_sizer

ENGLISH = Words("en")


def layers(plot: Plot, mark: str) -> list[Mapping[str, Any]]:
    """Return the layers of one kind of mark."""
    every: Any = plot.spec["layer"]
    return [layer for layer in every if layer["mark"]["type"] == mark]


def places(layer: Mapping[str, Any]) -> list[tuple[float, float]]:
    return [(value["x"], value["y"]) for value in layer["data"]["values"]]


def names(plot: Plot) -> list[str]:
    return [layer["data"]["values"][0]["text"] for layer in layers(plot, "text")]


def ends(plot: Plot, axis: str) -> tuple[float, float]:
    """Return the ends of an axis."""
    encoding: Any = plot.spec["encoding"]
    low, high = encoding[axis]["scale"]["domain"]
    return low, high


def is_log(plot: Plot, axis: str) -> bool:
    encoding: Any = plot.spec["encoding"]
    return bool(encoding[axis]["scale"]["type"] == "log")


def curves(*drawn: Curve, cards: Sequence[Capacity] = (), of_places: bool = False) -> Plot:
    plot = context_plot(
        Pictures(500, 1, drawn, of_places=of_places, capacities=tuple(cards)), ENGLISH
    )
    assert plot
    return plot


def user_speed(label: str, most: int | None, *rates: tuple[int, float]) -> UserSpeed:
    return UserSpeed(label, tuple((n, Rate(0.8 * r, r, 1.2 * r)) for n, r in rates), most)


def test_ticks_are_round_and_enclose_what_is_drawn() -> None:
    for top in (0.003, 0.9, 17.7, 99.99, 631.7, 131_072, 1e7):
        for max_steps in (2, 3, 5, 8):
            values = ticks(top, max_steps)
            assert values[0] == 0 and values[-1] >= top * (1 - 1e-9) > values[-2] * (1 - 1e-9)
            assert len(values) <= max_steps + 1
            steps = [b - a for a, b in pairwise(values)]
            assert all(step == pytest.approx(steps[0]) for step in steps)
    for least, most in ((1, 2), (1, 71), (0.03, 4.0), (3, 1400), (1, 1e9), (5, 5), (1, 1)):
        places_of_ticks = log_ticks(least, most)
        assert len(places_of_ticks) > 1
        assert places_of_ticks[0] <= least and places_of_ticks[-1] >= most
        assert len(places_of_ticks) <= 11


def test_names_are_moved_apart_inside_the_plot() -> None:
    moved = spread([50, 50, 50, 3], 22, 10, 80)
    assert all(b - a >= 22 for a, b in pairwise(sorted(moved)))
    assert max(moved) <= 80
    assert spread([10, 100], 22, 0, 200) == [10, 100]


def test_an_axis_is_logarithmic_where_values_span_decades() -> None:
    assert spans_decades([1, 20]) and not spans_decades([1, 19]) and not spans_decades([0, 99])
    near = users_plot([user_speed("a", 3, (1, 90.0), (3, 60.0))], 1, ENGLISH)
    assert not is_log(near, "x") and not is_log(near, "y")
    assert ends(near, "x") == (0, 3) and ends(near, "y")[0] == 0
    far = users_plot([user_speed("a", 64, (1, 90.0), (64, 1.5))], 1, ENGLISH)
    assert is_log(far, "x") and is_log(far, "y")
    assert ends(far, "x") == (1, 100) and ends(far, "y") == (1, 200)


def test_curves_are_drawn_in_their_units_with_named_lines() -> None:
    curve = Curve((Point(1, 4 * GIB), Point(500, 6 * GIB), Point(1000, 8 * GIB)), "q", "engine")
    cards = [Capacity("card", 6 * GIB), Capacity("twin", 6 * GIB), Capacity("huge", 99 * GIB)]
    plot = curves(curve, cards=cards)
    assert places(layers(plot, "line")[0]) == [(1, 4), (500, 6), (1000, 8)]
    assert ends(plot, "x") == (0, 1000) and ends(plot, "y") == (0, 8)
    level, asked = layers(plot, "rule")
    assert places(level) == [(0, 6)] and places(asked) == [(500, 0)]
    assert "card, twin: 6.00 GiB usable" in names(plot) and "q" in names(plot)
    assert not any("huge" in name for name in names(plot))
    assert plot.below.count("<tr>") == 1 + 3


def test_the_curve_of_a_gpu_ends_at_the_context_that_tables_tell() -> None:
    state = PageState("Qwen/Qwen3-8B", {"gpu": "4060"})
    plot = plots(pictures(embedded_sizer(), state), ENGLISH)["along"]
    assert places(layers(plot, "line")[0])[-1][0] == 12_288
    assert "GeForce RTX 4060 8GB: up to 12,288" in names(plot)
    assert len(layers(plot, "line")) == 1  # of the visitor's own card, not of those beside it


def test_speeds_have_bands_and_end_where_the_memory_is_full() -> None:
    speeds = [
        user_speed("H100", 30, (1, 90.0), (8, 60.0), (30, 20.0)),
        user_speed("4090", None, (1, 50.0), (9, 40.0)),
    ]
    plot = users_plot(speeds, 8, ENGLISH)
    assert [places(layer) for layer in layers(plot, "line")] == [
        [(1, 90), (8, 60), (30, 20)],
        [(1, 50), (9, 40)],
    ]
    band = layers(plot, "area")[0]["data"]["values"][0]
    assert (band["y"], band["y2"]) == (72, 108)
    assert {"H100: up to 30", "4090"} <= set(names(plot))
    assert [places(rule)[0][0] for rule in layers(plot, "rule")] == [8]
    assert plot.below.count("<tr>") == 1 + 4


def test_several_users_are_plotted_against_their_speed_and_one_against_memory() -> None:
    for users, title in (("1", "pictures.context.title"), ("4", "pictures.users.title")):
        state = PageState(LLAMA, {"concurrency": users}).picking(("4090", "rtx 4090"))
        plot = plots(pictures(embedded_sizer(), state), ENGLISH)["along"]
        assert ENGLISH(title) in plot.above
        assert len(layers(plot, "line")) == 1, "two names of one GPU are one line"


def point(label: str, gib: float, share: float | None, *, knee: bool = False) -> LossPoint:
    increase = None if share is None else Increase(share, share, share)
    return LossPoint(
        label, "vLLM", int(gib * GIB), Quality(LossWord.SMALL, increase, None, "class"), knee
    )


def test_losses_stand_at_their_memory_and_on_a_logarithmic_axis() -> None:
    points = [point("wide", 16, 0.0), point("best", 5, 0.03, knee=True), point("tiny", 3, 0.4)]
    plot = loss_plot(points, [Capacity("card", 12 * GIB)], ENGLISH)
    assert plot and is_log(plot, "y") and not is_log(plot, "x")
    drawn = sorted(place for layer in layers(plot, "point") for place in places(layer))
    assert drawn == [(3, 0.4), (5, 0.03), (16, 0.001)]
    assert {"wide", "best", "tiny", "card: 12.0 GiB usable"} <= set(names(plot))
    assert places(layers(plot, "rule")[0])[0][0] == 12
    assert "rise of perplexity" in json.dumps(plot.spec["encoding"])
    assert loss_plot(points[:1], (), ENGLISH) is None


def test_points_without_perplexity_have_no_percentages() -> None:
    plot = loss_plot([point("a", 12, None), point("b", 6, None)], (), ENGLISH)
    assert plot and " %" not in json.dumps(plot.spec["encoding"])


def test_names_of_points_do_not_touch() -> None:
    crowd = [point(f"quantization {i}", 5 + i / 100, 0.03, knee=i == 3) for i in range(9)]
    plot = loss_plot(crowd, (), ENGLISH)
    assert plot
    assert [name for name in names(plot) if name.startswith("quantization")] == ["quantization 3"]


def sample(label: str) -> dict[str, Callable[[], Plot | None]]:
    """Build every plot with one text in place of every name."""
    cards = (Capacity(label, GIB), Capacity(label, 90 * GIB))
    curve = Curve((Point(1, GIB), Point(9, 2 * GIB)), label, label)
    points = [LossPoint(label, label, n * GIB, point("", 1, 0.1 * n).quality) for n in (1, 2)]
    return {
        "context": lambda: curves(curve, cards=cards),
        "places": lambda: curves(curve, cards=cards, of_places=True),
        "users": lambda: users_plot([user_speed(label, 9, (1, 9.0), (9, 1.0))], 3, ENGLISH),
        "loss": lambda: loss_plot(points, cards, ENGLISH),
    }


def _expressions(value: Any) -> Iterator[str]:
    """Every text of a specification that Vega evaluates."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in ("labelExpr", "expr", "signal", "test", "calculate", "filter"):
                yield json.dumps(inner)
            yield from _expressions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _expressions(inner)


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", list(sample("")))
def test_names_in_plots_are_inert(name: str, attack: str) -> None:
    plot = sample(attack)[name]()
    assert plot
    page = inert(plot.above + plot.below)
    assert not any("href" in attributes for _, attributes in page.elements)
    assert list(_expressions(plot.spec)) == list(_expressions((sample("x")[name]() or plot).spec))
    assert not re.search(
        "[\0-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", "".join(names(plot))
    )


@pytest.mark.parametrize("name", list(sample("")))
def test_every_plot_has_a_title_a_description_and_its_numbers(name: str) -> None:
    plot = sample("a name")[name]()
    assert plot
    assert plot.above.count("<h3>") == plot.below.count("<table") == 1
    assert "a name" in str(plot.spec["description"]) and "a name" in plot.below


@pytest.mark.parametrize("model, language", paired(OF_EACH_KIND, LANGUAGES))
def test_every_kind_of_model_is_plotted(model: str, language: Language) -> None:
    state, words = PageState(model).picking(("4090", "2x3090")), Words(language)
    for plot in plots(pictures(embedded_sizer(), state), words).values():
        text = Page(plot.above + plot.below).text + " ".join(names(plot))
        assert not re.search(r"\b(page|pictures|part|column)\.[a-z_]+\b", text)
        assert "None" not in text and "nan" not in text.split()
        spec = json.loads(json.dumps(plot.spec, allow_nan=False))
        for layer in spec["layer"]:
            for value in layer["data"]["values"]:
                for axis in ("x", "y"):
                    low, high = ends(plot, axis)
                    assert low * 0.999 <= value[axis] <= high * 1.001


def test_empty_plots_hide_their_components() -> None:
    empty = Pictures(1, 1)
    assert plots(empty, ENGLISH) == {}
    hidden = pictures_shown(empty, ENGLISH)
    assert hidden == pictures_shown(None, ENGLISH) and len(hidden) == 4 * len(PLOTS)


def test_the_page_has_a_place_for_every_plot() -> None:
    state = PageState(LLAMA).picking(("4090",))
    plots_by_name = plots(pictures(embedded_sizer(), state), ENGLISH)
    assert tuple(plots_by_name) == PLOTS[:2], "a month's costs are those of a rate of requests"
    values = pictures_shown(pictures(embedded_sizer(), state), ENGLISH)
    for name, plot in plots_by_name.items():
        shown = values[f"{name}.plot"]["value"]
        assert (shown.type, json.loads(shown.plot)) == ("altair", plot.spec)


@pytest.mark.parametrize(("block", "back"), [(0, "#ffffff"), (1, "#0b0f19")])
def test_colours_stand_out_in_light_and_in_dark(block: int, back: str) -> None:
    """WCAG AA for graphics: 3 to 1 against the page; 4.5 for text."""
    css = STYLE.read_text(encoding="utf-8")
    colours = [dict(re.findall(r"--gs-([\w-]+): (#\w{6})", part)) for part in css.split("\n  }")]
    colours_of_block = [block_colours for block_colours in colours if "optimizer" in block_colours][
        block
    ]
    for name in ("weights", "kv", "activations", "overhead", "gradients", "optimizer", "muted"):
        least = 4.5 if name == "muted" else 3
        assert contrast(colours_of_block[name], back) >= least, name


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("back", ["#ffffff", "#0b0f19"])
def test_colours_of_plots_stand_out_in_light_and_in_dark(colour: str, back: str) -> None:
    assert contrast(colour, back) >= 3
