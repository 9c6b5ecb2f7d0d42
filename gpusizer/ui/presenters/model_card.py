"""The author's statements beside the numbers here: a section, folded where it is empty."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.model_card.card_answer import ModelCardAnswer
from gpusizer.usecases.model_card.verdicts import CardVerdict

MOST_SHOWN = 40
_DIFFERING = (CardVerdict.NEEDS_MORE, CardVerdict.NEEDS_LESS)


def model_card_html(card: ModelCardAnswer | None, words: Words, use_href: str) -> Markup:
    """Write the statements with their verdicts.

    `use_href` is the page's address with the author's settings; the link needs a command.
    """
    statements = card.statements[:MOST_SHOWN] if card else ()
    shown = {"card": card, "statements": statements, "use_href": use_href}
    return render("model_card.html", words, lead=_lead(card, words), **shown)


def _lead(card: ModelCardAnswer | None, words: Words) -> str:
    if card is None:
        return words("card.unread")
    if not card.statements:
        return words("card.nothing")
    differing = sum(item.verdict in _DIFFERING for item in card.statements)
    return words("card.lead", count=len(card.statements), differing=differing)


def statement_lines(card: ModelCardAnswer | None, words: Words) -> Iterator[tuple[str, str, str]]:
    """Quote, verdict and reason of each statement, for summaries."""
    for item in card.statements[:MOST_SHOWN] if card else ():
        verdict = words(f"card.verdict.{item.verdict.value}")
        yield item.statement.quote, verdict, words.note(item.reason)
