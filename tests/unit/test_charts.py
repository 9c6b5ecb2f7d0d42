"""Pictures: geometry on axes from zero, words for everything drawn, and nothing breaks out."""

from __future__ import annotations

import doctest
import re
from collections.abc import Callable, Iterator
from html import unescape
from itertools import pairwise
from types import ModuleType

import pytest

from gpusizer.figures.pictures import Pictures
from gpusizer.figures.prices import Kind, Offer, PriceSpeed, limit, mark_frontier, price_speed
from gpusizer.figures.shapes import Capacity, Curve, Part, Point, Stack
from gpusizer.figures.users import UserSpeed, user_speed
from gpusizer.paths import DATA_DIR
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.answering import pictures
from gpusizer.ui.presenters.charts import scale, svg
from gpusizer.ui.presenters.charts.curves import context_picture, users_pictures
from gpusizer.ui.presenters.charts.page import pictures_html
from gpusizer.ui.presenters.charts.scale import round_up, spread, ticks
from gpusizer.ui.presenters.charts.scatter import price_picture
from gpusizer.ui.presenters.charts.stacked import memory_picture, styles, training_picture
from gpusizer.ui.presenters.charts.svg import text_width
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.state import PageState
from gpusizer.units import GIB
from tests.hostile import ATTACKS
from tests.sizers import embedded_sizer
from tests.unit.test_presenters import _SAFE_TAGS, Page, hostile_sizer

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
ENGLISH = Words("en")
_SVG_TAGS = frozenset(
    ("circle", "defs", "desc", "figure", "g", "line", "path", "pattern", "polygon", "rect", "svg",
     "text", "title", "tspan")
)  # fmt: skip
_WIDTHS = {"wide": 560.0, "narrow": 340.0}

Drawn = list[tuple[str, dict[str, str | None]]]


def stack(
    label: str, *amounts_gib: float, keys: tuple[str, ...] = ("weights", "kv_cache")
) -> Stack:
    parts = [Part(key, int(gib * GIB)) for key, gib in zip(keys, amounts_gib, strict=True)]
    return Stack(label, tuple(parts), "vLLM")


def elements(markup: str, width: str) -> Drawn:
    """What is drawn in the picture of one width."""
    inside = markup.split(f"gs-chart-{width}", 1)[1].split("</svg>", 1)[0]
    page = re.findall(r"<(\w+)([^>]*)>", inside.split("<svg", 1)[1])
    return [(tag, dict(re.findall(r'([\w-]+)="([^"]*)"', rest))) for tag, rest in page]


def classed(drawn: Drawn, name: str) -> Iterator[dict[str, str | None]]:
    for _, attributes in drawn:
        if name in (attributes.get("class") or "").split():
            yield attributes


def number(attributes: dict[str, str | None], name: str) -> float:
    return float(attributes[name] or "nan")


