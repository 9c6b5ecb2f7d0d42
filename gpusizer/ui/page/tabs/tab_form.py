"""A tab's form, a component for each of its fields, and the one listener that answers it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import gradio as gr

from gpusizer.ui.page.asked import START, FormCall, Shown, events_of
from gpusizer.ui.page.forms import FORMS
from gpusizer.ui.page.page_scripts import BROWSER, call
from gpusizer.ui.page.tabs.tab_fields import (
    Field,
    Listeners,
    Part,
    field,
    go_button,
    html,
    prefix,
    query_box,
)
from gpusizer.ui.presenters.pieces.templates import piece
from gpusizer.ui.presenters.pieces.words import Words

# Answers a form; yields values for the waiting time, then the final ones.
Handler = Callable[[FormCall], Iterator[Shown]]

_TYPED = (gr.Textbox, gr.Number)


@dataclass(frozen=True, slots=True)
class TabForm:
    """Components of a tab by name."""

    tab: str
    fields: Mapping[str, Field]  # inputs of the visitor, by the names of the request's fields
    go: gr.Button  # button that asks
    machine: gr.Accordion  # fold with the visitor's own machine
    again: gr.Textbox  # hidden text; a change of it has the form answered

    def answer_by(
        self,
        handler: Handler,
        opened: gr.Tab,
        shown: Mapping[str, Part],
        query: gr.Textbox,
        start: Shown,
        wishing: Sequence[gr.HTML],
        listeners: Listeners,
    ) -> None:
        """Answer by `handler` at each event that asks.

        These are the button, Enter, a choice, leaving a field, the event `input` of the components
        `wishing`, and the opening of the tab `opened` after one of its fields has changed in
        another tab.

        An answer fills `shown` and `query`, by the name "query": the question that was answered.
        Before the first question these show `start`.
        """
        tab, asked = self.tab, list(self.fields.values())
        parts: dict[str, Part] = {**self.fields, **shown, "query": query}

        def show(values: Shown) -> dict[Part, object]:
            by_name = start if values is START else values
            # Gradio reads an empty dict as a value, not as an absence of values.
            nothing: dict[Part, object] = {query: gr.skip()}
            return {parts[name]: value for name, value in by_name.items()} or nothing

        typed = [part for part in asked if isinstance(part, _TYPED)]
        chosen = [part for part in asked if not isinstance(part, _TYPED)]
        wishes = query_box(f"gs-{tab}-wishes")
        events = [self.go.click, self.again.change, wishes.change]
        events += [*(part.submit for part in typed), *(part.input for part in (*chosen, *wishing))]
        answered = gr.on(
            events,
            listener(handler, tuple(self.fields), show),
            [query, self.again, wishes, *asked],
            [*parts.values()],
            js=call("gsAsking.ask", tab),
            **listeners(tab),
        )
        done = call("gsAsking.done", tab, FORMS[tab].first[0])
        for ended, name in ((answered.then, "done"), (answered.failure, "failed")):
            options = listeners.quiet(f"{tab}_{name}")
            ended(None, [query, wishes], [wishes], js=done, **options)
        gr.on(
            [opened.select, *(part.blur for part in typed)],
            None,
            [self.again, *asked],
            [self.again],
            js=call("gsAsking.left", tab),
            **listeners.quiet(f"{tab}_left"),
        )
        remember = call("gsAddress.answered", tab)
        query.change(None, [query], None, js=remember, **listeners.quiet(f"{tab}_remember"))

    @property
    def filled(self) -> dict[str, Part]:
        """Components that an address fills, by the tab's name and their own."""
        parts: dict[str, Part] = {**self.fields, "machine": self.machine, "again": self.again}
        return {f"{self.tab}.{name}": part for name, part in parts.items()}


def build_form(tab: str, words: Words, between: Callable[[], None] = lambda: None) -> TabForm:
    """Build the fields of a tab in the order of its form.

    `between` builds the components below the first ones.
    """
    form = FORMS[tab]

    def row(names: Sequence[str]) -> dict[str, Field]:
        return {name: field(tab, name, words) for name in names}

    with gr.Row(elem_id=f"{prefix(tab)}-form", equal_height=True, elem_classes=["gs-form"]):
        fields = row(form.first)
        go = go_button(tab, words)
    if "gpu" in form.first:
        button = piece("browser", words, f"{prefix(tab)}-gpu")
        html(button, f"{prefix(tab)}-browser", BROWSER)
    between()
    if form.below:
        with gr.Row(elem_id=f"{prefix(tab)}-below", elem_classes=["gs-fields"]):
            fields |= row(form.below)
    with gr.Row(elem_classes=["gs-option-folds"]):
        with _fold(f"{prefix(tab)}-advanced", words("advanced")) if form.more else nullcontext():
            for names in form.more:
                with gr.Row():
                    fields |= row(names)
        title = words("own.title_priced" if "usd_per_kwh" in form.machine else "own.title")
        with _fold(f"gs-{tab}-machine", title) as machine:
            html(piece("small_print", words("own.lead")), f"gs-{tab}-machine-lead")
            with gr.Row():
                fields |= row(form.machine)
    return TabForm(tab, fields, go, machine, query_box(f"{prefix(tab)}-again"))


def _fold(elem_id: str, title: str) -> gr.Accordion:
    return gr.Accordion(title, open=False, elem_id=elem_id, elem_classes=["gs-fold"])


def keep_same(forms: Sequence[TabForm], listeners: Listeners) -> None:
    """Copy the machine's fields of one tab into those of the others, and remember them."""
    for form in forms:
        own = FORMS[form.tab].own
        others = [other for other in forms if other is not form]
        shared = [o.fields[name] for o in others for name in FORMS[o.tab].own if name in own]
        numbers = [form.fields[name].input for name in FORMS[form.tab].machine]
        # Gradio reports no `input` of a text to a listener that runs in the browser alone.
        named = form.fields.get("gpu")
        texts = [named.blur, named.submit] if isinstance(named, gr.Textbox) else []
        gr.on(
            [*numbers, *texts],
            None,
            [form.fields[name] for name in own],
            [*(o.machine for o in others), *shared],
            js=call("gsMachine.typed", form.tab),
            **listeners.quiet(f"own_{form.tab}"),
        )


def listener(
    handler: Handler, names: Sequence[str], show: Callable[[Shown], object]
) -> Callable[..., Iterator[object]]:
    """Return a listener that calls `handler` with the values of the fields `names`.

    Gradio passes the visitor, the previous question, a mark, the actions, and the values.
    """

    def listen(
        token: gr.OAuthToken | None,
        profile: gr.OAuthProfile | None,
        query: str,
        _again: str,
        events: str,
        *values: object,
    ) -> Iterator[object]:
        fields = dict(zip(names, values, strict=True))
        call = FormCall(fields, query, events_of(events), token, profile)
        answers = iter(({},)) if call.last("later") is not None else handler(call)
        for shown in answers:
            yield show(shown)

    return listen
