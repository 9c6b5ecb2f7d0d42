"""Tab that sizes a model: form, answer, cards, memory, pictures, ranking."""

from __future__ import annotations

from collections.abc import Sequence

import gradio as gr

from gpusizer.ui.page.asked import Shown
from gpusizer.ui.page.handlers import Handlers
from gpusizer.ui.page.page_scripts import ANSWER, CARDS, call, script_text, search_label, wishing
from gpusizer.ui.page.tabs import pictures_section as pictures
from gpusizer.ui.page.tabs.tab_fields import Listeners, Part, grid, html, query_box
from gpusizer.ui.page.tabs.tab_form import TabForm, build_form
from gpusizer.ui.presenters.examples import welcome_html
from gpusizer.ui.presenters.pieces.errors import chips_html
from gpusizer.ui.presenters.pieces.templates import piece
from gpusizer.ui.presenters.tables import RANKING_COLUMNS

_PURPOSES = ("me", "users", "training")
"""For whom a model is to run: the visitor, several users, or to be fine-tuned."""


def build(
    handlers: Handlers, examples: Sequence[str], tab: gr.Tab, listeners: Listeners
) -> TabForm:
    """Build the tab."""
    words = handlers.words
    buttons: list[gr.HTML] = []

    def choices_below() -> None:
        buttons.append(
            html(piece("purposes", words, _PURPOSES), "gs-purpose", wishing("size", "purpose"))
        )
        chips = chips_html(examples, words("try"))
        buttons.append(html(chips, "gs-examples", wishing("size", "try")))

    form = build_form("size", words, choices_below)
    welcome = welcome_html(handlers.sample, words)
    # Parts of an answer, in the order of the page from top to bottom.
    search = search_label("gs-ranking-grid", words("search"))
    status = html("", "gs-status")
    answer = html(welcome, "gs-answer-block", wishing("size", *ANSWER))
    ranking = html("", "gs-ranking-block", search + wishing("size", "rank"))
    ranked = grid(RANKING_COLUMNS, words, "gs-ranking-grid", words("ranking.title"))
    more = html(
        piece("button", words("ranking.all")), "gs-ranking-all", wishing("size", "all_rows")
    )
    cards = html("", "gs-cards-block", wishing("size", *CARDS))
    memory = html("", "gs-memory-block")
    part = pictures.build(words)
    facts = html("", "gs-facts-block")
    query = query_box("gs-query")
    shown: dict[str, Part] = {
        "status": status,
        "answer": answer,
        "ranking": ranking,
        "ranked": ranked,
        "cards": cards,
        "memory": memory,
        "pictures": part.folded,
        "facts": facts,
    }
    asking = [*buttons, answer, cards, ranking, more]
    form.answer_by(handlers.ask, tab, shown, query, _start(welcome), asking, listeners)
    _share(handlers, answer, query, listeners)
    part.follow(query, handlers, listeners)
    return form


def _start(welcome: str) -> Shown:
    # Values of an answer's components before the first question.
    hidden = gr.update(visible=False)
    texts = dict.fromkeys(("status", "cards", "memory", "facts", "ranking", "query"), "")
    return {**texts, "answer": welcome, "pictures": hidden, "ranked": hidden}


def _share(handlers: Handlers, answer: gr.HTML, query: gr.Textbox, listeners: Listeners) -> None:
    # Buttons of an answer save files.
    wishes, files = query_box("gs-share-wishes"), query_box("gs-download")
    take = call("gsAsking.take", "share")
    taken = answer.take(handlers.share, [query, wishes], files, js=take, **listeners("share"))
    taken.then(None, [files], None, js=script_text("download"), **listeners.quiet("download"))
