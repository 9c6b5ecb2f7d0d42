"""The use case: a pasted log in, what it says and how far off the predictions are out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gpusizer.errors import InvalidRequest, ModelUnreadable
from gpusizer.logs.compare import LogComparison, compare_log
from gpusizer.logs.contribution import Issue, issue_of
from gpusizer.logs.parse import parse_log
from gpusizer.logs.parsed import ParsedLog
from gpusizer.logs.prediction import predictor
from gpusizer.notes import Note
from gpusizer.sizer import Sizer

Json = dict[str, Any]
Say = Callable[[Note], str]
_NAMES = ("model", "gguf_repo", "repo")


@dataclass(frozen=True, slots=True)
class LogCheck:
    """What came of one log.

    Attributes:
        model: what the comparison is with, "" when the log names no Hub ID and nobody else did.
        comparison, issue: None without a model that could be read.
        notes: what a reader must know, as codes.
    """

    log: ParsedLog
    model: str
    comparison: LogComparison | None
    issue: Issue | None
    notes: tuple[Note, ...]

    def to_json(self, say: Say | None = None) -> Json:
        """JSON object; notes have their sentence where `say` is handed in."""
        return {
            "log": self.log.to_json(),
            "model": self.model,
            "comparison": self.comparison.to_json() if self.comparison else None,
            "issue": self.issue.to_json() if self.issue else None,
            "notes": [_note_json(note, say) for note in self.notes],
        }


def check_log(
    sizer: Sizer, text: str, model: str = "", *, gpu: str = "", say: Say | None = None
) -> Json:
    """`check` as one JSON object, for an endpoint. Raises as `check` does."""
    return check(sizer, text, model, gpu=gpu).to_json(say)


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


def _note_json(note: Note, say: Say | None) -> Json:
    document = note.to_json()
    return document if say is None else {**document, "message": say(note)}
