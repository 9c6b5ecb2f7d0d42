"""Pictures: bars and points on axes from zero, descriptions for screen readers, escaped names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from gpusizer.core.units import GIB
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.page.answering import pictures
from gpusizer.ui.page.page_scripts import STYLE
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.page.plots import pictures_shown
from gpusizer.ui.presenters.charts.curves import context_plot, users_plots
from gpusizer.ui.presenters.charts.pictures import memory_html, plots
from gpusizer.ui.presenters.charts.plot import COLOURS, MUTED, PLOTS, Plot, axes
from gpusizer.ui.presenters.charts.scale import round_up, spread, ticks
from gpusizer.ui.presenters.charts.scatter import price_plot
from gpusizer.ui.presenters.charts.stacked import memory_picture, styles, training_picture
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.figures.memory import Capacity, Curve, Point, Stack, StackPart
from gpusizer.usecases.figures.pictures import Pictures
from gpusizer.usecases.figures.speeds import (
    Offer,
    PriceSpeed,
    UserSpeed,
    limit,
    mark_frontier,
    user_speed,
)
from tests.hostile import ATTACKS
from tests.nightly import paired
from tests.pages import LLAMA, OF_EACH_KIND, Page, contrast, inert
from tests.sizers import embedded_sizer

ENGLISH = Words("en")
_SVG_TAGS = frozenset(
    (
        "circle",
        "defs",
        "desc",
        "figure",
        "g",
        "line",
        "path",
        "pattern",
        "polygon",
        "rect",
        "svg",
        "text",
        "title",
        "tspan",
    )
)
_WIDTHS = {"wide": 560.0, "narrow": 340.0}

Drawn = list[tuple[str, dict[str, str | None]]]


def stack(
    label: str, *amounts_gib: float, keys: tuple[str, ...] = ("weights", "kv_cache")
) -> Stack:
    parts = [StackPart(key, int(gib * GIB)) for key, gib in zip(keys, amounts_gib, strict=True)]
    return Stack(label, tuple(parts), "vLLM")


def elements(markup: str, width: str) -> Drawn:
    """What is drawn in the picture of one width."""
    inside = markup.split(f"gs-chart-{width}", 1)[1].split("</svg>", 1)[0]
    page = re.findall(r"<(\w+)([^>]*)>", inside.split("<svg", 1)[1])
    return [(tag, dict(re.findall(r'([\w-]+)="([^"]*)"', rest))) for tag, rest in page]


def classed(shapes: Drawn, name: str) -> Iterator[dict[str, str | None]]:
    for _, attributes in shapes:
        if name in (attributes.get("class") or "").split():
            yield attributes


def number(attributes: dict[str, str | None], name: str) -> float:
    return float(attributes[name] or "nan")


def series(plot: Plot, name: str, axes_of: str) -> list[tuple[float, float]]:
    """The points of one series."""
    points = plot.points
    series_points = points[points[axes(axes_of, ENGLISH).series] == name]
    return list(zip(series_points["x"], series_points["y"], strict=True))


def test_ticks_are_round_and_start_at_zero() -> None:
    for top in (0.003, 0.9, 17.7, 99.99, 631.7, 131_072, 1e7):
        for max_steps in (2, 3, 5, 8):
            values = ticks(top, max_steps)
            assert values[0] == 0
            assert values[-1] <= top * (1 + 1e-9) <= round_up(top, max_steps) * (1 + 1e-9)
            assert len(values) <= max_steps + 1
            steps = [b - a for a, b in pairwise(values)]
            assert all(step == pytest.approx(steps[0]) for step in steps)


def test_badges_do_not_overlap_or_leave_the_chart() -> None:
    moved = spread([50, 50, 50, 3], 22, 10, 60)
    assert all(b - a >= 22 for a, b in pairwise(sorted(moved)))
    assert max(moved) <= 60
    assert spread([10, 100], 22, 0, 200) == [10, 100]


@pytest.mark.parametrize("width", list(_WIDTHS))
def test_bars_are_as_long_as_their_amounts(width: str) -> None:
    picture = memory_picture([stack("a", 10, 2), stack("b", 5, 1)], (), "8", 1, ENGLISH)
    assert picture
    bars = list(classed(elements(picture, width), "gs-fill"))
    lengths = [number(bar, "width") for bar in bars]
    assert [length / lengths[0] for length in lengths] == pytest.approx([1, 0.2, 0.5, 0.1], 1e-3)
    starts = [number(bar, "x") for bar in bars]
    assert starts[0] == starts[2]  # every bar starts at zero
    assert starts[1] == pytest.approx(starts[0] + lengths[0], abs=0.02)


@pytest.mark.parametrize("width", list(_WIDTHS))
def test_a_capacity_stands_where_a_bar_of_its_size_would_end(width: str) -> None:
    cards = [Capacity("small", 6 * GIB), Capacity("large", 12 * GIB), Capacity("huge", 99 * GIB)]
    picture = memory_picture([stack("a", 10, 2), stack("b", 3, 3)], cards, "8", 1, ENGLISH)
    assert picture
    shapes = elements(picture, width)
    bars = list(classed(shapes, "gs-fill"))
    ends = [number(bar, "x") + number(bar, "width") for bar in bars]
    lines = [n for attributes in classed(shapes, "gs-under") if (n := number(attributes, "x1"))]
    assert lines == pytest.approx([ends[3], ends[1]], abs=0.02)
    assert "huge" in picture
    assert picture.count("beyond the edge") == 1


def test_a_card_a_little_above_the_largest_bar_is_drawn() -> None:
    picture = memory_picture([stack("a", 10, 2)], [Capacity("x", 16 * GIB)], "8", 1, ENGLISH)
    assert picture
    assert "beyond the edge" not in picture


def test_parts_look_the_same_in_every_picture() -> None:
    assert styles(("weights", "activations")) == {"weights": 0, "activations": 2}
    mixed = styles(("weights", "gradients", "adapters", "optimizer"))
    assert mixed["gradients"] == 4
    assert len(set(mixed.values())) == 4


def test_curves_are_drawn_in_their_units_from_zero() -> None:
    curve = Curve((Point(1, 4 * GIB), Point(500, 6 * GIB), Point(1000, 8 * GIB)), "q")
    cards = [Capacity("card", 6 * GIB), Capacity("huge", 99 * GIB)]
    plot = context_plot([curve], cards, 500, 1, ENGLISH)
    assert plot
    assert series(plot, "q", "context") == [(1, 4), (500, 6), (1000, 8)]
    assert series(plot, "card", "context") == [(0, 6), (1000, 6)]
    assert series(plot, "500 tokens", "context") == [(500, 0), (500, plot.y_top)]
    assert (plot.x_top, plot.y_top) == (1000, 8)
    assert "huge" not in plot.above and series(plot, "huge", "context") == []
    assert "6.00 GiB" in plot.above
    assert plot.below.count("<tr>") == 1 + 3


def test_every_series_of_a_plot_has_its_colour() -> None:
    state = PageState(LLAMA).picking(("4090", "2x3090", "h100"))
    for name, plot in plots(pictures(embedded_sizer(), state), ENGLISH).items():
        assert set(plot.points[axes(name, ENGLISH).series]) <= set(plot.colours)
        assert plot.points[["x", "y"]].notna().all(axis=None)
        assert plot.points["y"].min() >= 0


def test_two_names_of_one_gpu_are_one_line() -> None:
    state = PageState(LLAMA).picking(("4090", "rtx 4090"))
    plots_by_name = plots(pictures(embedded_sizer(), state), ENGLISH)
    points = plots_by_name["users-total"].points
    users = points.loc[points["GPU"] == "GeForce RTX 4090 24GB", "x"]
    assert users.is_unique and users.is_monotonic_increasing


def test_the_frontier_stands_out_and_is_listed() -> None:
    offers = mark_frontier(
        Offer(f"gpu {i}", "q", 100 + 40 * i, 50 + 60 * i**0.5 - 40 * (i % 3 == 1))
        for i in range(12)
    )
    prices = PriceSpeed("buy", offers, limit(offers))
    plot = price_plot(prices, ENGLISH)
    assert plot
    front = series(plot, ENGLISH("pictures.frontier"), "buy")
    speeds = [speed for _, speed in sorted(front)]
    assert len(front) == len(prices.frontier) and speeds == sorted(speeds)
    assert len(plot.points) == len(offers)
    listed = plot.below.split("<ol", 1)[1].split("</ol>", 1)[0]
    assert listed.count("<li>") == len(prices.frontier)
    assert plot.x_top == prices.limit_usd and plot.y_top >= max(speeds)


def test_offers_beyond_the_axis_are_in_the_table_only() -> None:
    offers = mark_frontier(Offer(f"gpu {p}", "", p, p) for p in (100, 200, 300, 40_000))
    plot = price_plot(PriceSpeed("buy", offers, limit(offers)), ENGLISH)
    assert plot
    assert "only in the table: 1." in plot.above
    assert '<th scope="row">gpu 40000</th>' in plot.below
    assert plot.x_top < 40_000
    assert price_plot(PriceSpeed("rent", offers[:1], 100), ENGLISH) is None


def test_speeds_are_drawn_in_total_and_for_each_user() -> None:
    speeds = [
        user_speed(lambda n: (90.0 * n / (n + 8), 0.1 * n), 30, "H100"),
        user_speed(lambda n: (float(n), 0.5), 9, "4090"),
    ]
    plots_by_name = users_plots(speeds, 4.0, ENGLISH)
    assert list(plots_by_name) == ["users-total", "users-per-user", "users-first-token"]
    first, target = plots_by_name["users-first-token"], ENGLISH("pictures.target", seconds="4")
    assert series(first, target, "users-first-token") == [(0, 4.0), (30, 4.0)]
    assert first.y_top >= 4 and target in first.above
    knee = series(plots_by_name["users-total"], ENGLISH("pictures.knee", gpu="H100"), "users-total")
    # rate^2 / users = 8,100 n / (n + 8)^2, the most at 8 users; the other cache is full before
    assert [users for users, _ in knee] == [8, 8]
    assert "(H100: 8)" in plots_by_name["users-total"].above
    assert "H100: 30, 4090: 9" in plots_by_name["users-total"].above
    total = [speed for _, speed in series(plots_by_name["users-total"], "H100", "users-total")]
    per_user = [
        speed for _, speed in series(plots_by_name["users-per-user"], "H100", "users-total")
    ]
    assert total == sorted(total) and per_user == sorted(per_user, reverse=True)
    assert plots_by_name["users-total"].x_top == 30
    assert users_plots([UserSpeed(*[Curve((), "")] * 3)], None, ENGLISH) == {}


def sample(label: str) -> dict[str, Callable[[], str | None]]:
    """Build every picture with one text in place of every name."""
    bars = [Stack(label, (StackPart("weights", GIB),), label)]
    cards = [Capacity(label, GIB), Capacity(label, 90 * GIB)]
    curve = Curve((Point(1, GIB), Point(9, 2 * GIB)), label)
    offers = mark_frontier(Offer(label, label, p, s) for p, s in ((1, 1), (2, 2), (3, 1)))
    users = users_plots([UserSpeed(curve, curve, curve, 9, curve.points[0])], 3.0, ENGLISH)
    return {
        "memory": lambda: memory_picture(bars, cards, "8", 1, ENGLISH),
        "training": lambda: training_picture(bars, cards, ENGLISH),
        "context": lambda: markup_around(context_plot([curve], cards, 4, 1, ENGLISH)),
        "users": lambda: "".join(map(markup_around, users.values())),
        "buy": lambda: markup_around(price_plot(PriceSpeed("buy", offers, 3), ENGLISH)),
        "rent": lambda: markup_around(price_plot(PriceSpeed("rent", offers, 3), ENGLISH)),
    }


def markup_around(plot: Plot | None) -> str:
    """The markup of a plot, whose points Gradio draws."""
    assert plot
    return plot.above + plot.below


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", list(sample("")))
def test_names_in_pictures_are_escaped(name: str, attack: str) -> None:
    markup = sample(attack)[name]()
    assert markup
    page = inert(markup, _SVG_TAGS)
    assert not any("href" in attributes for _, attributes in page.elements)


@pytest.mark.parametrize("name", ["memory", "training"])
def test_bars_are_named_described_and_have_their_numbers(name: str) -> None:
    markup = sample("a name")[name]()
    assert markup
    page = Page(markup)
    images = [
        attributes for tag, attributes in page.elements if tag == "svg" and "role" in attributes
    ]
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert len(images) == 2
    for attributes in images:
        assert attributes["role"] == "img"
        assert set((attributes["aria-labelledby"] or "").split()) <= set(ids)
        assert (attributes["viewbox"] or "").split()[2] in ("560", "340")
    references = set(re.findall(r"url\(#([\w-]+)\)", markup))
    assert references <= set(ids)


@pytest.mark.parametrize("name", list(sample("")))
def test_every_picture_has_a_title_and_its_numbers(name: str) -> None:
    markup = sample("a name")[name]()
    assert markup
    assert markup.count("<h3>") == markup.count("<table") == markup.count("<details") >= 1


@pytest.mark.parametrize("model, language", paired(OF_EACH_KIND, LANGUAGES))
def test_every_kind_of_model_is_drawn_in_its_window(model: str, language: Language) -> None:
    state = PageState(model).picking(("4090", "2x3090"))
    words, picture_data = Words(language), pictures(embedded_sizer(), state)
    surroundings = (markup_around(plot) for plot in plots(picture_data, words).values())
    page = Page(memory_html(picture_data, words) + "".join(surroundings))
    assert not re.search(r"\b(page|pictures|part|column)\.[a-z_]+\b", page.text)
    assert "None" not in page.text
    assert "nan" not in page.text.split()
    width = 0.0
    for tag, attributes in page.elements:
        if tag == "svg":
            width = float((attributes["viewbox"] or "").split()[2])
        for name in ("x", "x1", "x2", "cx"):
            if name in attributes:
                assert -0.01 <= float(attributes[name] or "nan") <= width + 0.01
        if tag == "rect":
            assert float(attributes["width"] or "nan") >= 0


def test_empty_pictures_hide_their_components() -> None:
    empty = Pictures(1, 1, (), (), (), ())
    assert memory_html(empty, ENGLISH) == "" and plots(empty, ENGLISH) == {}
    hidden = pictures_shown(empty, ENGLISH)
    assert hidden == pictures_shown(None, ENGLISH) and len(hidden) == 1 + 4 * len(PLOTS)


def test_the_page_has_a_place_for_every_plot() -> None:
    state = PageState(LLAMA).picking(("4090",))
    plots_by_name = plots(pictures(embedded_sizer(), state), ENGLISH)
    assert tuple(plots_by_name) == PLOTS
    values = pictures_shown(pictures(embedded_sizer(), state), ENGLISH)
    for name, plot in plots_by_name.items():
        assert len(values[f"{name}.plot"]["value"]) == len(plot.points)


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


@pytest.mark.parametrize("colour", [*COLOURS, MUTED])
@pytest.mark.parametrize("back", ["#ffffff", "#0b0f19"])
def test_colours_of_plots_stand_out_in_light_and_in_dark(colour: str, back: str) -> None:
    assert contrast(colour, back) >= 3
