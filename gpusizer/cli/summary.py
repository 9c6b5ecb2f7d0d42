"""Answers in forty lines of a terminal: the conclusion, the main rows and the assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpusizer.advice.conclusion.clauses import Conclusion, is_text
from gpusizer.advice.ranking import Ranked
from gpusizer.cli.output import (
    UNKNOWN,
    Columns,
    boards_text,
    gib,
    gib_span,
    lines_text,
    number,
    span,
    table,
    verdict_text,
)
from gpusizer.core.messages import Note
from gpusizer.fit.losses import quality_at
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, PlanCosts, plan_costs
from gpusizer.gpus.purpose import purpose_of
from gpusizer.launch.start import Start
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.model.profile import ModelProfile
from gpusizer.serving.serving_rows import Replicas
from gpusizer.text import say_note, text
from gpusizer.training.ranking import RankedTraining
from gpusizer.usecases.comparison import Comparison, GpuListing
from gpusizer.usecases.models_for.models_answer import ModelsFor, RunsOn
from gpusizer.usecases.quantization_job import QuantizationJob
from gpusizer.usecases.report import EstimateRow, Report
from gpusizer.usecases.starting import start_of_report
from gpusizer.usecases.training_report import TrainingEstimateRow, TrainingReport

_QUANTS = 6
_ROWS = 10
_FEWEST_ROWS = 5  # below a command of several lines
_WEIGHED = 8
_NOTES = 4
_MAKINGS = 2
_YOURS = "your price"
MORE = "All of it: --details. For programs: --json. More options: --help-all."


def loss_word(estimate: MemoryEstimate) -> str:
    """Write the loss in words alone: "small loss"."""
    return say_note(quality_at(estimate).label)


def loss_text(estimate: MemoryEstimate) -> str:
    """Write the loss in words with the band of the perplexity increase: "small loss, 1-4 %"."""
    percent = quality_at(estimate).percent
    return f"{loss_word(estimate)}, {span(percent)} %" if percent else loss_word(estimate)


def price_cell(costs: PlanCosts) -> str:
    """Write the price to buy with its range, condition and date for a cell."""
    buy = costs.buy
    if buy is None:
        return UNKNOWN
    if costs.buy_is_own:
        return f"{costs.buy_usd:,.0f} ({_YOURS})"
    low, high = costs.of_all(buy.low_usd), costs.of_all(buy.high_usd)
    spread = "" if low is None or high is None or low == high else f"{low:,.0f}-{high:,.0f} "
    old = ", old" if costs.buy_is_old else ""
    kind = buy.condition or buy.basis
    return f"{costs.buy_usd:,.0f} ({spread}{kind} {costs.buy_as_of}{old})"


def rent_cell(costs: PlanCosts) -> str:
    """Write the likely rent of an hour with the providers' range and the date."""
    usd, low, high = (costs.rented(f"{name}_usd") for name in ("likely", "low", "high"))
    if costs.rent is None or usd is None:
        return UNKNOWN
    if costs.rent.own:
        return f"{usd:.2f} ({_YOURS})"
    spread = "" if low is None or high is None or low == high else f"{low:.2f}-{high:.2f} "
    return f"{usd:.2f} ({spread}{costs.rent.as_of})"


