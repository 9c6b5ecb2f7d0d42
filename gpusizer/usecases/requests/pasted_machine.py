"""Machines that requests state by pasted output of programs."""

from __future__ import annotations

from collections.abc import Mapping

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.gpus.reports.reading import MachineReport, read_reports

_FIELDS = ("gpu", "gpus", "rig")


def read_machine_fields(
    fields: Mapping[str, object],
) -> tuple[Mapping[str, object], tuple[Note, ...]]:
    """Return request fields with machines in words instead of reports, and notes on the reading.

    Raises InvalidRequest for a report that names no machine.
    """
    read = dict(fields)
    notes: list[Note] = []
    for name in _FIELDS:
        value = fields.get(name)
        texts = value if isinstance(value, list | tuple) else (value,)
        reports = [read_reports(text) if isinstance(text, str) else None for text in texts]
        if not any(reports):
            continue
        machines = [_text(report, text) for report, text in zip(reports, texts, strict=True)]
        read[name] = machines if isinstance(value, list | tuple) else machines[0]
        notes += [note for report in reports if report for note in report.notes]
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


def _text(report: MachineReport | None, text: object) -> object:
    return text if report is None else report.text
