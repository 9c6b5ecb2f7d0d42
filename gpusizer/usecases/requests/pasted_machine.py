"""Machines that requests state by pasted output of programs, or under WSL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.core.validation import MAX_TEXT_CHARS
from gpusizer.fit.wsl import within_wsl
from gpusizer.gpus.reports.reading import read_reports

_FIELDS = ("gpu", "gpus", "rig")


class _Words(NamedTuple):
    text: str
    notes: tuple[Note, ...]


def read_machine_fields(
    fields: Mapping[str, object],
) -> tuple[Mapping[str, object], tuple[Note, ...]]:
    """Return request fields with machines in words instead of reports, and notes on the reading.

    Machines under WSL get the memory that WSL has.

    Raises InvalidRequest for a report that names no machine.
    """
    read = dict(fields)
    notes: list[Note] = []
    for name in _FIELDS:
        value = fields.get(name)
        texts = value if isinstance(value, list | tuple) else (value,)
        machines = [_in_words(text) for text in texts]
        if not any(machines):
            continue
        words = [
            text if machine is None else machine.text
            for machine, text in zip(machines, texts, strict=True)
        ]
        read[name] = words if isinstance(value, list | tuple) else words[0]
        notes += [note for machine in machines if machine for note in machine.notes]
    return read, tuple(notes)


def machine_in_words(text: str) -> str:
    """Return the machine that a program's output describes; other texts unchanged.

    A form shows it, so that an address holds neither serial numbers nor names of programs.
    """
    try:
        report = read_reports(text)
    except InvalidRequest:
        return text  # the answer states the error
    return text if report is None else report.text


def _in_words(text: object) -> _Words | None:
    # None unless the value is a report, or a machine under WSL.
    if not isinstance(text, str):
        return None
    report = read_reports(text)
    if report is not None:
        return _Words(report.text, report.notes)
    # Longer texts are refused.
    machine = within_wsl(text) if len(text) <= MAX_TEXT_CHARS else None
    return None if machine is None else _Words(machine.text, machine.notes)
