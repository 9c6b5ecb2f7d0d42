"""What the author says, beside the numbers here: a section, folded where there is nothing."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import Markup

from gpusizer.ui.presenters.pieces.html import bullets, el, fold, join, outside, section
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.model_card.card_answer import ModelCardAnswer
from gpusizer.usecases.model_card.verdicts import CardVerdict, JudgedStatement

MOST_SHOWN = 40
_DIFFERING = (CardVerdict.NEEDS_MORE, CardVerdict.NEEDS_LESS)


def model_card_html(card: ModelCardAnswer | None, words: Words, use_href: str) -> Markup:
    """Write the statements with their verdicts.

    `use_href` is the page's address with the author's settings; the link needs a command.
    """
    return section(
        "model-card",
        fold(
            words("card.title"),
            el("p", _lead(card, words), class_="gs-lead"),
            _use_link(card, words, use_href),
            _list(card, words),
            open=bool(card and card.statements),
            class_="gs-model-card",
        ),
    )


def _lead(card: ModelCardAnswer | None, words: Words) -> str:
    if card is None:
        return words("card.unread")
    if not card.statements:
        return words("card.nothing")
    differing = sum(item.verdict in _DIFFERING for item in card.statements)
    return words("card.lead", count=len(card.statements), differing=differing)


def _use_link(card: ModelCardAnswer | None, words: Words, href: str) -> Markup | None:
    if card is None or card.command is None:
        return None
    return el("p", el("a", words("card.use"), href=href, class_="gs-button"))


def _list(card: ModelCardAnswer | None, words: Words) -> Markup | None:
    if card is None or not card.statements:
        return None
    shown = card.statements[:MOST_SHOWN]
    return bullets((_item(item, card.url, words) for item in shown), "gs-notes")


def _item(item: JudgedStatement, url: str, words: Words) -> Markup:
    verdict = el("strong", words(f"card.verdict.{item.verdict.value}"))
    quote = el("q", item.statement.quote, dir="auto")
    link, reason = _line_link(item, url, words), words.note(item.reason)
    return join((quote, " ", link, el("br"), verdict, ": ", reason))


def _line_link(item: JudgedStatement, url: str, words: Words) -> Markup:
    line = words("card.line", line=words.whole(item.statement.line))
    if not url:
        return el("small", line)
    href = f"{url}?code=true#L{item.statement.line}"
    return outside(line, href)


def statement_lines(card: ModelCardAnswer | None, words: Words) -> Iterator[tuple[str, str, str]]:
    """Quote, verdict and reason of each statement, for summaries."""
    for item in card.statements[:MOST_SHOWN] if card else ():
        verdict = words(f"card.verdict.{item.verdict.value}")
        yield item.statement.quote, verdict, words.note(item.reason)
