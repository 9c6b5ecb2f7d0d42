"""The two tables: memory at every quantization, and ranked GPUs."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.ranking import Ranked
from gpusizer.report import EstimateRow, Report
from gpusizer.request import RANKINGS
from gpusizer.ui.presenters.bars import bars_html, shown_rows
from gpusizer.ui.presenters.derivation import derivation_html
from gpusizer.ui.presenters.figures import DASH
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.marks import (
    part_bytes,
    provenance_legend,
    provenance_mark,
    verdict_badge,
)
from gpusizer.ui.presenters.words import Words

SHOWN_AT_FIRST = 15
_ESTIMATE_HEAD = (
    "quant", "bits", "weights", "kv_cache", "activations", "overhead", "total", "band", "engine",
)  # fmt: skip
_RANKING_HEAD = ("rank", "gpu", "verdict", "headroom", "speed", "buy", "rent", "power", "pick")
_NUMBERS = frozenset(
    ("bits", "weights", "kv_cache", "activations", "overhead", "total", "band", "headroom",
     "speed", "buy", "rent", "power")
)  # fmt: skip


def memory_html(report: Report, words: Words) -> Html:
    """Bars for the well-known levels, and the table of all."""
    rows = [_estimate_row(row, words) for row in report.estimates]
    from_originals = any(row.needs_original_weights for row in report.estimates)
    workload = report.workload
    return el(
        "section",
        words.heading(
            "memory",
            context=words.whole(workload.context),
            concurrency=words.whole(workload.concurrency),
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
        derivation_html(report, shown_rows(report.estimates), words),
        class_="gs-section",
        id="gs-memory",
    )


def ranking_html(report: Report, words: Words) -> Html:
    """GPUs that run the model, with buttons to order them and to put them side by side."""
    order = report.request.rank_by
    buttons = [
        el("button", words(f"rank.{name}"), type="button", data_rank=name,
           aria_pressed="true" if name == order else "false")
        for name in RANKINGS
    ]  # fmt: skip
    return el(
        "section",
        words.heading("ranking"),
        el("div", join(buttons), class_="gs-switch", role="group", aria_label=words("rank.label")),
        _ranking(report.ranking, words),
        class_="gs-section",
        id="gs-ranking",
    )


def _ranking(ranking: Sequence[Ranked], words: Words) -> Html:
    if not ranking:
        return el("p", words("ranking.empty"), class_="gs-empty")
    rows = [_ranking_row(item, words) for item in ranking]
    more = None
    if len(rows) > SHOWN_AT_FIRST:
        label = words("ranking.more", count=len(rows))
        more = el("button", label, type="button", class_="gs-button", data_more=True)
    return el("div", _table(_RANKING_HEAD, rows, words, "gs-ranked"), more, class_="gs-short")


def _table(head: Sequence[str], rows: Sequence[Html], words: Words, class_: str) -> Html:
    cells = [el("th", words(f"column.{name}"), scope="col", class_=_class(name)) for name in head]
    return el(
        "div",
        el("table", el("thead", el("tr", join(cells))), el("tbody", join(rows)), class_=class_),
        class_="gs-scroll",
        tabindex=0,
    )


def _row(head: Sequence[str], cells: Sequence[str], words: Words) -> Html:
    """A row; each cell carries its column's name for screens too narrow for a table."""
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
    memory, known = estimate.all_gpus, estimate.provenance()
    chip = el("span", words("as_stored"), class_="gs-chip") if estimate.native else None
    wider = None
    if row.needs_original_weights:
        wider = el("sup", "†", title=words("needs_original"))
    parts = [
        join((words.gib(amount), " ", provenance_mark(known[part], words)))
        for part, amount in part_bytes(memory).items()
    ]
    cells = (
        join((estimate.quant.name, chip, wider)),
        words.number(row.bits_per_weight, ".2f"),
        *parts,
        el("strong", words.gib(memory.total.likely)),
        f"{words.gib(memory.total.low)}–{words.gib(memory.total.high)}",
        estimate.engine.name,
    )
    return _row(_ESTIMATE_HEAD, cells, words)


def _ranking_row(item: Ranked, words: Words) -> Html:
    fit = item.fit
    name = f"{fit.count} × {fit.gpu.name}" if fit.count > 1 else fit.gpu.name
    slug = fit.gpu.slug if fit.count == 1 else f"{fit.count}x{fit.gpu.slug}"
    how = f"{fit.estimate.quant.name} · {fit.estimate.engine.name}"
    rate = DASH
    if item.decode is not None:
        rate = join(
            (el("strong", words.speed(item.decode.likely)), el("small", words.band(item.decode)))
        )
    buy, rent, power = item.buy_usd, item.rent_usd_per_hour, item.power_watts
    cells = (
        str(item.rank),
        join((el("strong", name), el("small", how))),
        verdict_badge(fit.verdict, words),
        words.gib(fit.headroom_bytes),
        rate,
        DASH if buy is None else words.usd(buy),
        DASH if rent is None else words.usd(rent),
        DASH if power is None else words.whole(power),
        el("button", words("pick"), type="button", class_="gs-button", data_pick=slug,
           aria_label=words("pick.label", gpu=name)),
    )  # fmt: skip
    return _row(_RANKING_HEAD, cells, words)
