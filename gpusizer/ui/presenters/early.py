"""The model's field before Gradio has one: typed into at once, handed over when the page is up."""

from __future__ import annotations

from gpusizer.ui.presenters.frame import LOCALES, PATHS, header_html
from gpusizer.ui.presenters.html import Html, el
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.scripts import language_script

HAND_OVER = """(() => {
  const early = document.getElementById('gs-early');
  const typed = early.querySelector('input');
  let composing = false;  // an input method's unfinished word would be lost
  const look = () => {
    const field = document.querySelector('#gs-model input');
    if (!field || composing) return;
    watch.disconnect();
    const focused = document.activeElement === typed;
    const selected = [typed.selectionStart, typed.selectionEnd];
    if (typed.value) {
      field.value = typed.value;
      field.dispatchEvent(new Event('input', {bubbles: true}));
    }
    early.remove();
    if (focused) { field.focus(); field.setSelectionRange(...selected); }
  };
  const watch = new MutationObserver(look);
  typed.addEventListener('compositionstart', () => { composing = true; });
  typed.addEventListener('compositionend', () => { composing = false; look(); });
  watch.observe(document.body, {childList: true, subtree: true});
})();"""


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
