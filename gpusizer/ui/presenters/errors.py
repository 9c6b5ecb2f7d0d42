"""Error panels, which say what happened and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

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
    "revision_not_found": "spelling",
    "file_not_found": "spelling",
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


def error_html(error: GpusizerError, examples: Sequence[str], words: Words) -> Html:
    """Write the panel that stands in place of the answer."""
    return el(
        "section",
        el("h2", words("error.title")),
        el("p", words.error(error)),
        el("p", words(f"advice.{_ADVICE[error.code]}")),
        chips_html(examples, words("error.examples")),
        el("p", words("error.code"), " ", el("code", error.code), class_="gs-small"),
        class_="gs-section gs-error",
        id="gs-error",
        role="alert",
    )


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
