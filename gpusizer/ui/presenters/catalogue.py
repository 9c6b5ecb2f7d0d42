"""The GPU catalogue: its heading, and a grid with a row for every GPU to sort and search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pandas as pd

from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB, TERA
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, plan_costs, rent_usd_per_hour
from gpusizer.ui.presenters.grid import Column, Grid, gpu_cell, shown
from gpusizer.ui.presenters.html import Html, el
from gpusizer.ui.presenters.number_format import DASH
from gpusizer.ui.presenters.prices import price_cell
from gpusizer.ui.presenters.words import Words

COLUMNS = (
    Column("gpu", "html"),
    Column("usable", width=118),
    Column("bandwidth", width=76),
    Column("fp16", width=102),
    Column("links", "html", width=112),
    Column("power", ascending=True, width=84),
    Column("year", width=76),
    Column("buy", "html", ascending=True, width=162),
    Column("rent", ascending=True, width=106),
)


def catalogue_html(count: int, words: Words, notes: Sequence[Note] = ()) -> Html:
    """What stands above the grid: how many GPUs there are, and why none of them is shown."""
    return el(
        "section",
        words.heading("catalogue", count=count),
        el("p", " ".join(map(words.note, notes)), class_="gs-empty", role="status")
        if notes
        else None,
        class_="gs-section",
        id="gs-catalogue",
    )


def sold_first(gpus: Sequence[Gpu]) -> list[Gpu]:
    """Order by what can be bought: sold today, newest first, then what no longer is."""
    return sorted(gpus, key=lambda gpu: (gpu.status != "current", -gpu.release_year))


def catalogue_grid(gpus: Sequence[Gpu], words: Words) -> Grid:
    """GPUs as rows."""
    values = pd.DataFrame(
        {
            "gpu": [gpu.name for gpu in gpus],
            "usable": [round(gpu.memory_bytes / GIB, 2) for gpu in gpus],
            "bandwidth": [_in(gpu.bandwidth_bytes_per_second, GB) for gpu in gpus],
            "fp16": [_in(gpu.fp16_flops, TERA) for gpu in gpus],
            "links": [gpu.interconnect for gpu in gpus],
            "power": [gpu.power_watts for gpu in gpus],
            "year": [gpu.release_year for gpu in gpus],
            "buy": [gpu.buy_usd for gpu in gpus],
            "rent": [rent_usd_per_hour(gpu) for gpu in gpus],
        }
    )
    cells = pd.DataFrame(
        {
            "gpu": [gpu_cell(gpu.name, gpu.architecture, gpu.slug, words) for gpu in gpus],
            "usable": [words.gib(gpu.memory_bytes) for gpu in gpus],
            "bandwidth": shown(values["bandwidth"], words.whole),
            "fp16": shown(values["fp16"], _tenths(words)),
            "links": [el("span", gpu.interconnect or DASH) for gpu in gpus],
            "power": shown(values["power"], words.whole),
            "year": values["year"].map(str),
            "buy": [
                price_cell(plan_costs(gpu, 1, None, DEFAULT_ASSUMPTIONS), words) for gpu in gpus
            ],
            "rent": shown(values["rent"], words.usd),
        }
    )
    return Grid(values, cells)


def _in(rate: float | None, unit: float) -> float | None:
    return None if rate is None else rate / unit


def _tenths(words: Words) -> Callable[[float], str]:
    return lambda value: words.number(value, ",.1f")