def curve_places(drawn: Drawn) -> list[list[tuple[float, float]]]:
    paths = [found["d"] or "" for found in classed(drawn, "gs-line")]
    return [
        [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", path)] for path in paths
    ]


def test_ticks_are_round_and_start_at_zero() -> None:
    for top in (0.003, 0.9, 17.7, 99.99, 631.7, 131_072, 1e7):
        for most in (2, 3, 5, 8):
            made = ticks(top, most)
            assert made[0] == 0
            assert made[-1] <= top * (1 + 1e-9) <= round_up(top, most) * (1 + 1e-9)
            assert len(made) <= most + 1
            steps = [b - a for a, b in pairwise(made)]
            assert all(step == pytest.approx(steps[0]) for step in steps)


def test_badges_are_moved_apart_and_stay_inside() -> None:
    moved = spread([50, 50, 50, 3], 22, 10, 60)
    assert all(b - a >= 22 for a, b in pairwise(sorted(moved)))
    assert max(moved) <= 60
    assert spread([10, 100], 22, 0, 200) == [10, 100]


@pytest.mark.parametrize("width", list(_WIDTHS))
def test_bars_are_as_long_as_their_amounts(width: str) -> None:
    made = memory_picture([stack("a", 10, 2), stack("b", 5, 1)], (), "8", "1", ENGLISH)
    assert made
    bars = list(classed(elements(made, width), "gs-fill"))
    lengths = [number(bar, "width") for bar in bars]
    assert [length / lengths[0] for length in lengths] == pytest.approx([1, 0.2, 0.5, 0.1], 1e-3)
    starts = [number(bar, "x") for bar in bars]
    assert starts[0] == starts[2]  # every bar starts at zero
    assert starts[1] == pytest.approx(starts[0] + lengths[0], abs=0.02)


@pytest.mark.parametrize("width", list(_WIDTHS))
def test_a_capacity_stands_where_a_bar_of_its_size_would_end(width: str) -> None:
    cards = [Capacity("small", 6 * GIB), Capacity("large", 12 * GIB), Capacity("huge", 99 * GIB)]
    made = memory_picture([stack("a", 10, 2), stack("b", 3, 3)], cards, "8", "1", ENGLISH)
    assert made
    drawn = elements(made, width)
    bars = list(classed(drawn, "gs-fill"))
    ends = [number(bar, "x") + number(bar, "width") for bar in bars]
    lines = [n for found in classed(drawn, "gs-under") if (n := number(found, "x1"))]
    assert lines == pytest.approx([ends[3], ends[1]], abs=0.02)
    assert "huge" in made
    assert made.count("beyond the edge") == 1


def test_a_card_a_little_above_the_largest_bar_is_drawn() -> None:
    made = memory_picture([stack("a", 10, 2)], [Capacity("x", 16 * GIB)], "8", "1", ENGLISH)
    assert made
    assert "beyond the edge" not in made


def test_parts_look_the_same_in_every_picture() -> None:
    assert styles(("weights", "activations")) == {"weights": 0, "activations": 2}
    mixed = styles(("weights", "gradients", "adapters", "optimizer"))
    assert mixed["gradients"] == 4
    assert len(set(mixed.values())) == 4


@pytest.mark.parametrize("width", list(_WIDTHS))
def test_curves_lie_on_axes_from_zero(width: str) -> None:
    curve = Curve((Point(1, 4 * GIB), Point(500, 6 * GIB), Point(1000, 8 * GIB)), "q")
    made = context_picture([curve], [Capacity("card", 6 * GIB)], 500, 1, ENGLISH)
    assert made
    drawn = elements(made, width)
    (places,) = curve_places(drawn)
    texts = list(classed(drawn, "gs-tick"))
    origin_y = next(number(found, "y1") for found in classed(drawn, "gs-grid"))  # of the tick 0
    heights = [origin_y - y for _, y in places]
    assert [height / heights[0] for height in heights] == pytest.approx([1, 1.5, 2], 1e-3)
    level = next(classed(drawn, "gs-under"))
    assert number(level, "y1") == pytest.approx(places[1][1], abs=0.02)
    upright = next(classed(drawn, "gs-upright"))
    assert number(upright, "x1") == pytest.approx(places[1][0], abs=0.02)
    assert len(texts) > 6


@pytest.mark.parametrize("width", list(_WIDTHS))
def test_the_frontier_rises_and_its_numbers_do_not_touch(width: str) -> None:
    offers = mark_frontier(
        Offer(f"gpu {i}", "q", 100 + 40 * i, 50 + 60 * i**0.5 - 40 * (i % 3 == 1))
        for i in range(12)
    )
    prices = PriceSpeed("buy", offers, limit(offers))
    made = price_picture(prices, ENGLISH)
    assert made
    drawn = elements(made, width)
    (line,) = curve_places(drawn)
    assert all(b[0] >= a[0] and b[1] <= a[1] for a, b in pairwise(line))
    badges = [(number(b, "cx"), number(b, "cy")) for b in classed(drawn, "gs-badge")]
    names = [tag for tag, found in drawn if found.get("class") == "gs-badge-name"]
    assert len(names) == len(badges) == len(prices.frontier)
    for i, (x, y) in enumerate(badges):
        assert all((x - a) ** 2 + (y - b) ** 2 >= 400 for a, b in badges[i + 1 :])
    dots = list(classed(drawn, "gs-dot"))
    assert len(dots) == len(offers) - len(prices.frontier)


@pytest.mark.parametrize("width", list(_WIDTHS))
@pytest.mark.parametrize("kind", ["buy", "rent"])
def test_every_drawn_frontier_point_of_a_real_ranking_has_its_number(
    kind: Kind, width: str
) -> None:
    report = embedded_sizer().size({"model": LLAMA, "top": 0})
    prices = price_speed(report.ranking, kind)
    made = price_picture(prices, ENGLISH)
    assert made
    badges = list(classed(elements(made, width), "gs-badge"))
    assert len(badges) == sum(o.price_usd <= prices.limit_usd for o in prices.frontier)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("dearest", "kind"), [(17_500, "buy"), (180_000, "buy"), (0.55, "rent")])
