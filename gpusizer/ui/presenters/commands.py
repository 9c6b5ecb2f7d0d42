"""The command that starts the configuration on a card."""

from __future__ import annotations

from gpusizer.answers.comparison import Comparison
from gpusizer.answers.launch import launch_command
from gpusizer.core.errors import GpusizerError
from gpusizer.fit.ranking import Ranked
from gpusizer.fit.verdict import Verdict
from gpusizer.ui.presenters.code import code_html
from gpusizer.ui.presenters.html import Html, el
from gpusizer.ui.presenters.words import Words


def launch_html(comparison: Comparison, words: Words, ranked: Ranked) -> Html | None:
    """Write the command as a folded block, or that there is none and why; None where the model does
    not run."""
    if comparison.profile is None or comparison.workload is None:
        return None
    if ranked.fit.verdict is Verdict.DOES_NOT_FIT:
        return None
    try:
        command = launch_command(comparison.profile, ranked.fit.way, comparison.workload)
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
    return el(
        "details",
        el("summary", words("launch.title")),
        code_html(engine, command.text, words, command.language),
        words.listed(command.notes, "gs-notes"),
        el("p", _loading(ranked, words), class_="gs-small"),
        class_="gs-details gs-launch",
    )


def _loading(ranked: Ranked, words: Words) -> str:
    """Write the minutes until weights are downloaded, and read from a disk."""
    times, assumed = ranked.load_times, ranked.assumptions
    return words(
        "launch.loading",
        size=words.amount_gb(times.stored_bytes),
        disk=words.number(times.disk_minutes, "g"),
        disk_speed=words.number(assumed.disk_gb_per_s, "g"),
        download=words.number(times.download_minutes, "g"),
        network_speed=words.number(assumed.network_gbit_per_s, "g"),
    )
