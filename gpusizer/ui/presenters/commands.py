"""The command that starts what a card shows."""

from __future__ import annotations

from gpusizer.comparison import Comparison
from gpusizer.errors import GpusizerError
from gpusizer.fit import Verdict
from gpusizer.launch import launch_ranked
from gpusizer.ranking import Ranked
from gpusizer.ui.presenters.code import code_html
from gpusizer.ui.presenters.html import Html, el
from gpusizer.ui.presenters.words import Words


def launch_html(comparison: Comparison, words: Words, ranked: Ranked) -> Html | None:
    """Folded away; None for what does not run, or has no command."""
    if comparison.profile is None or comparison.workload is None:
        return None
    if ranked.fit.verdict is Verdict.DOES_NOT_FIT:
        return None
    try:
        made = launch_ranked(comparison.profile, ranked, comparison.workload)
    except GpusizerError:
        return None  # a name that no command may carry
    if made is None:
        return None
    engine = ranked.fit.estimate.engine.name
    return el(
        "details",
        el("summary", words("launch.title")),
        code_html(engine, made.text, words, made.language),
        words.listed(made.notes, "gs-notes"),
        class_="gs-details gs-launch",
    )
