"""Error panels, which say what happened and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.near_models import suggested_models
from gpusizer.core.errors import GpusizerError
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.words import Words

_ADVICE = {
    "invalid_model_id": "shape",
    "invalid_request": "field",
    "unknown_gpu": "gpu",
    "unknown_engine": "field",
    "unknown_quant": "field",
    "model_not_found": "spelling",
    "private_or_missing": "spelling",
    "revision_not_found": "revision",
    "file_not_found": "revision",
    "gated_model": "gated",
    "no_weights": "weights",
    "malformed_repo": "weights",
    "limits_exceeded": "weights",
    "unsupported_dtype": "weights",
    "hub_unreachable": "later",
    "hub_rate_limited": "later",
    "server_busy": "later",
    "too_many_requests": "later",
    "request_too_large": "field",
    "internal": "later",
}
"""Error code -> key of the sentence with advice (`advice.<key>`)."""
_TITLES = {
    "invalid_model_id": "error.title.id",
    "model_not_found": "error.title.model",
    "private_or_missing": "error.title.model",
    "gated_model": "error.title.gated",
}
"""Error code -> key of the panel's heading; `error.title` for any other."""


def error_html(error: GpusizerError, examples: Sequence[str], words: Words) -> Html:
    """Write the panel that stands in place of the answer.

    Where models can be tried, those with names alike stand in place of the `examples`.
    """
    near = suggested_models(error) if examples else []
    label = words("error.near") if near else words("error.examples")
    fields = {name: value for name, value in error.fields.items() if name == "repo_id"}
    return el(
        "section",
        el("h2", words(_TITLES.get(error.code, "error.title"))),
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
        el(
            "button",
            model.rsplit("/", maxsplit=1)[-1],
            type="button",
            class_="gs-try",
            data_model=model,
            title=model,
        )
        for model in models
    ]
    return el("div", el("span", label, class_="gs-small"), join(chips), class_="gs-chips")
