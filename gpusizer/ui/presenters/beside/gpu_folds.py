"""What stands below GPUs side by side, a fold for each: what would make the model fit, the command
that starts it, what making its quantization takes, and what it can be checked by: runs that others
published, a command that measures it; and the Markdown of its badge."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from gpusizer.advice.next_steps import Suggestion
from gpusizer.advice.ranking import Ranked
from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note
from gpusizer.fit.losses import quality_at
from gpusizer.fit.verdict import Verdict
from gpusizer.launch import launch_command
from gpusizer.launch.benchmark import benchmark_of
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.ui.presenters.badge import badge_markdown
from gpusizer.ui.presenters.beside.side_cells import boards_name
from gpusizer.ui.presenters.pieces.html import Html, bullets, el, fold, join
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.starting import loading_text
from gpusizer.usecases.comparison import ComparedGpu, Comparison
from gpusizer.usecases.published_runs import MEMORY, SPEEDS, PublishedRun, runs_on
from gpusizer.usecases.quantization_job import quantization_job

SUGGESTED = 4
"""Number of suggestions for a GPU; the JSON has all."""
SHOWN = 3
"""Number of published runs on a card; the JSON has all."""


@dataclass(frozen=True, slots=True)
class Sized:
    """A model on the boards of a card."""

    profile: ModelProfile
    workload: Workload
    ranked: Ranked


def evidence_html(sized: Sized, words: Words) -> Html | None:
    """Write published runs, the command that measures a card, and a badge; None without any."""
    parts = [part(sized, words) for part in (_published, _benchmark, _badge)]
    return join(parts) or None


def _badge(sized: Sized, words: Words) -> Html | None:
    fit = sized.ranked.fit
    markdown = badge_markdown(sized.profile.repo_id, fit.gpu.slug, fit.count)
    if markdown is None:
        return None
    return fold(words("badge.title"), words.code("Markdown", markdown), class_="gs-badge")


def _published(sized: Sized, words: Words) -> Html | None:
    runs = runs_on(sized.profile, sized.ranked.fit)
    if not runs:
        return None
    # Runs that differ only in address, or in settings that a line does not name, are one line.
    by_line = {(run.source, *_facts(run, words)): run for run in reversed(runs)}
    shown = list(reversed(by_line.values()))[:SHOWN]
    return el(
        "div",
        el("h4", words("published.title")),
        bullets((_run(run, words) for run in shown), "gs-notes"),
        class_="gs-published gs-small",
    )


def _run(run: PublishedRun, words: Words) -> Html:
    """Write what was measured, its settings, its source with its date, and whether it is blind."""
    measured, said = _facts(run, words)
    is_web = urlsplit(run.source_url).scheme == "https"
    source = el("a", run.source, href=run.source_url, rel="noreferrer") if is_web else run.source
    return join((measured, " — ", source, f" · {said}" if said else None))


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


def _benchmark(sized: Sized, words: Words) -> Html | None:
    command = benchmark_of(sized.profile, sized.ranked, sized.workload)
    if command is None:
        return None
    expected = [
        words(
            "benchmark.expected",
            run=str(expectation.run),
            printed=expectation.printed,
            likely=words.speed(expectation.rate.likely),
            unit=expectation.unit,
            low=words.speed(expectation.rate.low),
            high=words.speed(expectation.rate.high),
        )
        for expectation in command.expected
    ]
    return fold(
        words("benchmark.title"),
        words.code(sized.ranked.fit.estimate.engine.name, command.text, "bash"),
        bullets(expected, "gs-notes"),
        words.listed(command.notes, "gs-notes"),
        el("h4", words("benchmark.less")) if command.when_less else None,
        words.listed(command.when_less, "gs-notes"),
        class_="gs-benchmark",
    )


def launch_html(sized: Sized, words: Words) -> Html | None:
    """Write the command as a folded block, or that there is none and why; None where the model does
    not run."""
    ranked = sized.ranked
    if ranked.fit.verdict is Verdict.DOES_NOT_FIT:
        return None
    try:
        command = launch_command(sized.profile, ranked.fit.config, sized.workload)
    except GpusizerError:
        return None  # a name that the Hub cannot have, and so no command may contain
    if not command.text:
        return el(
            "div",
            el("p", words("launch.none"), class_="gs-small"),
            words.listed(command.notes, "gs-notes"),
            class_="gs-launch",
        )
    engine = ranked.fit.estimate.engine.name
    return fold(
        words("launch.title"),
        words.code(engine, command.text, command.language),
        words.listed(command.notes, "gs-notes"),
        el("p", _loading(ranked, words), class_="gs-small"),
        class_="gs-launch",
    )


def _quantizing(sized: Sized, words: Words) -> Html | None:
    """Write what making the quantization takes, and the commands; None for one that is stored."""
    fit = sized.ranked.fit
    making = quantization_job(sized.profile, fit.estimate, fit.gpu)
    if making is None:
        return None
    command = making.command
    return fold(
        words("quantizing.title", quant=fit.estimate.quant.name),
        words.listed(making.notes, "gs-notes"),
        words.code(making.made.tool, command.text, command.language) if command else None,
        class_="gs-quantizing",
    )


def _loading(ranked: Ranked, words: Words) -> str:
    """Write how long weights take to download and to load."""
    return words("launch.loading", loading=loading_text(ranked, words))


def gpu_folds_html(comparison: Comparison, words: Words) -> Html | None:
    """Write a fold for each GPU that a model is sized on, open where it is the only one; None
    without a model."""
    profile, workload = comparison.profile, comparison.workload
    if profile is None or workload is None:
        return None
    sized = [
        (item, Sized(profile, workload, item.ranked))
        for item in comparison.items
        if item.ranked is not None
    ]
    folds = [_fold(it, item, words, opened=len(sized) == 1) for item, it in sized]
    return el("div", join(folds), class_="gs-folds") if folds else None


def _fold(sized: Sized, item: ComparedGpu, words: Words, *, opened: bool) -> Html:
    starts = sized.ranked.fit.verdict is Verdict.FITS
    title = "cards.starts" if starts else "cards.would_fit"
    return fold(
        words(title, gpu=boards_name(item, words)),
        _advice(sized.ranked, words),
        launch_html(sized, words),
        _quantizing(sized, words),
        evidence_html(sized, words),
        words.listed(_reasons(sized.ranked), "gs-notes"),
        class_="gs-gpu-fold",
        data_gpu=item.gpu.slug,
        open=opened or None,
    )


def _reasons(ranked: Ranked) -> list[Note]:
    """Choose the reasons to show: without the verdict and without what the advice says already.

    Caveats on what the quantization loses come after them.
    """
    advised = any(suggestion.note.code == "try_offload" for suggestion in ranked.advice[:SUGGESTED])
    reasons = [note for note in ranked.reasons[1:] if not advised or note.code != "layers_that_fit"]
    return [*reasons, *quality_at(ranked.fit.estimate).caveats]


def _advice(ranked: Ranked, words: Words) -> Html | None:
    """Write what would make the model fit, least costly first; None where it fits."""
    items = (_suggestion(suggestion, words) for suggestion in ranked.advice[:SUGGESTED])
    listed = bullets(items, tag="ol")
    if ranked.fit.verdict is Verdict.FITS:
        return el("div", listed, class_="gs-advice") if listed else None
    state = "safer" if ranked.fit.verdict is Verdict.TIGHT else "fit"
    alone = any(suggestion.enough for suggestion in ranked.advice)
    title = el("h4", words(f"advice.{state}" if alone else "advice.none"))
    return el("div", title, listed, class_="gs-advice")


def _suggestion(suggestion: Suggestion, words: Words) -> Html:
    key = "advice.after" if suggestion.enough or suggestion.headroom_bytes >= 0 else "advice.short"
    after = words(
        key,
        saving=words.amount(suggestion.saving_bytes),
        headroom=words.amount(abs(suggestion.headroom_bytes)),
    )
    return join((words.note(suggestion.note), el("small", after)))