_MEMORY: Columns[EstimateRow] = {
    "quantization": lambda row: row.estimate.quant.name + (" *" if row.estimate.native else ""),
    "loss": lambda row: loss_text(row.estimate),
    "weights GiB": lambda row: gib(row.estimate.all_gpus.weights.likely),
    "total GiB": lambda row: gib(row.estimate.all_gpus.total.likely),
    "low-high": lambda row: gib_span(row.estimate.all_gpus.total),
    "engine": lambda row: row.estimate.engine.slug,
}
_PLACES: Columns[Ranked] = {
    "GPUs": lambda item: boards_text(item.fit.count, item.fit.gpu),
    "quantization": lambda item: item.fit.estimate.quant.name,
    "loss": lambda item: loss_word(item.fit.estimate),
    "verdict": lambda item: verdict_text(item.fit.verdict),
    "spare GiB": lambda item: gib(item.fit.headroom_bytes, 1, unknown="-"),
    "tok/s a user": lambda item: span(item.user_rate or item.decode),
    "max context": lambda item: number(item.longest_context),
    "s a picture": lambda item: span(item.drawn),
    "buy USD": lambda item: price_cell(item.costs),
    "rent USD/h": lambda item: rent_cell(item.costs),
}
_OF_TEXT = ("tok/s a user", "max context")
_OF_PICTURES = ("s a picture",)
_REPLICAS: Columns[Replicas] = {
    "GPUs": lambda row: boards_text(row.total_boards, row.gpu),
    "replicas": lambda row: f"{row.replicas} x {row.boards}",
    "quantization": lambda row: row.estimate.quant.name,
    "loss": lambda row: loss_word(row.estimate),
    "engine": lambda row: row.estimate.engine.slug,
    "first token s": lambda row: f"{row.ttft_seconds[0]:g}",
    "tok/s a user": lambda row: f"{row.user_tokens_per_second:g}",
    "buy USD": lambda row: price_cell(row.costs),
    "rent USD/h": lambda row: rent_cell(row.costs),
}
_CARDS: Columns[Gpu] = {
    "GPU": lambda gpu: gpu.name,
    "usable GiB": lambda gpu: gib(gpu.memory_bytes, 1),
    "GB/s": lambda gpu: number(gpu.bandwidth_bytes_per_second, of=10**9),
    "FP16 TFLOPS": lambda gpu: number(gpu.fp16_flops, ",.0f", of=10**12),
    "W": lambda gpu: number(gpu.power_watts),
    "buy USD": lambda gpu: price_cell(plan_costs(gpu, 1, None, DEFAULT_ASSUMPTIONS)),
    "rent USD/h": lambda gpu: rent_cell(plan_costs(gpu, 1, None, DEFAULT_ASSUMPTIONS)),
}
_LISTED: Columns[Gpu] = {
    "slug": lambda gpu: gpu.slug,
    **_CARDS,
    "for": lambda gpu: text(f"purpose.{purpose_of(gpu).label}", "en"),
}
_METHODS: Columns[TrainingEstimateRow] = {
    "method": lambda row: row.plan.method + (" *" if row.asked else ""),
    "trained": lambda row: f"{row.memory.trainable:,}",
    "each GPU GiB": lambda row: gib(row.memory.needed.likely),
    "low-high": lambda row: gib_span(row.memory.needed),
}
_TRAINED: Columns[RankedTraining] = {
    "GPUs": lambda item: boards_text(item.fit.count, item.fit.gpu),
    "framework": lambda item: item.fit.plan.framework,
    "divided": lambda item: item.fit.plan.sharding,
    "verdict": lambda item: verdict_text(item.fit.verdict),
    "spare GiB": lambda item: gib(item.fit.headroom_bytes, 1),
    "tok/s": lambda item: span(item.rate, ",.0f"),
    "hours": lambda item: number(item.cost.hours, ",.3g"),
    "rent USD": lambda item: number(item.cost.usd, ",.3g"),
}
_MODELS: Columns[RunsOn] = {
    "model": lambda row: row.runs.profile.repo_id,
    "quantization": lambda row: row.runs.config.estimate.quant.name,
    "loss": lambda row: loss_word(row.runs.config.estimate),
    "engine": lambda row: row.runs.config.estimate.engine.slug,
    "runs": lambda row: say_note(Note(f"how_{row.runs.how}")),
    "spare GiB": lambda row: gib(row.spare_bytes, 1, unknown="-"),
    "tok/s": lambda row: span(row.decode),
    "max context": lambda row: number(row.max_context),
}


def size_summary(report: Report) -> str:
    """Write the command, six quantizations and up to ten GPUs or rows of a plan."""
    plan, start = report.serving_plan, _start_lines(start_of_report(report))
    most = max(_FEWEST_ROWS, _ROWS - len(start[2:]))
    rows = table(_REPLICAS, plan.rows[:most]) if plan and plan.rows else ""
    if plan is None and report.ranking:
        rows = table(_places_of(report.profile), report.ranking[:most])
    return _joined(
        report.conclusion,
        [lines_text(start), table(_MEMORY, usual_rows(report)), rows]
        + [_making_text(making) for making in _makings(report)],
        (*report.profile.caveats, *report.notes),
    )


def _start_lines(start: Start | None) -> list[str]:
    # A command to copy. If it lacks a publisher, the Hub's list of copies follows; a snippet of
    # Python is left to --details.
    if start is None or not start.line.text:
        return []
    name = ENGINES[start.line.engine].name
    title = text("page.start.title", "en", engine=name)
    if start.line.language != "bash":
        return [f"{title}: --details"]
    lines = [f"{title}:", *(f"  {line}" for line in start.line.text.splitlines())]
    if start.is_listed:
        lines.append(f"{text('page.start.publisher', 'en')} {start.listing}")
    return [*lines, f"{text('page.start.install', 'en', engine=name)}: {start.install}"]