def test_prices_on_the_axis_stay_apart_and_inside(
    dearest: float, kind: Kind, language: Language
) -> None:
    offers = mark_frontier(Offer(f"gpu {i}", "q", dearest * i / 9, 9 + i) for i in range(1, 10))
    made = price_picture(PriceSpeed(kind, offers, dearest), Words(language))
    assert made
    for width, most in _WIDTHS.items():
        inside = made.split(f"gs-chart-{width}", 1)[1].split("</svg>", 1)[0]
        labels = re.findall(r'<text x="([\d.]+)"[^>]*"middle"[^>]*>([^<]*\d)</text>', inside)
        prices = [
            (float(x), text_width(unescape(said)) / 2) for x, said in labels if "&#36;" in said
        ]
        assert len(prices) >= 2
        assert all(x + half <= b - other for (x, half), (b, other) in pairwise(prices))
        assert prices[-1][0] + prices[-1][1] <= most


def test_what_is_too_dear_to_draw_is_counted_and_in_the_table() -> None:
    offers = mark_frontier(Offer(f"gpu {p}", "", p, p) for p in (100, 200, 300, 40_000))
    made = price_picture(PriceSpeed("buy", offers, limit(offers)), ENGLISH)
    assert made
    assert "only in the table: 1." in made
    assert '<th scope="row">gpu 40000</th>' in made
    assert price_picture(PriceSpeed("rent", offers[:1], 100), ENGLISH) is None


def test_speeds_are_drawn_in_total_and_for_each_user() -> None:
    speeds = [user_speed(lambda n: 90.0 * n / (n + 8), 30, "H100"), user_speed(float, 9, "4090")]
    made = users_pictures(speeds, ENGLISH)
    assert made
    assert made.count("<figure") == 2
    assert "H100: 30, 4090: 9" in made
    total = curve_places(elements(made, "narrow"))[0]
    assert all(b[1] < a[1] for a, b in pairwise(total))  # the total grows
    assert users_pictures([UserSpeed(Curve((), ""), Curve((), ""))], ENGLISH) is None


def sample(label: str) -> dict[str, Callable[[], str | None]]:
    """Every picture with one text wherever a name can stand."""
    bars = [Stack(label, (Part("weights", GIB),), label)]
    cards = [Capacity(label, GIB), Capacity(label, 90 * GIB)]
    curve = Curve((Point(1, GIB), Point(9, 2 * GIB)), label)
    offers = mark_frontier(Offer(label, label, p, s) for p, s in ((1, 1), (2, 2), (3, 1)))
    return {
        "memory": lambda: memory_picture(bars, cards, "8", "1", ENGLISH),
        "training": lambda: training_picture(bars, cards, ENGLISH),
        "context": lambda: context_picture([curve], cards, 4, 1, ENGLISH),
        "users": lambda: users_pictures([UserSpeed(curve, curve, 9)], ENGLISH),
        "buy": lambda: price_picture(PriceSpeed("buy", offers, 3), ENGLISH),
        "rent": lambda: price_picture(PriceSpeed("rent", offers, 3), ENGLISH),
    }


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("name", list(sample("")))
def test_names_come_out_inert(name: str, attack: str) -> None:
    markup = sample(attack)[name]()
    assert markup
    page = Page(markup)
    assert {tag for tag, _ in page.elements} <= _SAFE_TAGS | _SVG_TAGS
    attributes = [name for _, found in page.elements for name in found]
    assert not [name for name in attributes if name.startswith("on") or name == "href"]
    assert "${" not in markup
    assert "{{" not in markup


