"""A badge for model cards: whether a model runs on a GPU, as a small picture, and its Markdown."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from gpusizer.answers.contract.answers import SizeAnswer
from gpusizer.core.errors import GpusizerError
from gpusizer.core.tables import toml_of
from gpusizer.hub.model_ref import is_repo_id
from gpusizer.text import Language
from gpusizer.ui.presenters.charts.svg import FONT, at, text_width
from gpusizer.ui.presenters.pieces.html import Html, el
from gpusizer.ui.presenters.pieces.words import Words

ORIGIN = "https://ORIGIN/"
"""Placeholder in the Markdown, which the page's script replaces by its own address."""

_HEIGHT = 20
_PADDING = 8
_TEXT_SIZE = 11
_BASELINE = 14
_MAX_CHARS = 60
_FONTS = "Verdana,DejaVu Sans,Noto Sans CJK SC,PingFang SC,Microsoft YaHei,sans-serif"
_LABEL_COLOUR = "#24292f"
_GREY = "#57606a"
_TABLES = toml_of(__file__)


@dataclass(frozen=True, slots=True)
class Badge:
    """The two halves of a badge; `title` is what a screen reader says and a pointer shows."""

    label: str
    value: str
    colour: str
    title: str

    def svg(self) -> Html:
        """Draw it, with every text escaped and nothing that runs or loads."""
        label, value = _shown(self.label), _shown(self.value)
        left, right = _half(label), _half(value)
        width = left + right
        return el(
            "svg",
            el("title", self.title),
            el("rect", width=at(width), height=_HEIGHT, rx=3, fill=self.colour),
            el("rect", width=at(left), height=_HEIGHT, rx=3, fill=_LABEL_COLOUR),
            el("rect", x=at(left - 3), width=3, height=_HEIGHT, fill=_LABEL_COLOUR),
            _text(label, 0, left),
            _text(value, left, right),
            xmlns="http://www.w3.org/2000/svg",
            width=at(width),
            height=_HEIGHT,
            viewBox=f"0 0 {at(width)} {_HEIGHT}",
            role="img",
            aria_label=self.title,
        )


def badge_of(report: SizeAnswer, language: Language) -> Badge:
    """Return the badge of a report's first place: the GPU asked for, else the best one."""
    words, model = Words(language), str(report["model"]["repo_id"])
    if not report["ranking"]:
        return _named("gpusizer", words("badge.none"), _TABLES["colours"]["does_not_fit"], model)
    place = report["ranking"][0]
    count, verdict = place["count"], place["verdict"]
    cards = f"{count} × {place['gpu_name']}" if count > 1 else place["gpu_name"]
    names = {row["quant"]: row["quant_name"] for row in report["estimates"]}
    quant = names.get(place["quant"], place["quant"])
    value = words.verdict(verdict)
    if verdict != "does_not_fit":
        value = f"{value} · {quant}"
    return _named(cards, value, _TABLES["colours"][verdict], model)


def error_badge(error: GpusizerError, sentence: str, language: Language) -> Badge:
    """Return the grey badge of a question that has no answer."""
    kind = _TABLES["kinds"].get(error.code, "unreadable")
    return Badge("gpusizer", Words(language)(f"badge.{kind}"), _GREY, sentence)


def badge_markdown(model: str, gpu: str, count: int) -> str | None:
    """Return the Markdown that shows a badge and links to the page; None for a model of no Hub.

    It names the number of cards, so that the badge says what the card beside it says, not on how
    many cards the model would fit.

    >>> badge_markdown("org/name", "rtx-4090-24gb", 2)[:51]
    '[![gpusizer](https://ORIGIN/badge?model=org/name&gp'
    """
    if not is_repo_id(model):
        return None
    card = f"{count}x{gpu}"
    picture = urlencode({"model": model, "gpu": card}, safe="/")
    page = urlencode({"model": model, "gpus": card}, safe="/")
    return f"[![gpusizer]({ORIGIN}badge?{picture})]({ORIGIN}?{page})"


def _named(label: str, value: str, colour: str, model: str) -> Badge:
    return Badge(label, value, colour, f"{model} · {label}: {value}")


def _shown(text: str) -> str:
    return text if len(text) <= _MAX_CHARS else f"{text[: _MAX_CHARS - 1]}…"


def _half(text: str) -> float:
    return round(text_width(text) * _TEXT_SIZE / FONT) + 2 * _PADDING


def _text(text: str, left: float, width: float) -> Html:
    """Write a text in the middle of its half, as wide as was estimated, whatever font there is."""
    return el(
        "text",
        text,
        x=at(left + width / 2),
        y=_BASELINE,
        fill="#fff",
        font_family=_FONTS,
        font_size=_TEXT_SIZE,
        text_anchor="middle",
        textLength=at(width - 2 * _PADDING),
        lengthAdjust="spacingAndGlyphs",
    )
