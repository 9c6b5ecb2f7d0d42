"""The answer on fine-tuning: memory by method, savings, GPUs, hours and prices."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from gpusizer.advice.conclusion.clauses import boards_name
from gpusizer.training.fit import SPARING_NAME
from gpusizer.training.mitigations import Mitigation
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.ranking import RankedTraining
from gpusizer.ui.presenters.beside.bars import MemoryBar, memory_bars
from gpusizer.ui.presenters.charts.numbers import heading, numbers_table
from gpusizer.ui.presenters.conclusion import conclusion_html
from gpusizer.ui.presenters.pieces.grid import known
from gpusizer.ui.presenters.pieces.html import bullets, el, join, section, small
from gpusizer.ui.presenters.pieces.marks import verdict_badge
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.table import Columns, table_html
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.prices import rent_terms
from gpusizer.usecases.figures.memory import Capacity
from gpusizer.usecases.training_report import TrainingEstimateRow, TrainingReport, method_name

_RANKED = 20
_PARTS = ("weights", "gradients", "optimizer", "activations", "overhead")


def training_html(report: TrainingReport, words: Words) -> Markup:
    """Write the headline, then the picture, the ladder of savings and the GPUs."""
    requested = next((row for row in report.estimates if row.asked), report.estimates[0])
    return section(
        "training",
        el("p", report.profile.repo_id, class_="gs-eyebrow"),
        conclusion_html(report.conclusion, words),
        el("p", _details(report, requested, words), class_="gs-lead"),
        words.listed(report.notes, "gs-notes"),
        _picture(report, words),
        _ladder(report.ladder, words),
        _ranking(report.ranking, words),
    )


def _first(report: TrainingReport) -> RankedTraining | None:
    """Return the first place where it holds the training."""
    first = report.ranking[0] if report.ranking else None
    return first if first is not None and first.fit.verdict.all_on_gpu else None


def _how(item: RankedTraining) -> str:
    """Write the method, a framework that was not asked for, and what is divided how."""
    plan = item.fit.plan
    framework = [SPARING_NAME] if item.fit.spared else []
    divided = [] if plan.sharding == "none" else [plan.sharding.upper()]
    return " · ".join((method_name(plan.method), *framework, *divided))


def _details(report: TrainingReport, requested: TrainingEstimateRow, words: Words) -> str:
    first = _first(report)
    memory = requested.memory if first is None else first.fit.memory
    need, plan = memory.needed, report.plan
    return words(
        "train.details",
        low=words.amount(need.low),
        high=words.amount(need.high),
        sequence=words.whole(plan.sequence_length),
        batch=plan.micro_batch,
        trained=words.count(memory.trainable),
    )


def _picture(report: TrainingReport, words: Words) -> Markup:
    """Draw a bar for each method, and write its numbers."""
    title = words("pictures.training.title")
    rows = {method_name(row.plan.method): row.memory for row in report.estimates}
    bars = [bar_of(method, memory) for method, memory in rows.items()]
    columns = {
        words("column.method"): list(rows),
        **{
            f"{words(f'part.{part}')} (GiB)": [words.gib(bar.parts[part]) for bar in bars]
            for part in _PARTS
        },
        words("column.total"): [words.gib(bar.total.likely) for bar in bars],
    }
    return join(
        (
            heading(title, words("pictures.training.lead")),
            memory_bars(bars, _PARTS, _capacities(report), words),
            numbers_table(title, columns, words),
        )
    )


def bar_of(name: str, memory: TrainingMemory) -> MemoryBar:
    """Return a bar as long as the need of a GPU by which verdicts are judged: the bytes of tensors
    by kind; buffers and the runtime are overhead."""
    working = (memory.activations + memory.logits).likely
    overhead = (memory.buffers + memory.overhead).likely
    parts = {
        "weights": memory.weights.likely,
        "gradients": memory.gradients.likely,
        "optimizer": memory.optimizer.likely,
        "activations": working,
        "overhead": overhead,
    }
    return MemoryBar(name, parts, memory.needed)


def _capacities(report: TrainingReport) -> list[Capacity]:
    """Return the capacities of the GPUs that the request names."""
    if not report.request.gpus:
        return []
    gpus = {item.fit.gpu.slug: item.fit.gpu for item in report.ranking}
    return [Capacity(gpu.name, gpu.device_free_bytes) for gpu in gpus.values()]


def _ladder(mitigations: Sequence[Mitigation], words: Words) -> Markup | None:
    if not mitigations:
        return None
    items = (
        join((words.note(mitigation.note), " ", small(_gain(mitigation, words))))
        for mitigation in mitigations
    )
    return el("div", el("h3", words("train.ladder")), bullets(items, "gs-ladder", "ol"))


def _gain(mitigation: Mitigation, words: Words) -> str:
    saving, total = words.amount(mitigation.saving_bytes), words.amount(mitigation.total_bytes)
    return words("train.rung", saving=saving, total=total)


def _ranking(ranking: Sequence[RankedTraining], words: Words) -> Markup:
    if not ranking:
        return el("p", words("train.nothing"), class_="gs-empty")
    return el(
        "div",
        el("h3", words("train.gpus")),
        table_html(_columns(words), ranking[:_RANKED], words, "gs-ranked"),
    )


def _boards(item: RankedTraining) -> Markup:
    name = boards_name(item.fit.gpu, item.fit.count)
    return join((el("strong", name), el("small", _how(item))))


def _columns(words: Words) -> Columns[RankedTraining]:
    def digits(number: float) -> str:
        return words.number(number, ",.3g")

    return {
        "rank": lambda item: str(item.rank),
        "gpu": _boards,
        "verdict": lambda item: verdict_badge(item.fit.verdict, words),
        "headroom": lambda item: words.gib(item.fit.headroom_bytes),
        "train_speed": lambda item: known(item.rate.likely if item.rate else None, words.speed),
        "hours": lambda item: known(item.cost.hours, digits),
        "usd": lambda item: _rent(item, words),
        "energy": lambda item: known(item.cost.energy_kwh, digits),
    }


def _rent(item: RankedTraining, words: Words) -> Markup | str:
    """Write the rent of the run; small print has that of an hour, with its range and date."""
    usd, hourly = item.cost.usd, item.costs.rent_usd_per_hour
    if usd is None or hourly is None:
        return DASH
    terms = f"{words('per_hour', price=words.usd(hourly))} · {rent_terms(item.costs, words)}"
    return join((words.usd(usd), el("small", terms)))