@pytest.mark.parametrize("name", list(sample("")))
def test_every_picture_is_named_described_and_has_its_numbers(name: str) -> None:
    markup = sample("a name")[name]()
    assert markup
    page = Page(markup)
    images = [found for tag, found in page.elements if tag == "svg" and "role" in found]
    ids = [found["id"] for _, found in page.elements if "id" in found]
    assert len(ids) == len(set(ids))
    assert len(images) == 2 * markup.count("<figure")
    for found in images:
        assert found["role"] == "img"
        assert set((found["aria-labelledby"] or "").split()) <= set(ids)
        assert (found["viewbox"] or "").split()[2] in ("560", "340")
    assert markup.count("<table") == markup.count("<details") == markup.count("<figure")
    references = set(re.findall(r"url\(#([\w-]+)\)", markup))
    assert references <= set(ids)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "model", [LLAMA, "deepseek-ai/DeepSeek-R1", "openai/gpt-oss-20b", "BAAI/bge-large-en-v1.5",
              "black-forest-labs/FLUX.1-dev"],
)  # fmt: skip
def test_every_kind_of_model_is_drawn_in_its_window(model: str, language: Language) -> None:
    state = PageState(model).picking(("4090", "2x3090"))
    page = Page(pictures_html(pictures(embedded_sizer(), state), Words(language)))
    assert not re.search(r"\b(page|pictures|part|column)\.[a-z_]+\b", page.text)
    assert "None" not in page.text
    assert "nan" not in page.text.split()
    width = 0.0
    for tag, found in page.elements:
        if tag == "svg":
            width = float((found["viewbox"] or "").split()[2])
        for name in ("x", "x1", "x2", "cx"):
            if name in found:
                assert -0.01 <= float(found[name] or "nan") <= width + 0.01
        if tag == "rect":
            assert float(found["width"] or "nan") >= 0


def test_a_hostile_repository_is_drawn_inert() -> None:
    page = Page(pictures_html(pictures(hostile_sizer(), PageState("hostile/model")), ENGLISH))
    assert {tag for tag, _ in page.elements} <= _SAFE_TAGS | _SVG_TAGS


def test_nothing_to_draw_is_nothing() -> None:
    assert pictures_html(Pictures(1, 1, (), (), (), ()), ENGLISH) == ""


def _luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("block", "back"), [(0, "#ffffff"), (1, "#0b0f19")])
def test_colours_stand_out_in_light_and_in_dark(block: int, back: str) -> None:
    """WCAG AA for graphics: 3 to 1 against the page; 4.5 for text."""
    css = (DATA_DIR.parent / "gpusizer" / "ui" / "style.css").read_text(encoding="utf-8")
    colours = [dict(re.findall(r"--gs-([\w-]+): (#\w{6})", part)) for part in css.split("\n  }")]
    made = [found for found in colours if "optimizer" in found][block]
    for name in ("weights", "kv", "activations", "overhead", "gradients", "optimizer", "muted"):
        light, dark = sorted((_luminance(made[name]), _luminance(back)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= (4.5 if name == "muted" else 3), name


@pytest.mark.parametrize("module", [scale, svg], ids=lambda module: module.__name__)
def test_examples_in_docstrings(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
