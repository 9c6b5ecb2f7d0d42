"""Memory of every quantization as bars and a table, and the grid of ranked GPUs."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from gpusizer.answers.exports import ranking_frame
from gpusizer.answers.report import EstimateRow, Report
from gpusizer.answers.request import RANKINGS
from gpusizer.core.units import GIB
from gpusizer.fit.fit import Fit
from gpusizer.fit.losses import quality_at
from gpusizer.fit.ranking import Ranked
from gpusizer.ui.presenters.bars import bars_html, shown_rows
from gpusizer.ui.presenters.derivation import derivation_html
from gpusizer.ui.presenters.grid import Column, Grid, gpu_cell, shown
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.losses import loss_cell, loss_label
from gpusizer.ui.presenters.marks import (
    provenance_legend,
    provenance_mark,
    verdict_badge,
)
from gpusizer.ui.presenters.number_format import DASH
from gpusizer.ui.presenters.prices import price_cell, rent_cell
from gpusizer.ui.presenters.words import Words

_ESTIMATE_HEAD = (
    "quant",
    "bits",
    "quality",
    "weights",
    "kv_cache",
    "activations",
    "overhead",
    "total",
    "band",
    "engine",
)
_NUMBERS = frozenset(_ESTIMATE_HEAD) - {"quant", "quality", "engine"}
RANKING_COLUMNS = (
    Column("gpu", "html"),
    Column("verdict", "html", width=120),
    Column("headroom", width=104),
    Column("speed", "html", width=100),
    Column("buy", "html", ascending=True, width=200),
    Column("rent", "html", ascending=True, width=112),
    Column("power", ascending=True, width=90),
)


def memory_html(report: Report, words: Words) -> Html:
    """Write bars for well-known quantizations, and the table of all."""
    rows = [_estimate_row(row, words) for row in report.estimates]
    from_originals = any(row.needs_original_weights for row in report.estimates)
    workload = report.workload
    return el(
        "section",
        words.heading(
            "memory",
            context=words.whole(workload.context),
            at_once=words.at_once(workload.concurrency),
        ),
        bars_html(report, words),
        el(
            "details",
            el("summary", words("memory.all", count=len(rows))),
            _table(_ESTIMATE_HEAD, rows, words, "gs-estimates"),
            el("p", "† ", words("needs_original"), class_="gs-small") if from_originals else None,
            provenance_legend(words),
            class_="gs-details",
        ),
        derivation_html(shown_rows(report.estimates), words),
        class_="gs-section",
        id="gs-memory",
    )


def ranking_html(report: Report, words: Words) -> Html:
    """Write the part above the ranking: its title, and buttons that order it."""
    order = report.request.rank_by
    buttons = [
        el(
            "button",
            words(f"rank.{name}"),
            type="button",
            data_rank=name,
            aria_pressed="true" if name == order else "false",
        )
        for name in RANKINGS
    ]
    return el(
        "section",
        words.heading("ranking"),
        el("div", join(buttons), class_="gs-switch", role="group", aria_label=words("rank.label")),
        None if report.ranking else el("p", words("ranking.empty"), class_="gs-empty"),
        class_="gs-section",
        id="gs-ranking",
    )


def ranking_grid(report: Report, words: Words) -> Grid:
    """Build the grid of every GPU that runs the model, in the report's order."""
    ranking, facts = report.ranking, ranking_frame(report)
    values = pd.DataFrame(
        {
            "gpu": [f"{_boards(item.fit)} {item.fit.gpu.slug}" for item in ranking],
            "verdict": [item.fit.verdict.place for item in ranking],
            "headroom": [round(item.fit.way.headroom_bytes / GIB, 2) for item in ranking],
            "speed": facts["decode_tokens_per_second"],
            "buy": facts["buy_usd"],
            "rent": facts["rent_usd_per_hour"],
            "power": facts["power_watts"],
        }
    )
    cells = pd.DataFrame(
        {
            "gpu": [_gpu(item, words) for item in ranking],
            "verdict": [verdict_badge(item.fit.verdict, words) for item in ranking],
            "headroom": [words.gib(item.fit.way.headroom_bytes) for item in ranking],
            "speed": [_rate(item, words) for item in ranking],
            "buy": [price_cell(item.costs, words) for item in ranking],
            "rent": [rent_cell(item.costs, words) for item in ranking],
            "power": shown(values["power"], words.whole),
        }
    )
    return Grid(values, cells)


def _boards(fit: Fit) -> str:
    return f"{fit.count} × {fit.gpu.name}" if fit.count > 1 else fit.gpu.name


def _slug(fit: Fit) -> str:
    """Name the boards as a request does."""
    return fit.gpu.slug if fit.count == 1 else f"{fit.count}x{fit.gpu.slug}"


def _gpu(item: Ranked, words: Words) -> Html:
    """Write the boards, the configuration that they run with what it loses, and their rank."""
    fit = item.fit
    loss = loss_label(quality_at(fit.estimate), words)
    configuration = f"{fit.estimate.quant.name} · {loss} · {fit.estimate.engine.name}"
    return gpu_cell(_boards(fit), configuration, _slug(fit), words, item.rank)


def _rate(item: Ranked, words: Words) -> Html:
    """Write likely tokens per second with their band."""
    if item.decode is None:
        return el("div", DASH, class_="gs-number")
    return el(
        "div",
        el("strong", words.speed(item.decode.likely)),
        el("small", words.band(item.decode)),
        class_="gs-number gs-named",
    )


def _table(head: Sequence[str], rows: Sequence[Html], words: Words, class_: str) -> Html:
    cells = [el("th", words(f"column.{name}"), scope="col", class_=_class(name)) for name in head]
    return el(
        "div",
        el("table", el("thead", el("tr", join(cells))), el("tbody", join(rows)), class_=class_),
        class_="gs-scroll",
        tabindex=0,
    )


def _row(head: Sequence[str], cells: Sequence[str], words: Words) -> Html:
    """Write a row; each cell has its column's name as an attribute, which phones show."""
    first, *others = zip(head, cells, strict=True)
    return el(
        "tr",
        el("th", first[1], scope="row", class_=_class(first[0])),
        join(
            el("td", cell, class_=_class(name), data_label=words(f"column.{name}"))
            for name, cell in others
        ),
    )


def _class(name: str) -> str:
    return f"gs-col-{name} gs-number" if name in _NUMBERS else f"gs-col-{name}"


def _estimate_row(row: EstimateRow, words: Words) -> Html:
    estimate = row.estimate
    memory, provenances = estimate.all_gpus, estimate.all_gpus.provenance
    chip = el("span", words("as_stored"), class_="gs-chip") if estimate.native else None
    wider = None
    if row.needs_original_weights:
        wider = el("sup", "†", title=words("needs_original"))
    parts = [
        join((words.gib(amount), " ", provenance_mark(provenances[part], words)))
        for part, amount in memory.likely_bytes.items()
    ]
    cells = (
        join((estimate.quant.name, chip, wider)),
        words.number(row.bits_per_weight, ".2f"),
        loss_cell(quality_at(estimate), words),
        *parts,
        el("strong", words.gib(memory.total.likely)),
        f"{words.gib(memory.total.low)}–{words.gib(memory.total.high)}",
        estimate.engine.name,
    )
    return _row(_ESTIMATE_HEAD, cells, words)
