"""Links past what a visitor does not want to tab through."""

from __future__ import annotations

from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.words import Words

_PARTS = ("memory", "cards", "ranking")
"""Sections of an answer below its headline, in the order in which they are linked."""


def jumps_html(words: Words) -> Html:
    """Write links from the headline to the other sections of an answer."""
    links = [el("a", words(f"{part}.title"), href=f"#gs-{part}") for part in _PARTS]
    return el("nav", join(links), class_="gs-jumps gs-small", aria_label=words("jumps"))


def skip_html(words: Words) -> Html:
    """Write the page's first link, which is seen once it has the focus, and where the page's
    script tells that an answer is finished."""
    skip = el("a", words("skip"), href="#gs-tabs", class_="gs-skip")
    return join((skip, el("p", class_="gs-told", role="status")))
