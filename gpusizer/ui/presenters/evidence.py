"""What a card can be checked by: runs that others published, and a command that measures it; and
the Markdown of its badge."""

from __future__ import annotations

from urllib.parse import urlsplit

from gpusizer.answers.comparison import Comparison
from gpusizer.answers.published_runs import MEMORY, SPEEDS, PublishedRun, runs_on
from gpusizer.answers.ranked_json import benchmark_of
from gpusizer.fit.ranking import Ranked
from gpusizer.ui.presenters.badge import badge_markdown
from gpusizer.ui.presenters.code import code_html
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.words import Words

SHOWN = 3
"""Number of published runs on a card; the JSON has all."""


def evidence_html(comparison: Comparison, words: Words, ranked: Ranked) -> Html | None:
    """Write published runs, the command that measures a card, and a badge; None without any."""
    parts = [part(comparison, words, ranked) for part in (_published, _benchmark, _badge)]
    return join(parts) or None


def _badge(comparison: Comparison, words: Words, ranked: Ranked) -> Html | None:
    if comparison.profile is None:
        return None
    fit = ranked.fit
    markdown = badge_markdown(comparison.profile.repo_id, fit.gpu.slug, fit.count)
    if markdown is None:
        return None
    return el(
        "details",
        el("summary", words("badge.title")),
        code_html("Markdown", markdown, words),
        class_="gs-details gs-badge",
    )


def _published(comparison: Comparison, words: Words, ranked: Ranked) -> Html | None:
    if comparison.profile is None:
        return None
    runs = runs_on(comparison.profile, ranked.fit)
    if not runs:
        return None
    # Runs that differ only in address, or in settings that a line does not name, are one line.
    by_line = {(run.source, *_facts(run, words)): run for run in reversed(runs)}
    items = [_run(run, words) for run in list(reversed(by_line.values()))[:SHOWN]]
    return el(
        "div",
        el("h4", words("published.title")),
        el("ul", join(items), class_="gs-notes"),
        class_="gs-published gs-small",
    )


def _run(run: PublishedRun, words: Words) -> Html:
    """Write what was measured, its settings, its source with its date, and whether it is blind."""
    measured, said = _facts(run, words)
    is_web = urlsplit(run.source_url).scheme == "https"
    source = el("a", run.source, href=run.source_url, rel="noreferrer") if is_web else run.source
    return el("li", measured, " — ", source, f" · {said}" if said else None)


def _facts(run: PublishedRun, words: Words) -> tuple[str, str]:
    """Write what was measured in how much context, and what is known of the run."""
    amounts = [
        words(f"published.{name}", value=words.speed(run.measured[name]))
        for name in SPEEDS
        if name in run.measured
    ]
    amounts += [
        words(f"published.{name}", value=words.amount(run.measured[name]))
        for name in MEMORY
        if name in run.measured
    ]
    context = run.settings.get("context")
    if isinstance(context, int):
        amounts.append(words("published.context", tokens=words.whole(context)))
    details = [str(run.settings.get("engine_version", "")), run.date]
    if run.used_in_fit is not None:
        details.append(words("published.fitted" if run.used_in_fit else "published.unfitted"))
    return " · ".join(amounts), " · ".join(detail for detail in details if detail)


def _benchmark(comparison: Comparison, words: Words, ranked: Ranked) -> Html | None:
    if comparison.profile is None or comparison.workload is None:
        return None
    command = benchmark_of(comparison.profile, ranked, comparison.workload)
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
    return el(
        "details",
        el("summary", words("benchmark.title")),
        code_html(ranked.fit.estimate.engine.name, command.text, words, "bash"),
        el("ul", join(el("li", sentence) for sentence in expected), class_="gs-notes"),
        words.listed(command.notes, "gs-notes"),
        el("h4", words("benchmark.less")) if command.when_less else None,
        words.listed(command.when_less, "gs-notes"),
        class_="gs-details gs-benchmark",
    )
