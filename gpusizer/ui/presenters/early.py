"""The model's field before Gradio has one: typed into at once, handed over when the page is up."""

from __future__ import annotations

from gpusizer.ui.presenters.frame import LOCALES, PATHS, header_html
from gpusizer.ui.presenters.html import Html, el
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.scripts import HAND_OVER, language_script


def early_html(words: Words) -> Html:
    """Header and form as the page will show them; submitted early, the address asks."""
    label = words("model.label")
    field = el(
        "input", name="model", aria_label=label, placeholder=words("model.placeholder"),
        autocomplete="off", autocapitalize="off", spellcheck="false",
    )  # fmt: skip
    form = el("form", field, el("button", words("go")), action=PATHS[words.language])
    tabs = el("div", words("tab.size"), class_="gs-early-tabs", aria_hidden="true")
    early = el("div", header_html(words), tabs, form, class_="gs-early", id="gs-early")
    named = language_script(LOCALES[words.language], words("document_title"))
    return Html(f"{early}<script>{{{named}}} {HAND_OVER}</script>")
