"""The fold with the visitor's own machine and prices, which several tabs have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS
from gpusizer.ui.own_fields import OWN_FIELDS_OF
from gpusizer.ui.own_machine_script import same_everywhere
from gpusizer.ui.presenters.html import el
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.tabs.tab_fields import Listeners, html, number_field

_DEFAULTS = {
    "disk_gb_per_s": DEFAULT_ASSUMPTIONS.disk_gb_per_s,
    "usd_per_kwh": DEFAULT_ASSUMPTIONS.usd_per_kwh,
}
_WIDTH = 150  # pixels, at least, of a field


@dataclass(frozen=True, slots=True)
class MachineFold:
    """The fold of one tab, and its fields by name, in the order of `OWN_FIELDS_OF`."""

    fold: gr.Accordion
    fields: Mapping[str, gr.Number]

    @property
    def inputs(self) -> list[Any]:
        """The fields as inputs of a listener."""
        return list(self.fields.values())


def machine_fold(tab: str, words: Words) -> MachineFold:
    """Build the fold of a tab."""
    names = OWN_FIELDS_OF[tab]
    title = words("own.title_priced" if "usd_per_kwh" in names else "own.title")
    with gr.Accordion(
        title, open=False, elem_id=f"gs-{tab}-machine", elem_classes=["gs-fold"]
    ) as fold:
        html(el("p", words("own.lead"), class_="gs-small"), f"gs-{tab}-machine-lead")
        with gr.Row():
            fields = {name: _field(name, words) for name in names}
    return MachineFold(fold, fields)


def _field(name: str, words: Words) -> gr.Number:
    usual = words.number(_DEFAULTS.get(name, 0.0), "g")
    info = words(f"own.{name}.info", usual=usual)
    return number_field(words(f"own.{name}.label"), info, min_width=_WIDTH)


def keep_same(folds: Mapping[str, MachineFold], listeners: Listeners) -> None:
    """Write what is typed in one tab into the same fields of the others, and remember it."""
    for tab, fold in folds.items():
        names = list(fold.fields)
        others = [folds[name] for name in folds if name != tab]
        fields = [(name, field) for other in others for name, field in other.fields.items()]
        shared = [(name, field) for name, field in fields if name in fold.fields]
        outputs: Sequence[Any] = [other.fold for other in others]
        gr.on(
            [field.input for field in fold.fields.values()],
            None,
            fold.inputs,
            [*outputs, *(field for _, field in shared)],
            js=same_everywhere(names, len(others), [name for name, _ in shared]),
            **listeners.quiet(f"own_{tab}"),
        )
