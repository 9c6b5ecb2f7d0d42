"""The answer on fine-tuning: memory by method, savings, GPUs, hours and prices."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from gpusizer.advice.conclusion.clauses import boards_name
from gpusizer.training.fit import SPARING_NAME
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.ranking import RankedTraining
from gpusizer.ui.presenters.beside.bars import MemoryBar, memory_bars
from gpusizer.ui.presenters.charts.numbers import numbers_table
from gpusizer.ui.presenters.conclusion import concluded_of
from gpusizer.ui.presenters.pieces.grid import known
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.templates import Columns, piece, render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.prices import rent_terms
from gpusizer.usecases.figures.memory import Capacity
from gpusizer.usecases.training_report import TrainingEstimateRow, TrainingReport, method_name

_RANKED = 20
_PARTS = ("weights", "gradients", "optimizer", "activations", "overhead")


def training_html(report: TrainingReport, words: Words) -> Markup:
    """Write the headline, then the picture, the ladder of savings and the GPUs."""
    requested = next((row for row in report.estimates if row.asked), report.estimates[0])
    needs = {method_name(row.plan.method): row.memory for row in report.estimates}
    bars = [bar_of(method, memory) for method, memory in needs.items()]
    return render(
        "training.html",
        words,
        report=report,
        said=concluded_of(report.conclusion, words),
        details=_details(report, requested, words),
        bars=memory_bars(bars, _PARTS, _capacities(report), words),
        numbers=_numbers(bars, words),
        columns=_columns(words),
        ranking=report.ranking[:_RANKED],
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


def _numbers(bars: Sequence[MemoryBar], words: Words) -> Markup:
    """Write the numbers of the picture."""
    parts = {
        f"{words(f'part.{part}')} (GiB)": [words.gib(bar.parts[part]) for bar in bars]
        for part in _PARTS
    }
    columns = {
        words("column.method"): [bar.name for bar in bars],
        **parts,
        words("column.total"): [words.gib(bar.total.likely) for bar in bars],
    }
    return numbers_table(words("pictures.training.title"), columns, words)


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


def _columns(words: Words) -> Columns[RankedTraining]:
    def digits(number: float) -> str:
        return words.number(number, ",.3g")

    return {
        "rank": lambda item: str(item.rank),
        "gpu": lambda item: piece("boards", boards_name(item.fit.gpu, item.fit.count), _how(item)),
        "verdict": lambda item: piece("verdict", words, item.fit.verdict),
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
    return piece("figure", words.usd(usd), terms)
