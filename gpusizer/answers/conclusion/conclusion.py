"""Conclusion: what an answer says first, by code; `gpusizer.text` makes sentences of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Literal

from gpusizer.core.messages import Note, NoteValue, Say

Kind = Literal["need", "fit", "compare", "load", "models", "train"]
"""What is asked: what a model needs, whether it fits on a machine, which of several GPUs, what
serves a load, what a machine runs, what fine-tuning takes."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The answer to the question that was asked.

    Attributes:
        said: the conclusion, a note for each sentence.
        weighed: what else decided, or would decide otherwise, a note for each sentence.
        facts: the figures of the conclusion under the contract's names; None where unknown.
    """

    kind: Kind
    said: tuple[Note, ...]
    weighed: tuple[Note, ...] = ()
    facts: Mapping[str, NoteValue | None] = field(default_factory=dict)

    def sentence(self, say: Say) -> str:
        """The conclusion in the reader's language."""
        return told(self.said, say)


def told(notes: Iterable[Note], say: Say) -> str:
    """Sentences after one another, with what a language puts between them; "" for none."""
    sentences = list(map(say, notes))
    if not sentences:
        return ""
    return reduce(lambda first, more: say(Note("answer_joined", first=first, more=more)), sentences)
