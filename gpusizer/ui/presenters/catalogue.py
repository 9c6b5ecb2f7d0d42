"""The GPU catalogue as one table that the browser filters."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpusizer.costs import rent_usd_per_hour
from gpusizer.gpus import Gpu
from gpusizer.ui.presenters.figures import DASH
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.words import Words
from gpusizer.units import GB, TERA

_HEAD = ("gpu", "usable", "bandwidth", "fp16", "links", "power", "year", "buy", "rent", "pick")
_TEXT = frozenset({"gpu", "links", "pick"})


def catalogue_html(gpus: Sequence[Gpu], words: Words) -> Html:
    """Every GPU, with a field that hides the rows whose names lack a word."""
    head = [el("th", words(f"column.{name}"), scope="col", class_=_class(name)) for name in _HEAD]
    return el(
        "section",
        words.heading("catalogue", count=len(gpus)),
        el(
            "label",
            words("catalogue.filter"),
            el("input", type="search", name="filter", autocomplete="off", class_="gs-filter"),
            class_="gs-filter-label",
        ),
        el("p", words("catalogue.none"), class_="gs-empty", hidden=True, role="status"),
        el(
            "div",
            el(
                "table",
                el("thead", el("tr", join(head))),
                el("tbody", join(_row(gpu, words) for gpu in gpus)),
                class_="gs-ranked gs-catalogue",
            ),
            class_="gs-scroll",
            tabindex=0,
        ),
        class_="gs-section",
        id="gs-catalogue",
    )


def _row(gpu: Gpu, words: Words) -> Html:
    names = " ".join((gpu.slug, gpu.name, gpu.vendor, gpu.architecture, *gpu.aliases))
    cells = (
        words.gib(gpu.memory_bytes),
        _or_dash(gpu.bandwidth_bytes_per_second, lambda rate: words.whole(rate / GB)),
        _or_dash(gpu.fp16_flops, lambda rate: words.number(rate / TERA, ",.1f")),
        gpu.interconnect or DASH,
        _or_dash(gpu.power_watts, words.whole),
        str(gpu.release_year),
        _or_dash(gpu.buy_usd, words.usd),
        _or_dash(rent_usd_per_hour(gpu), words.usd),
        el("button", words("pick"), type="button", class_="gs-button", data_pick=gpu.slug,
           aria_label=words("pick.label", gpu=gpu.name)),
    )  # fmt: skip
    return el(
        "tr",
        el("th", el("strong", gpu.name), el("small", gpu.architecture), scope="row",
           class_=_class("gpu")),
        join(
            el("td", cell, class_=_class(name), data_label=words(f"column.{name}"))
            for name, cell in zip(_HEAD[1:], cells, strict=True)
        ),
        data_names=names.casefold(),
    )  # fmt: skip


def _or_dash(value: float | None, shown: Callable[[float], str]) -> str:
    return DASH if value is None else shown(value)


def _class(name: str) -> str:
    return f"gs-col-{name}" if name in _TEXT else f"gs-col-{name} gs-number"
