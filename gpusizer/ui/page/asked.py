"""What a listener of a tab's form is told, by name, and what it returns."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypedDict

import gradio as gr
from markupsafe import Markup

Shown = dict[str, object]
"""Values for some of a tab's components, by their names; the others stay as they are."""

START: Shown = {"start": ""}
"""What a tab shows before the first question."""


class ComparisonUpdate(TypedDict):
    """GPUs side by side, and the question with them as a query string."""

    cards: Markup
    query: str


_MOST_WISHES = 32
_MAX_CHARS = 4000
_KINDS = frozenset(
    {"load", "ask", "model", "pick", "drop", "rank", "plans", "take", "alone", "later"}
)


@dataclass(frozen=True, slots=True)
class PageEvent:
    """One thing that the visitor did beside the fields.

    Attributes:
        kind: "load", an address is answered; "ask", it is insisted on an answer; "model", an
            example is chosen; "pick" and "drop", a GPU; "rank", an order; "plans", one
            quantization for all GPUs or the best of each; "take", a file; "alone", for one
            user; "later", nothing: the
            page asks again once the call before this one is answered.
        value: the address' query string, the model, the GPU, the order, the plans, the kind of
            file.
    """

    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class FormCall:
    """The question of a tab, as its form and the visitor state it.

    Attributes:
        fields: values of the form's fields by name, with those of the visitor's own machine.
        query: the question that the tab has answered last, as a query string.
        wishes: what the visitor did beside the fields since the last call, in order.
        token: the rights of a visitor who is signed in.
        profile: their profile.
    """

    fields: Mapping[str, object]
    query: str = ""
    wishes: tuple[PageEvent, ...] = ()
    token: gr.OAuthToken | None = None
    profile: gr.OAuthProfile | None = None

    def last(self, kind: str) -> str | None:
        """Return the last wish of a kind, None where there is none."""
        return next((wish.value for wish in reversed(self.wishes) if wish.kind == kind), None)

    @property
    def forces_answer(self) -> bool:
        """Whether an answer is due even to the question that was answered last."""
        return self.last("ask") is not None or self.last("load") is not None

    @property
    def about_gpus(self) -> Iterator[PageEvent]:
        """The GPUs that are picked and dropped, in order."""
        return (wish for wish in self.wishes if wish.kind in ("pick", "drop"))


def wishes_of(text: str) -> tuple[PageEvent, ...]:
    """Read what `scripts/asking.js` wrote; what it does not write is left out.

    >>> wishes_of('[["pick", "4090"], ["run", "x"], 3]')
    (Wish(kind='pick', value='4090'),)
    """
    try:
        items = json.loads(text or "[]")
    except ValueError:
        return ()
    pairs = [item for item in items if isinstance(item, list)] if isinstance(items, list) else []
    return tuple(
        PageEvent(kind, value[:_MAX_CHARS])
        for kind, value in (pair for pair in pairs[:_MOST_WISHES] if len(pair) == 2)
        if kind in _KINDS and isinstance(value, str)
    )
