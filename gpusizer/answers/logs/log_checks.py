"""The use case: parse a pasted log and compare it with the prediction for its run."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.answers.json_shapes import Answered
from gpusizer.answers.logs.contribution import Issue, issue_of
from gpusizer.answers.logs.log_comparison import LogComparison, compare_log
from gpusizer.answers.logs.parse import parse_log
from gpusizer.answers.logs.parsed import ParsedLog
from gpusizer.answers.logs.prediction import predictor
from gpusizer.answers.sizer import Sizer
from gpusizer.core.errors import InvalidRequest, ModelUnreadable
from gpusizer.core.messages import Note

_NAMES = ("model", "gguf_repo", "repo")


@dataclass(frozen=True, slots=True)
class LogCheck(Answered):
    """The result of checking one log.

    Attributes:
        model: Hub ID of the predicted model, "" when neither log nor caller names one.
        comparison, issue: None without a model that could be read.
        notes: what a reader must know, as codes.
    """

    log: ParsedLog
    model: str
    comparison: LogComparison | None
    issue: Issue | None
    notes: tuple[Note, ...]


def check(sizer: Sizer, text: str, model: str = "", *, gpu: str = "") -> LogCheck:
    """Read a log, predict its run and compare.

    `model` is needed where the engine loaded a local path, and wins over what the log names; `gpu`
    likewise. Raises InvalidRequest when this is no start-up log or a value of it is impossible,
    UnknownGpu for an unknown `gpu`, and what reading `model` raises; a model that only the log
    names and that cannot be read leaves a note.
    """
    if not isinstance(text, str):
        raise InvalidRequest(field="log", value="", reason="not_text")
    parsed = parse_log(text)
    if gpu:
        sizer.catalogue.find(gpu)
    notes = [Note("log_cut", lines=parsed.lines_read)] if parsed.cut else []
    if parsed.loads > 1:
        notes.append(Note("log_several_loads", count=parsed.loads))
    named = model.strip() or next(filter(None, map(parsed.text, _NAMES)), "")
    if not named:
        return LogCheck(parsed, "", None, None, (*notes, Note("log_model_unknown")))
    try:
        comparison = compare_log(parsed, predictor(sizer), named, gpu)
    except ModelUnreadable as error:
        if model.strip():
            raise
        unread = Note("log_model_not_read", model=named, reason=error.code)
        return LogCheck(parsed, named, None, None, (*notes, unread))
    notes += comparison.prediction.notes
    issue = issue_of(parsed, comparison)
    return LogCheck(parsed, named, comparison, issue, tuple(notes))
