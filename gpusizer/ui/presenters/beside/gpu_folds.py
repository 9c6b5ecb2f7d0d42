"""Folds below GPUs side by side, one for each: changes that make the model fit, the command that
starts it, the making of its quantization, published runs, a benchmark, its badge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from markupsafe import Markup

from gpusizer.advice.next_steps import Suggestion
from gpusizer.advice.ranking import Ranked
from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note
from gpusizer.fit.losses import quality_at
from gpusizer.fit.verdict import Verdict
from gpusizer.launch import LaunchCommand, launch_command
from gpusizer.launch.benchmark import Benchmark, Expectation, benchmark_of
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.ui.presenters.badge import badge_markdown
from gpusizer.ui.presenters.beside.side_cells import boards_name
from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.starting import loading_text
from gpusizer.usecases.comparison import ComparedGpu, Comparison
from gpusizer.usecases.published_runs import MEMORY, SPEEDS, PublishedRun, runs_on
from gpusizer.usecases.quantization_job import QuantizationJob, quantization_job

SUGGESTED = 4
"""Number of suggestions for a GPU; the JSON has all."""
SHOWN = 3
"""Number of published runs on a card; the JSON has all."""


@dataclass(frozen=True, slots=True)
class _Run:
    """A published run: what was measured, its source, and what is known of its settings."""

    measured: str
    source: str
    href: str
    said: str


@dataclass(frozen=True, slots=True)
class _Fold:
    """The fold of one GPU; a part that it lacks is empty or None.

    Attributes:
        suggestions: what would make the model fit, least costly first, and what each leaves free.
        launch: the command, or notes on why it has no text.
        making: what making the quantization takes.
        expected: what the benchmark prints.
        badge: Markdown.
    """

    title: str
    slug: str
    engine: str
    quant: str
    advice_title: str
    suggestions: Sequence[tuple[str, str]]
    launch: LaunchCommand | None
    loading: str
    making: QuantizationJob | None
    runs: Sequence[_Run]
    benchmark: Benchmark | None
    expected: Sequence[str]
    badge: str | None
    reasons: Sequence[Note]


def gpu_folds_html(comparison: Comparison, words: Words) -> Markup | None:
    """Write a fold for each GPU that a model is sized on, open where it is the only one; None
    without a model."""
    profile, workload = comparison.profile, comparison.workload
    if profile is None or workload is None:
        return None
    folds = [
        _fold(profile, workload, item, item.ranked, words)
        for item in comparison.items
        if item.ranked is not None
    ]
    return render("gpu_folds.html", words, folds=folds) if folds else None


def _fold(
    profile: ModelProfile, workload: Workload, item: ComparedGpu, ranked: Ranked, words: Words
) -> _Fold:
    fit = ranked.fit
    starts = fit.verdict is Verdict.FITS
    benchmark = benchmark_of(profile, ranked, workload)
    return _Fold(
        title=words("cards.starts" if starts else "cards.would_fit", gpu=boards_name(item, words)),
        slug=item.gpu.slug,
        engine=fit.estimate.engine.name,
        quant=fit.estimate.quant.name,
        advice_title="" if starts else words(f"advice.{_advice(ranked)}"),
        suggestions=[_suggestion(suggestion, words) for suggestion in ranked.advice[:SUGGESTED]],
        launch=_launch(profile, ranked, workload),
        loading=_loading(ranked, words),
        making=quantization_job(profile, fit.estimate, fit.gpu),
        runs=_published(profile, ranked, words),
        benchmark=benchmark,
        expected=[_expected(one, words) for one in benchmark.expected] if benchmark else (),
        badge=badge_markdown(profile.repo_id, fit.gpu.slug, fit.count),
        reasons=_reasons(ranked),
    )


def _published(profile: ModelProfile, ranked: Ranked, words: Words) -> list[_Run]:
    # Runs that differ only in address, or in settings that a line does not name, are one line.
    runs = reversed(runs_on(profile, ranked.fit))
    by_line = {(run.source, *_facts(run, words)): run for run in runs}
    shown = list(reversed(by_line.items()))[:SHOWN]
    return [_Run(measured, source, _web(run), said) for (source, measured, said), run in shown]


def _web(run: PublishedRun) -> str:
    """Return the address of a run's source, "" for one outside of the web."""
    return run.source_url if urlsplit(run.source_url).scheme == "https" else ""


def _facts(run: PublishedRun, words: Words) -> tuple[str, str]:
    """Write what was measured in how much context, and what is known of the run."""
    amounts = [
        words(f"published.{name}", value=write(run.measured[name]))
        for names, write in ((SPEEDS, words.speed), (MEMORY, words.amount))
        for name in names
        if name in run.measured
    ]
    context = run.settings.get("context")
    if isinstance(context, int):
        amounts.append(words("published.context", tokens=words.whole(context)))
    details = [str(run.settings.get("engine_version", "")), run.date]
    if run.used_in_fit is not None:
        details.append(words("published.fitted" if run.used_in_fit else "published.unfitted"))
    return " · ".join(amounts), " · ".join(detail for detail in details if detail)


def _expected(expectation: Expectation, words: Words) -> str:
    """Write a number that the benchmark prints, and its band."""
    return words(
        "benchmark.expected",
        run=str(expectation.run),
        printed=expectation.printed,
        likely=words.speed(expectation.rate.likely),
        unit=expectation.unit,
        low=words.speed(expectation.rate.low),
        high=words.speed(expectation.rate.high),
    )


def _launch(profile: ModelProfile, ranked: Ranked, workload: Workload) -> LaunchCommand | None:
    """Return the command, or one without text but with notes; None if the model does not fit."""
    if ranked.fit.verdict is Verdict.DOES_NOT_FIT:
        return None
    try:
        return launch_command(profile, ranked.fit.config, workload)
    except GpusizerError:
        return None  # a name that the Hub cannot have, and so no command may contain


def _loading(ranked: Ranked, words: Words) -> str:
    """Write how long weights take to download and to load."""
    return words("launch.loading", loading=loading_text(ranked, words))


def _reasons(ranked: Ranked) -> list[Note]:
    """Choose the reasons to show: without the verdict and without what the advice says already.

    Caveats on what the quantization loses come after them.
    """
    advised = any(suggestion.note.code == "try_offload" for suggestion in ranked.advice[:SUGGESTED])
    reasons = [note for note in ranked.reasons[1:] if not advised or note.code != "layers_that_fit"]
    return [*reasons, *quality_at(ranked.fit.estimate).caveats]


def _advice(ranked: Ranked) -> str:
    """Return the key of what is said above the suggestions."""
    if not any(suggestion.enough for suggestion in ranked.advice):
        return "none"
    return "safer" if ranked.fit.verdict is Verdict.TIGHT else "fit"


def _suggestion(suggestion: Suggestion, words: Words) -> tuple[str, str]:
    key = "advice.after" if suggestion.enough or suggestion.headroom_bytes >= 0 else "advice.short"
    after = words(
        key,
        saving=words.amount(suggestion.saving_bytes),
        headroom=words.amount(abs(suggestion.headroom_bytes)),
    )
    return words.note(suggestion.note), after