def _makings(report: Report) -> Iterable[QuantizationJob]:
    # The first few with different quantizations.
    unlike = {making.made.quant.slug: making for making in reversed(report.makings)}
    return list(reversed(unlike.values()))[:_MAKINGS]


def _making_text(making: QuantizationJob) -> str:
    title = text("page.quantizing.title", "en", quant=making.made.quant.name)
    return lines_text([title, *(f"- {say_note(note)}" for note in making.notes)])


def usual_rows(report: Report) -> Sequence[EstimateRow]:
    """Return the usual quantization of each width, at most six rows.

    Stored files and the first rank's quantization come before others, its engine before others.
    """
    rows = report.estimates
    if len(rows) <= _QUANTS:
        return rows
    first = report.ranking[0].fit.estimate if report.ranking else None
    if report.serving_plan is not None and report.serving_plan.rows:
        first = report.serving_plan.rows[0].estimate

    def strangeness(row: EstimateRow) -> tuple[bool, bool, bool]:
        estimate = row.estimate
        is_firsts = first is not None and estimate.quant == first.quant
        of_engine = first is not None and estimate.engine == first.engine
        return not (is_firsts or estimate.native), not of_engine, not estimate.quant.recommended

    of_width: dict[int, EstimateRow] = {}
    for row in sorted(rows, key=strangeness):
        of_width.setdefault(round(row.estimate.quant.bits), row)
    kept = [
        row for row in of_width.values() if row.estimate.quant.bits <= 16 or row.estimate.native
    ]
    chosen = sorted(kept, key=strangeness)[:_QUANTS]
    return [row for row in rows if row in chosen]


def compare_summary(comparison: Comparison) -> str:
    """Write how the model runs on each GPU, or the figures of the GPUs without one."""
    places = [item.ranked for item in comparison.items if item.ranked is not None]
    if comparison.profile is None:
        shown = table(_CARDS, [item.gpu for item in comparison.items])
        return _joined(comparison.conclusion, [shown], ())
    shown = table(_places_of(comparison.profile), places)
    return _joined(comparison.conclusion, [shown], comparison.profile.caveats)


def _places_of(profile: ModelProfile) -> Columns[Ranked]:
    # A model without text output has no tokens to count, one without pictures no time for them.
    without = {*([] if is_text(profile) else _OF_TEXT), *([] if profile.pipeline else _OF_PICTURES)}
    return {name: write for name, write in _PLACES.items() if name not in without}


def train_summary(report: TrainingReport) -> str:
    """Write the memory by method and ten GPUs."""
    ranking = report.ranking[:_ROWS]
    tables = [table(_METHODS, report.estimates), table(_TRAINED, ranking) if ranking else ""]
    return _joined(report.conclusion, tables, (*report.profile.caveats, *report.notes))


def models_summary(answer: ModelsFor) -> str:
    """Write the first models; other models of their families are in the details."""
    rows = answer.rows[: 2 * _ROWS]
    columns = {**_MODELS}
    if answer.is_rig:
        columns |= {"RAM GiB": lambda row: gib(row.ram_bytes, 1)}
    if answer.request.work is not None:
        columns |= {"above": _share}
    return _joined(answer.conclusion, [table(columns, rows) if rows else ""], answer.notes)


def _share(row: RunsOn) -> str:
    # Share of open models with a lower score, on the first board that lists the model.
    score = row.scored.measured.first if row.scored else None
    if score is None or score.share is None:
        return "not measured"
    return f"{100 * score.share:.0f} % {score.board.board}"


def listing_text(listing: GpuListing) -> str:
    """Write the catalogue or a part of it, or why the part is empty."""
    return (
        table(_LISTED, listing.gpus) if listing.gpus else lines_text(map(say_note, listing.notes))
    )


def _joined(conclusion: Conclusion, tables: Iterable[str], notes: Sequence[Note]) -> str:
    weighed = [f"- {say_note(note)}" for note in conclusion.weighed[:_WEIGHED]]
    new = [note for note in notes if note not in conclusion.said]
    remarks = [f"! {say_note(note)}" for note in new[:_NOTES]]
    said = lines_text([conclusion.sentence(say_note), *weighed])
    return "\n\n".join(filter(None, (said, *tables, lines_text(remarks), MORE)))


# by command
SUMMARIES: dict[str, Callable[..., str]] = {
    "size": size_summary,
    "gpus": listing_text,
    "compare": compare_summary,
    "train": train_summary,
    "models-for": models_summary,
}
