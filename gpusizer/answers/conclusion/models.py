"""What a GPU or a machine runs: how many of the known models, and the first of them."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.conclusion.clauses import names, short_name
from gpusizer.answers.conclusion.conclusion import Conclusion
from gpusizer.answers.models_for.runs_on import RunsOn
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import significant
from gpusizer.fit.losses import quality_at

_NAMED = 3


def models(hardware: str, considered: int, found: int, rows: Sequence[RunsOn]) -> Conclusion:
    """The first rows of an answer; `hardware` is what was asked about."""
    first = rows[:_NAMED]
    fields: dict[str, NoteValue] = {"hardware": hardware, "found": found, "considered": considered}
    if not first:
        return Conclusion("models", (Note("answer_runs_nothing", **fields),), (), fields)
    named = names([short_name(row.runs.profile) for row in first])
    said = (Note("answer_runs", **fields), Note("answer_runs_first", models=named))
    facts = {**fields, "first": first[0].runs.profile.repo_id}
    return Conclusion("models", said, tuple(map(_row, first)), facts)


def _row(row: RunsOn) -> Note:
    """How one of them runs."""
    estimate = row.runs.way.estimate
    fields: dict[str, NoteValue] = {
        "model": short_name(row.runs.profile),
        "quant": estimate.quant.name,
        "loss": quality_at(estimate).word.value,
        "engine": estimate.engine.name,
        "how": row.runs.how,
    }
    if row.decode is None:
        return Note("answer_model", **fields)
    return Note("answer_model_at", **fields, tokens=significant(row.decode.likely))
