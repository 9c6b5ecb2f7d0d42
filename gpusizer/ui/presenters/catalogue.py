"""The GPU catalogue: its heading, and a grid with a row for every GPU to sort and search."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB, TERA
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, plan_costs, rent_usd_per_hour
from gpusizer.ui.presenters.pieces.grid import Column, gpu_cell, marked, numbers
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.templates import piece, render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.prices import price_cell


def catalogue_html(count: int, words: Words, notes: Sequence[Note] = ()) -> Markup:
    """Write the part above the grid: the number of GPUs, and why it has no rows."""
    said = " ".join(map(words.note, notes))
    return render("catalogue.html", words, count=count, said=said)


def sold_first(gpus: Sequence[Gpu]) -> list[Gpu]:
    """Order by what can be bought: sold today, newest first, then what no longer is."""
    return sorted(gpus, key=lambda gpu: (gpu.status != "current", -gpu.release_year))


COLUMNS: tuple[Column[Gpu], ...] = (
    marked(
        "gpu",
        lambda gpu: gpu.name,
        lambda gpu, words: gpu_cell(gpu.name, gpu.architecture, gpu.slug, words),
    ),
    numbers("usable", lambda gpu: gpu.memory_bytes, Words.gib, GIB, 2, width=118),
    numbers(
        "bandwidth",
        lambda gpu: gpu.bandwidth_bytes_per_second,
        lambda words, n: words.whole(n / GB),
        GB,
        width=76,
    ),
    numbers(
        "fp16",
        lambda gpu: gpu.fp16_flops,
        lambda words, n: words.number(n / TERA, ",.1f"),
        TERA,
        width=102,
    ),
    marked(
        "links",
        lambda gpu: gpu.interconnect,
        lambda gpu, _: piece("plain", gpu.interconnect or DASH),
        width=112,
    ),
    numbers("power", lambda gpu: gpu.power_watts, Words.whole, width=84, ascending=True),
    Column("year", lambda gpu: gpu.release_year, lambda gpu, _: str(gpu.release_year), width=76),
    marked(
        "buy",
        lambda gpu: gpu.buy_usd,
        lambda gpu, words: price_cell(plan_costs(gpu, 1, None, DEFAULT_ASSUMPTIONS), words),
        width=162,
        ascending=True,
    ),
    numbers("rent", rent_usd_per_hour, Words.usd, width=106, ascending=True),
)
"""The grid of GPUs."""
