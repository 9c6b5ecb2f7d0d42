"""What a GPU that the request names can be checked by, as plain text."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from gpusizer.answers.evidence import benchmark_of
from gpusizer.answers.published_runs import MEMORY, SPEEDS, PublishedRun, runs_on
from gpusizer.cli.output import lines_text, span
from gpusizer.core.units import format_gib
from gpusizer.fit.ranking import Ranked
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.text import say_note

_FITTED = {
    True: "the estimate may rest on it",
    False: "nothing of the estimate rests on it",
    None: "",
}


def evidence_text(profile: ModelProfile, item: Ranked, workload: Workload) -> str:
    """Write published runs of exactly this, and the command that measures it; "" for neither."""
    runs = dict.fromkeys(_run_text(run) for run in runs_on(profile, item.fit))
    lines = [f"  measured: {run}" for run in runs]
    command = benchmark_of(profile, item, workload)
    if command is not None:
        texts = _shell_lines("\n".join(command.commands).replace(" \\\n  ", " "))
        lines += ["  To measure it yourself:", *(f"    {text}" for text in texts)]
        lines += [
            f"  run {expectation.run} should print {expectation.printed}:"
            f" {span(expectation.rate)} {expectation.unit}"
            for expectation in command.expected
        ]
        lines += [f"  ! {say_note(note)}" for note in command.notes]
        lines += [f"  if slower: {say_note(note)}" for note in command.when_less]
    return lines_text(lines)


def _shell_lines(script: str) -> Iterator[str]:
    """Yield the commands of a script; a line end inside quotes is a stranger's name."""
    command = ""
    for line in script.split("\n"):
        command = f"{command}\n{line}" if command else line
        try:
            shlex.split(command)
        except ValueError:  # a quotation goes on
            continue
        yield command
        command = ""
    if command:
        yield command


def _run_text(run: PublishedRun) -> str:
    speeds = [
        f"{run.measured[name]:g} {name.removesuffix('_tokens_per_second')} tok/s"
        for name in SPEEDS
        if name in run.measured
    ]
    memory = [
        f"{name.removesuffix('_bytes')} {format_gib(run.measured[name])}"
        for name in MEMORY
        if name in run.measured
    ]
    context = run.settings.get("context")
    details = [
        *speeds,
        *memory,
        f"context {context:,}" if isinstance(context, int) else "",
        str(run.settings.get("engine_version", "")),
        run.date,
        _FITTED[run.used_in_fit],
        run.source_url,
    ]
    return ", ".join(detail for detail in details if detail)
