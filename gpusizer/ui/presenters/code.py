"""Blocks of text to copy: an example, a command, an issue."""

from __future__ import annotations

from gpusizer.ui.presenters.html import Html, el
from gpusizer.ui.presenters.words import Words


def code_html(title: str, code: str, words: Words, language: str | None = None) -> Html:
    """Write a block of code with a button that copies it."""
    copy = el(
        "button",
        words("copy"),
        type="button",
        class_="gs-button",
        data_copy=True,
        data_done=words("copied"),
    )
    return el(
        "figure",
        el("figcaption", title, copy),
        el("pre", el("code", code), tabindex=0),
        class_="gs-code",
        data_language=language,
    )
