"""Input and output of a tab's listeners, by names of components."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypedDict

import gradio as gr
from markupsafe import Markup

# Values of some of a tab's components by name; the others stay unchanged.
Shown = dict[str, object]

START: Shown = {"start": ""}  # values of a tab before the first question


class ComparisonUpdate(TypedDict):
    """GPUs side by side, and the question with them as a query string."""

    cards: Markup
    query: str


_MOST_EVENTS = 32
_MAX_CHARS = 4000
_KINDS = frozenset(
    {"load", "ask", "model", "pick", "drop", "rank", "rows", "plans", "take", "alone", "later"}
)


@dataclass(frozen=True, slots=True)
class PageEvent:
    """One action of the visitor outside of the fields."""

    # "load": an address is opened; "ask": an answer is demanded; "model": an example is chosen;
    # "pick" and "drop": a GPU; "rank": an order; "rows": all GPUs are listed; "plans": one
    # quantization for all GPUs or the best of each; "take": a file; "alone": for one user; "later":
    # no action, the page asks again after the call before this one
    kind: str
    value: str  # query string, model, GPU, order, plans or kind of file


@dataclass(frozen=True, slots=True)
class FormCall:
    """Question of a tab, as its form and the visitor state it."""

    # values of the form's fields by name, with those of the visitor's own machine
    fields: Mapping[str, object]
    query: str = ""  # question that the tab answered last, as a query string
    # actions of the visitor outside of the fields since the last call, in order
    events: tuple[PageEvent, ...] = ()
    token: gr.OAuthToken | None = None  # rights of a signed-in visitor
    profile: gr.OAuthProfile | None = None  # profile of a signed-in visitor

    def last(self, kind: str) -> str | None:
        """Return the last value of a kind, or None."""
        return next((event.value for event in reversed(self.events) if event.kind == kind), None)

    @property
    def forces_answer(self) -> bool:
        """Whether to answer even a question that was answered last."""
        return self.last("ask") is not None or self.last("load") is not None

    @property
    def about_gpus(self) -> Iterator[PageEvent]:
        """Picks and drops of GPUs, in order."""
        return (event for event in self.events if event.kind in ("pick", "drop"))


def events_of(text: str) -> tuple[PageEvent, ...]:
    """Return the actions that `scripts/asking.js` wrote, without unknown ones.

    >>> events_of('[["pick", "4090"], ["run", "x"], 3]')
    (PageEvent(kind='pick', value='4090'),)
    """
    try:
        items = json.loads(text or "[]")
    except ValueError:
        return ()
    pairs = [item for item in items if isinstance(item, list)] if isinstance(items, list) else []
    return tuple(
        PageEvent(kind, value[:_MAX_CHARS])
        for kind, value in (pair for pair in pairs[:_MOST_EVENTS] if len(pair) == 2)
        if kind in _KINDS and isinstance(value, str)
    )
