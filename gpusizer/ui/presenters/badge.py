"""A badge for model cards, which shields.io draws: whether a model runs on a GPU, and its Markdown.

The object is an answer in shields.io's form of an endpoint badge, https://shields.io/badges/endpoint-badge,
which has no other keys than these.
"""

from __future__ import annotations

from typing import TypedDict
from urllib.parse import quote, urlencode

from gpusizer.api.size import SizeAnswer
from gpusizer.core.errors import GpusizerError
from gpusizer.core.tables import toml_of
from gpusizer.hub.model_ref import is_repo_id
from gpusizer.text import Language
from gpusizer.ui.presenters.pieces.words import Words

ORIGIN = "https://ORIGIN/"
"""Placeholder in the Markdown, which the page's script replaces by its own address."""
PATH = "/v1/badge"

_SHIELDS = "https://img.shields.io/endpoint"
_ERROR_COLOUR = "lightgrey"
_TABLES = toml_of(__file__)


class Badge(TypedDict):
    """The two halves of a badge; neither is empty."""

    schemaVersion: int
    label: str
    message: str
    color: str
    isError: bool


def badge_of(report: SizeAnswer, language: Language) -> Badge:
    """Return the badge of a report's first place: the GPU asked for, else the best one."""
    words = Words(language)
    if not report.ranking:
        return _badge("gpusizer", words("badge.none"), _TABLES["colours"]["does_not_fit"])
    place = report.ranking[0]
    count, verdict = place.count, place.verdict
    cards = f"{count} × {place.gpu_name}" if count > 1 else place.gpu_name
    names = {row.quant: row.quant_name for row in report.estimates}
    quant = names.get(place.quant, place.quant)
    message = words.verdict(verdict)
    if verdict != "does_not_fit":
        message = f"{message} · {quant}"
    return _badge(cards, message, _TABLES["colours"][verdict])


def error_badge(error: GpusizerError, language: Language) -> Badge:
    """Return the badge of a question that has no answer."""
    kind = _TABLES["kinds"].get(error.code, "unreadable")
    message = Words(language)(f"badge.{kind}")
    return _badge("gpusizer", message, _ERROR_COLOUR, is_error=True)


def badge_markdown(model: str, gpu: str, count: int) -> str | None:
    """Return the Markdown that shows a badge and links to the page; None for a model of no Hub.

    It names the number of cards, so that the badge says what the card beside it says, not on how
    many cards the model would fit.

    >>> badge_markdown("org/name", "rtx-4090-24gb", 2)[:87]
    '[![gpusizer](https://img.shields.io/endpoint?url=https%3A%2F%2FORIGIN%2Fv1%2Fbadge%3Fmo'
    """
    if not is_repo_id(model):
        return None
    card = f"{count}x{gpu}"
    badge = urlencode({"model": model, "gpu": card}, safe="/")
    page = urlencode({"model": model, "gpus": card}, safe="/")
    address = quote(f"{ORIGIN}{PATH.removeprefix('/')}?{badge}", safe="")
    return f"[![gpusizer]({_SHIELDS}?url={address})]({ORIGIN}?{page})"


def _badge(label: str, message: str, colour: str, *, is_error: bool = False) -> Badge:
    return {
        "schemaVersion": 1,
        "label": label,
        "message": message,
        "color": colour,
        "isError": is_error,
    }
