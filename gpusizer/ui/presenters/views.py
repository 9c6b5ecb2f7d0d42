"""What stands below an answer, one view at a time; the link past what a visitor does not want to
tab through."""

from __future__ import annotations

from typing import Literal

from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.words import Words

View = Literal["ranking", "cards", "memory", "facts"]
VIEWS: tuple[View, ...] = ("ranking", "cards", "memory", "facts")
"""The GPUs that run a model, those side by side, its memory, and what the model is."""


def views_html(first: View, words: Words) -> Html:
    """Write the buttons that show a view each (`ui/scripts/views.js`); `first` is shown until the
    visitor chooses another."""
    buttons = [
        el("button", words(f"view.{view}"), type="button", data_view=view, aria_pressed="false")
        for view in VIEWS
    ]
    return el(
        "div",
        join(buttons),
        class_="gs-views",
        role="group",
        aria_label=words("views"),
        data_first=first,
    )


def skip_html(words: Words) -> Html:
    """Write the page's first link, which is seen once it has the focus, and where the page's
    script tells that an answer is finished."""
    skip = el("a", words("skip"), href="#gs-tabs", class_="gs-skip")
    return join((skip, el("p", class_="gs-told", role="status")))
