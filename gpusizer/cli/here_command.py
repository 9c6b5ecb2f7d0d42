"""The command `here`, and "here" instead of a machine: GPUs and memory of this machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gpusizer.api.shell import here_answer
from gpusizer.cli.output import lines_text, print_answer
from gpusizer.cli.this_machine import AskedProgram, State, ask_this_machine
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.printable import printable
from gpusizer.gpus import Catalogue
from gpusizer.gpus.reports.reading import MachineReport, read_reports
from gpusizer.gpus.user_gpus import HERE
from gpusizer.text import say_note
from gpusizer.usecases.sizer import Sizer

_FIELDS = ("gpu", "gpus", "rig")
_STATES: Mapping[State, str] = {
    "read": "read",
    "missing": "not on this machine",
    "failed": "failed",
    "timeout": "took too long",
}
Asking = Callable[[], tuple[AskedProgram, ...]]


@dataclass(frozen=True, slots=True)
class ThisMachine:
    """The machine that a command runs on, and the programs that described it."""

    report: MachineReport
    asked: tuple[AskedProgram, ...]

    @property
    def outputs(self) -> str:
        """Output of all programs, as a user would paste it."""
        return _outputs(self.asked)


def run_here(sizer: Sizer, arguments: argparse.Namespace) -> None:
    """Run `here`: read this machine and print what it has."""
    print_answer(arguments, find_machine(sizer.catalogue), here_answer, here_text)


def find_machine(catalogue: Catalogue, ask: Asking = ask_this_machine) -> ThisMachine:
    """Return the GPUs and memory of this machine. Raises InvalidRequest if no program lists any."""
    asked = ask()
    try:
        report = read_reports(_outputs(asked), catalogue)
    except InvalidRequest:
        report = None
    if report is None:
        raise InvalidRequest(
            field="gpu", value=HERE, reason="nothing_here", names=_asked_text(asked)
        )
    return ThisMachine(report, asked)


def with_this_machine(
    fields: Mapping[str, Any], catalogue: Catalogue, ask: Asking = ask_this_machine
) -> Mapping[str, Any]:
    """Return request fields with this machine instead of "here".

    The machine is also printed on standard error. Raises InvalidRequest if no program lists any
    part of it.
    """
    named = [name for name in _FIELDS if HERE in _parts(fields.get(name))]
    if not named:
        return fields
    machine = find_machine(catalogue, ask)
    print(printable(here_text(machine), keep="\n"), file=sys.stderr)
    return {**fields, **{name: _filled(fields[name], machine) for name in named}}


def here_text(machine: ThisMachine) -> str:
    """Write this machine for people: its parts, the programs that ran, and the notes."""
    notes = [f"- {say_note(note)}" for note in machine.report.notes if note.code != "report_read"]
    if not machine.report.cards:
        notes.insert(0, "- No program named a GPU.")
    asked = f"- Asked: {_asked_text(machine.asked)}."
    return lines_text([f"This machine: {machine.report.text}", asked, *notes])


def _asked_text(asked: Iterable[AskedProgram]) -> str:
    # Programs by result; of several runs of one program the best.
    states: dict[str, State] = {}
    for item in asked:
        program = item.name.split()[0]
        if states.get(program) != "read":
            states[program] = item.state
    by_state: dict[State, list[str]] = {}
    for program, state in states.items():
        by_state.setdefault(state, []).append(program)
    return "; ".join(f"{', '.join(names)}: {_STATES[state]}" for state, names in by_state.items())


def _filled(value: Any, machine: ThisMachine) -> Any:
    # A field that is "here" alone takes the outputs themselves, so that the answer shows what was
    # read; a list takes the machine's words.
    parts = _parts(value)
    if len(parts) == 1 and isinstance(value, str):
        return machine.outputs
    filled = [machine.report.text if part == HERE else part for part in parts]
    return filled if isinstance(value, list) else ", ".join(filled)


def _parts(value: Any) -> list[str]:
    texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    parts = [part.strip() for text in texts for part in _split(text)]
    return [HERE if part.casefold() == HERE else part for part in parts]


def _split(text: str) -> Iterable[str]:
    return text.split(",") if HERE in text.casefold() else (text,)


def _outputs(asked: Iterable[AskedProgram]) -> str:
    return "\n".join(item.output for item in asked)
