"""A tab's form: one listener answers it, whatever calls it, and names what it takes and returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from gpusizer.ui import page_scripts as scripts
from gpusizer.ui.asked import START, FormCall, Shown, wishes_of
from gpusizer.ui.asking_script import script
from gpusizer.ui.tabs.machine_fold import MachineFold
from gpusizer.ui.tabs.tab_fields import Listeners, query_box

Handler = Callable[[FormCall], Iterator[Shown]]
"""Answers a form; yields what is shown meanwhile and in the end."""

_TYPED = (gr.Textbox, gr.Number)


@dataclass(frozen=True, slots=True)
class TabForm:
    """The components of a tab by name.

    Attributes:
        tab: the tab's name.
        fields: what the visitor fills in, by the names of the request's fields.
        machine: the fold with the visitor's own machine, whose fields are asked with the others.
        shown: what an answer fills in; "query" is the question that was answered.
        start: what these show before the first question.
        again: a hidden text, a change of which has the form answered.
    """

    tab: str
    fields: Mapping[str, Any]
    machine: MachineFold
    shown: Mapping[str, Any]
    start: Mapping[str, Any]
    again: gr.Textbox

    def answer_by(
        self,
        handler: Handler,
        go: gr.Button,
        opened: gr.Tab,
        wishing: Sequence[gr.HTML],
        listeners: Listeners,
    ) -> None:
        """Answer by `handler`: at the button, at Enter, at a choice, when a field is left, at the
        event `input` of the components `wishing`, and when the tab `opened` opens after one of its
        fields has changed in another tab."""
        tab, query = self.tab, self.shown["query"]
        asked = {**self.fields, **self.machine.fields}
        typed = [field for field in asked.values() if isinstance(field, _TYPED)]
        chosen = [field for field in asked.values() if not isinstance(field, _TYPED)]
        wishes = query_box(f"gs-{tab}-wishes")
        events = [go.click, self.again.change, wishes.change, *(field.submit for field in typed)]
        events += [*(field.input for field in chosen), *(part.input for part in wishing)]
        answered = gr.on(
            events,
            listener(handler, tuple(asked), self._by_component),
            [query, self.again, wishes, *asked.values()],
            [*asked.values(), *self.shown.values()],
            js=script("ask", tab),
            **listeners(tab),
        )
        done = script("done", tab, next(iter(self.fields)))
        for ended, name in ((answered.then, "done"), (answered.failure, "failed")):
            options = listeners.quiet(f"{tab}_{name}")
            ended(None, [query, wishes], [wishes], js=done, **options)
        gr.on(
            [opened.select, *(field.blur for field in typed)],
            None,
            [self.again, *asked.values()],
            [self.again],
            js=script("left", tab),
            **listeners.quiet(f"{tab}_left"),
        )
        remember = scripts.remember(tab)
        query.change(None, [query], None, js=remember, **listeners.quiet(f"{tab}_remember"))

    def _by_component(self, shown: Shown) -> dict[Any, Any]:
        """Return values by the components that show them."""
        parts = {**self.fields, **self.machine.fields, **self.shown}
        by_name = self.start if shown is START else shown
        # Gradio takes an empty dict for a value, not for nothing to show.
        nothing = {parts["query"]: gr.skip()}
        return {parts[name]: value for name, value in by_name.items()} or nothing

    @property
    def filled(self) -> dict[str, Any]:
        """The components that an address fills, by the tab's name and their own."""
        own = {"machine": self.machine.fold, **self.machine.fields}
        parts = {**self.fields, **own, "again": self.again}
        return {f"{self.tab}.{name}": part for name, part in parts.items()}


def listener(
    handler: Handler, names: Sequence[str], show: Callable[[Shown], Any]
) -> Callable[..., Iterator[Any]]:
    """Return a listener that calls `handler` with the values of the fields `names`.

    Gradio fills in who asks, then passes the question before, a mark, the wishes, and the values.
    """

    def listen(
        token: gr.OAuthToken | None,
        profile: gr.OAuthProfile | None,
        query: str,
        _again: str,
        wishes: str,
        *values: object,
    ) -> Iterator[Any]:
        fields = dict(zip(names, values, strict=True))
        call = FormCall(fields, query, wishes_of(wishes), token, profile)
        answers = iter(({},)) if call.last("later") is not None else handler(call)
        for shown in answers:
            yield show(shown)

    return listen
