"""Error panels, which say what happened and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.near_models import suggested_models
from gpusizer.core.errors import GpusizerError
from gpusizer.core.tables import toml_of
from gpusizer.ui.presenters.pieces.html import Html, button, el, join
from gpusizer.ui.presenters.pieces.words import Words

_TABLES = toml_of(__file__)
_ADVICE = {code: advice for advice, codes in _TABLES["advised"].items() for code in codes}
"""Error code -> key of the sentence with advice (`advice.<key>`)."""


def error_html(error: GpusizerError, examples: Sequence[str], words: Words) -> Html:
    """Write the panel that stands in place of the answer.

    Where models can be tried, those with names alike stand in place of the `examples`.
    """
    near = suggested_models(error) if examples else []
    label = words("error.near") if near else words("error.examples")
    fields = {name: value for name, value in error.fields.items() if name == "repo_id"}
    return el(
        "section",
        el("h2", words(_TABLES["titles"].get(error.code, "error.title"))),
        el("p", words.error(_without_suggestions(error) if near else error)),
        el("p", words(f"advice.{_ADVICE[error.code]}", **fields)),
        chips_html(near or examples, label) if examples else None,
        el("p", words("error.code"), " ", el("code", error.code), class_="gs-small"),
        class_="gs-section gs-error",
        id="gs-error",
        role="alert",
    )


def _without_suggestions(error: GpusizerError) -> GpusizerError:
    """The error alone: what it suggests stands on buttons."""
    fields = {name: value for name, value in error.fields.items() if name != "suggestions"}
    return type(error)(**fields)


def chips_html(models: Sequence[str], label: str) -> Html:
    """Write buttons that size an example model."""
    chips = [
        button(model.rsplit("/", maxsplit=1)[-1], "gs-try", data_model=model, title=model)
        for model in models
    ]
    return el("div", el("span", label, class_="gs-small"), join(chips), class_="gs-chips")
