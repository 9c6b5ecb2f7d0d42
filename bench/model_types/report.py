"""Faults of a set of cases, as lines and as the text of an issue."""

from __future__ import annotations

from collections.abc import Sequence

from bench.model_types.cases import CaseSet
from bench.model_types.comparison import Verdict, right_of

_LONGEST = 60_000  # characters; GitHub takes 65,536
_MOST_REASON = 120
_HEAD = """\
{right} (transformers {version}; `python -m bench.model_types.compare`).

| model type | class | doubt | what: its own code → gpusizer |
|---|---|---|---|
"""


def line_of(verdict: Verdict) -> str:
    """Return the line of one wrong answer."""
    doubt = "says a doubt" if verdict.doubts else "says none"
    return f"{verdict.model_type} ({verdict.class_name}, {doubt}): {_faults(verdict)}"


def report_of(found: CaseSet, verdicts: Sequence[Verdict]) -> str:
    """Return the text of an issue, or "" if every answer is right."""
    wrong = [verdict for verdict in verdicts if not verdict.is_right]
    if not wrong:
        return ""
    head = _HEAD.format(right=right_of(verdicts), version=found.version)
    # Answers that say no doubt first: these mislead.
    rows = [_row(verdict) for verdict in sorted(wrong, key=lambda verdict: verdict.doubts)]
    missing = [f"- `{name}`: {_plain(why)}\n" for name, why in sorted(found.not_built.items())]
    tail = f"\nNot built ({len(missing)}):\n\n{''.join(missing)}" if missing else ""
    return _whole_lines(head + "".join(rows) + tail)


def _row(verdict: Verdict) -> str:
    doubt = "said" if verdict.doubts else "**none**"
    cells = (f"`{verdict.model_type}`", f"`{verdict.class_name}`", doubt, _faults(verdict))
    return f"| {' | '.join(cells)} |\n"


def _faults(verdict: Verdict) -> str:
    return "; ".join(f"{fault.fact}: {fault.truth} → {fault.answer}" for fault in verdict.faults)


def _plain(reason: str) -> str:
    # Without characters that Markdown or HTML would read.
    line = reason.strip().partition("\n")[0][:_MOST_REASON]
    return "".join(" " if char in "`<>|@#[]" else char for char in line)


def _whole_lines(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return text[:_LONGEST].rpartition("\n")[0] + "\n"
