"""The GPU catalogue: its heading, and a grid with a row for every GPU to sort and search."""

from collections.abc import Sequence

from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB, TERA
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, plan_costs, rent_usd_per_hour
from gpusizer.ui.presenters.pieces.grid import Column, gpu_cell, numbers
from gpusizer.ui.presenters.pieces.html import Html, el, section
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.prices import price_cell


def catalogue_html(count: int, words: Words, notes: Sequence[Note] = ()) -> Html:
    """What stands above the grid: how many GPUs there are, and why none of them is shown."""
    return section(
        "catalogue",
        words.heading("catalogue", count=count),
        el("p", " ".join(map(words.note, notes)), class_="gs-empty", role="status")
        if notes
        else None,
    )


def sold_first(gpus: Sequence[Gpu]) -> list[Gpu]:
    """Order by what can be bought: sold today, newest first, then what no longer is."""
    return sorted(gpus, key=lambda gpu: (gpu.status != "current", -gpu.release_year))


COLUMNS: tuple[Column[Gpu], ...] = (
    Column(
        "gpu",
        lambda gpu: gpu.name,
        lambda gpu, words: gpu_cell(gpu.name, gpu.architecture, gpu.slug, words),
        "html",
    ),
    numbers("usable", lambda gpu: gpu.memory_bytes, Words.gib, GIB, 2, width=118),
    numbers(
        "bandwidth",
        lambda gpu: gpu.bandwidth_bytes_per_second,
        lambda words, speed: words.whole(speed / GB),
        GB,
        width=76,
    ),
    numbers(
        "fp16",
        lambda gpu: gpu.fp16_flops,
        lambda words, flops: words.number(flops / TERA, ",.1f"),
        TERA,
        width=102,
    ),
    Column(
        "links",
        lambda gpu: gpu.interconnect,
        lambda gpu, words: el("span", gpu.interconnect or DASH),
        "html",
        width=112,
    ),
    numbers("power", lambda gpu: gpu.power_watts, Words.whole, ascending=True, width=84),
    Column(
        "year", lambda gpu: gpu.release_year, lambda gpu, words: str(gpu.release_year), width=76
    ),
    Column(
        "buy",
        lambda gpu: gpu.buy_usd,
        lambda gpu, words: price_cell(plan_costs(gpu, 1, None, DEFAULT_ASSUMPTIONS), words),
        "html",
        ascending=True,
        width=162,
    ),
    numbers("rent", rent_usd_per_hour, Words.usd, ascending=True, width=106),
)
"""The grid of GPUs."""
