"""Error panels, which say what happened and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from gpusizer.core.errors import GpusizerError
from gpusizer.ui.presenters.pieces.templates import piece, render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.near_models import suggested_models

_ADVISED = {
    "shape": ("invalid_model_id",),
    "field": ("invalid_request", "unknown_engine", "unknown_quant", "request_too_large"),
    "gpu": ("unknown_gpu",),
    "spelling": ("model_not_found", "private_or_missing"),
    "revision": ("revision_not_found", "file_not_found"),
    "gated": ("gated_model",),
    "weights": ("no_weights", "malformed_repo", "limits_exceeded", "unsupported_dtype"),
    "later": (
        "hub_unreachable",
        "hub_rate_limited",
        "server_busy",
        "too_many_requests",
        "request_too_slow",
        "unknown_event",
        "sign_in_failed",
        "internal",
    ),
}
"""Key of a sentence with advice (`advice.<key>`) -> codes of the errors that it is about."""
_ADVICE = {code: advice for advice, codes in _ADVISED.items() for code in codes}
_TITLES = {
    "invalid_model_id": "error.title.id",
    "model_not_found": "error.title.model",
    "private_or_missing": "error.title.model",
    "gated_model": "error.title.gated",
}
"""Error code -> key of the panel's heading; `error.title` for any other."""


def error_html(error: GpusizerError, examples: Sequence[str], words: Words) -> Markup:
    """Write the panel that replaces the answer.

    Where models can be tried, those with similar names replace the `examples`.
    """
    near = suggested_models(error) if examples else []
    fields = {name: value for name, value in error.fields.items() if name == "repo_id"}
    return render(
        "error.html",
        words,
        title=words(_TITLES.get(error.code, "error.title")),
        said=words.error(_without_suggestions(error) if near else error),
        advice=words(f"advice.{_ADVICE[error.code]}", **fields),
        models=near or examples,
        label=words("error.near" if near else "error.examples"),
        code=error.code,
    )


def _without_suggestions(error: GpusizerError) -> GpusizerError:
    """Return the error without its suggestions, which buttons show."""
    fields = {name: value for name, value in error.fields.items() if name != "suggestions"}
    return type(error)(**fields)


def chips_html(models: Sequence[str], label: str) -> Markup:
    """Write buttons that size an example model."""
    return piece("chips", models, label)
