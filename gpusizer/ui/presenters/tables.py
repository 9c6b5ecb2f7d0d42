"""Memory of every quantization as bars and a table, and the grid of ranked GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from markupsafe import Markup

from gpusizer.advice.conclusion.clauses import boards_name
from gpusizer.advice.ranking import Ranked
from gpusizer.core.byte_ranges import Provenance
from gpusizer.core.units import GIB
from gpusizer.fit.losses import quality_at
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.breakdown import Breakdown
from gpusizer.model.profile import ModelProfile
from gpusizer.speed import Rate
from gpusizer.ui.presenters.beside.bars import PARTS, bars_html, shown_rows
from gpusizer.ui.presenters.choices import Tier
from gpusizer.ui.presenters.derivation import sum_of
from gpusizer.ui.presenters.pieces.grid import Column, gpu_cell, marked, numbers
from gpusizer.ui.presenters.pieces.losses import loss_cell, loss_label
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.templates import Columns, piece, render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.prices import price_cell, rent_cell
from gpusizer.ui.presenters.tiles import tiers_html
from gpusizer.usecases.figures.memory import Capacity
from gpusizer.usecases.report import EstimateRow, Report
from gpusizer.usecases.requests.request import RANKINGS

_ORDERS = ("recommended", "cheapest", "fastest", "tokens_per_dollar", "smallest")
"""The orders that most people ask for; the others are folded."""


def memory_html(
    report: Report, tiers: Sequence[Tier], words: Words, cards: Sequence[Capacity] = ()
) -> Markup:
    """Write a tile for each precision with what it loses, bars for well-known quantizations, and
    the table of all."""
    marks = {kind.value: piece("provenance", words, kind) for kind in Provenance}
    rows = [row for row in report.estimates if not _is_above_stored(row, report.profile)]
    return render(
        "memory.html",
        words,
        workload=report.workload,
        is_drawn=report.profile.pipeline is not None,
        tiles=tiers_html(tiers, words),
        bars=bars_html(report, cards, words),
        columns=_estimates(marks, words),
        marks=marks,
        rows=rows,
        from_originals=any(row.needs_original_weights for row in rows),
        sums=[sum_of(row, words) for row in shown_rows(report.estimates)],
    )


def _is_above_stored(row: EstimateRow, profile: ModelProfile) -> bool:
    """Whether a level has more bits than the repository stores, without a gain."""
    stored = profile.quantization
    bits = None if stored is None else stored.bits
    return bits is not None and row.needs_original_weights and row.estimate.quant.bits > bits


def ranking_html(report: Report, words: Words) -> Markup:
    """Write the part above the ranking: its title, buttons that order it, and what its rows leave
    out."""
    return render(
        "ranking.html",
        words,
        at_once=words.at_once(report.workload.concurrency),
        orders=_ORDERS,
        further=[name for name in RANKINGS if name not in _ORDERS],
        order=report.request.rank_by,
        usual=Usual.from_ranking(report.ranking) if report.ranking else None,
    )


class Usual(NamedTuple):
    """The engine and the word of a loss that most places of a ranking have; a row tells others."""

    engine: str = ""
    loss: str = ""

    @classmethod
    def from_ranking(cls, ranking: Sequence[Ranked]) -> Usual:
        """Count those of the places."""
        shared = [cls.of_place(item) for item in ranking]
        return cls(*(Counter(words).most_common(1)[0][0] for words in zip(*shared, strict=True)))

    @classmethod
    def of_place(cls, item: Ranked) -> Usual:
        """Return those of one place."""
        estimate = item.fit.estimate
        return cls(estimate.engine.name, quality_at(estimate).word.value)


def _gpu(item: Ranked, words: Words, usual: Usual | None = None) -> Markup:
    """Write the boards with their rank, the quantization, and what of the rest is not usual."""
    fit, own, usual = item.fit, Usual.of_place(item), usual or Usual()
    told = [fit.estimate.quant.name]
    if own.loss != usual.loss:
        told.append(loss_label(quality_at(fit.estimate), words))
    if own.engine != usual.engine:
        told.append(own.engine)
    detail = " · ".join(told)
    if fit.verdict is not Verdict.FITS:
        detail = piece("doubted", words, detail, fit.verdict)
    slug = fit.gpu.slug if fit.count == 1 else f"{fit.count}x{fit.gpu.slug}"  # as a request
    return gpu_cell(boards_name(fit.gpu, fit.count), detail, slug, words, item.rank)


def _rate_of(item: Ranked) -> Rate | None:
    """Tokens/s that each user sees, or that are read where nothing is written."""
    return item.user_rate or item.decode or item.read


def _likely(rate: Rate | None) -> float | None:
    return None if rate is None else rate.likely


def _amount(rate: Rate | None, words: Words) -> Markup:
    """Write a likely figure with its band."""
    if rate is None:
        return piece("unknown", DASH)
    return piece("amount", words.speed(rate.likely), [words.band(rate)])


def _part(memory: Breakdown, name: str, marks: Mapping[str, Markup], words: Words) -> Markup:
    """Write the GiB of a part of memory, and where the number is from."""
    return piece("marked", words.gib(memory.likely_bytes[name]), marks[memory.provenance[name]])


def _estimates(marks: Mapping[str, Markup], words: Words) -> Columns[EstimateRow]:
    def part(name: str) -> Callable[[EstimateRow], Markup]:
        return lambda row: _part(row.estimate.all_gpus, name, marks, words)

    return {
        "quant": lambda row: piece("quant", words, row),
        "bits": lambda row: words.number(row.bits_per_weight, ".2f"),
        "quality": lambda row: loss_cell(quality_at(row.estimate), words),
        **{name: part(name) for name in PARTS},
        "total": lambda row: piece("strong", words.gib(row.estimate.all_gpus.total.likely)),
        "band": lambda row: words.gib_band(row.estimate.all_gpus.total),
        "engine": lambda row: row.estimate.engine.name,
    }


_COLUMNS: tuple[Column[Ranked], ...] = (
    marked("gpu", lambda it: f"{boards_name(it.fit.gpu, it.fit.count)} {it.fit.gpu.slug}", _gpu),
    marked(
        "speed",
        lambda it: _likely(_rate_of(it)),
        lambda it, words: _amount(_rate_of(it), words),
        width=88,
    ),
    marked(
        "drawn",
        lambda it: _likely(it.drawn),
        lambda it, words: _amount(it.drawn, words),
        width=104,
        ascending=True,
    ),
    marked(
        "buy",
        lambda it: it.costs.buy_usd,
        lambda it, words: price_cell(it.costs, words),
        width=160,
        ascending=True,
    ),
    marked(
        "rent",
        lambda it: it.costs.rent_usd_per_hour,
        lambda it, words: rent_cell(it.costs, words),
        width=160,
        ascending=True,
    ),
    numbers("headroom", lambda it: it.fit.config.headroom_bytes, Words.gib, GIB, 2, width=104),
    numbers("power", lambda it: it.power_watts, Words.whole, width=90, ascending=True),
)
RANKING_COLUMNS = tuple(column for column in _COLUMNS if column.name != "drawn")
"""The grid of every GPU that runs a model, in the report's order."""


def ranking_columns(ranking: Sequence[Ranked]) -> Sequence[Column[Ranked]]:
    """Return the columns of a ranking: seconds of a picture where models draw, no speed where no
    model of it writes or reads tokens."""
    usual = Usual.from_ranking(ranking) if ranking else Usual()
    first = replace(_COLUMNS[0], write=lambda item, words: _gpu(item, words, usual))
    unknown = {"drawn"}
    if not any(map(_rate_of, ranking)):
        drawn = any(item.drawn is not None for item in ranking)
        unknown = {"speed"} if drawn else {"speed", "drawn"}
    return [first, *(column for column in _COLUMNS[1:] if column.name not in unknown)]
