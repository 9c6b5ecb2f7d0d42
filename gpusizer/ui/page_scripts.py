"""The page's JavaScript: delegated listeners, and code that writes the address bar."""

from __future__ import annotations

import json

from gpusizer.ui.asking_script import wish
from gpusizer.ui.embedding import EMBED_PARAMETERS
from gpusizer.ui.forms import FORMS, OWN_FIELDS
from gpusizer.ui.presenters.badge import ORIGIN as BADGE_ORIGIN
from gpusizer.ui.script_files import script_text

_COPY_CODE = script_text("tell") + script_text("copy_code")
RANK = (
    script_text("rank")
    .replace("RANKED", wish("size", "rank", "rank.dataset.rank"))
    .replace("PICKED", wish("size", "pick", "pick.dataset.pick"))
)
"""Listeners of the ranking, whose grid is another component: clicks come from the document."""
_OWN_ADDRESS = script_text("own_address").replace("BADGE_ORIGIN", BADGE_ORIGIN)
_CARDS = _COPY_CODE + _OWN_ADDRESS + script_text("cards") + script_text("own_cards")
TRY = script_text("try").replace("CHOSEN", wish("size", "model", "chip.dataset.model"))
"""Listener of the buttons with example models."""
COPY = script_text("copy") + _COPY_CODE
"""Writes the page's own origin into code examples, and listens to their copy buttons."""
_LINKS = """document.querySelectorAll('.gs-header a').forEach(link => {
    link.href = link.getAttribute('href').split('?')[0] + search;
  });"""  # writes `search` into the links to other languages
_REMEMBER = f"""query => {{
  const kept = new URLSearchParams();
  new URLSearchParams(location.search).forEach((value, name) => {{
    if (KEPT.includes(name)) kept.set(name, value);
  }});
  const parts = ['TAB' + query, String(kept)].filter(Boolean);
  const search = query ? '?' + parts.join('&') : location.search;
  if (query && !gsAsking.write('NAME', search)) return;  // of a tab that is not open
  {_LINKS}
}}"""
TAB_ID = "gs-tab-"
"""Prefix of the id of a tab's element, before the tab's name."""
_WRITE_TAB = f"""const KEPT = {json.dumps((*EMBED_PARAMETERS, *OWN_FIELDS))};
  const open = document.querySelector('#gs-tabs [role=tab][aria-selected=true]');
  const name = open.id.replace(/^{TAB_ID}|-button$/g, '');
  if (name === gsAsking.named()) return;
  const search = gsAsking.searchOf(name, KEPT);
  gsAsking.go(search, true);
  {_LINKS}"""
ON_TAB = f"""() => {{
  if (!window.gsLoaded) return;  // the page opened the tab, not the visitor
  {_WRITE_TAB}
}}"""
"""Runs when another tab opens: writes its name into the address bar."""
LOADED = f"""() => {{
  gsAsking.loaded(gsAsking.named());
  if (window.gsLoaded) return;
  window.gsLoaded = true;
  if (new URLSearchParams(location.search).has('tab')) return;
  {_WRITE_TAB}
}}"""
"""Runs once the fields show the address: from now on only the visitor opens tabs. If the address
names no tab, writes the one that the visitor has opened meanwhile."""
LOAD = "() => gsAsking.load()"
"""Passes the address to the listener that fills the page."""
HEADER = """document.addEventListener('click', e => {
  const link = e.target.closest('.gs-skip');
  if (!link) return;
  e.preventDefault();  // the document has a base address, which another page has
  if (gsAsking.skip()) return;
  const part = document.querySelector(link.hash);
  if (!part) return;
  part.tabIndex = -1;
  part.focus();
  part.scrollIntoView();
});
const told = () => document.querySelectorAll('button.label-wrap').forEach(button => {
  const isOpen = String(button.classList.contains('open'));
  if (button.getAttribute('aria-expanded') !== isOpen) button.setAttribute('aria-expanded', isOpen);
});
new MutationObserver(told).observe(document.body, {
  childList: true, subtree: true, attributes: true, attributeFilter: ['class'],
});
told();
addEventListener('popstate', () => {
  if (gsAsking.isElsewhere()) trigger('input');
});"""
"""Listeners of the header: the link past the form; folds tell whether they are open, which Gradio
leaves out; the page is filled anew when the visitor goes back or forward."""

COMPARE = script_text("compare").replace("PICKED", wish("compare", "pick", "pick.dataset.pick"))
"""Listener of the catalogue: puts one of its GPUs side by side."""

COPIES = script_text("copies")
"""Listener of the list of models, whose clicks are caught at the document."""
ANSWER = script_text("tell") + script_text("share") + script_text("views")
"""Listeners of the share buttons and of those that show a view below the answer. Gradio has an
event `share` of its own."""
TAKE = "query => [query, gsAsking.take('share')]"
"""Passes the kinds of files that were asked for."""

DOWNLOAD = script_text("download")
"""Saves the files that share buttons have requested."""


def cards(tab: str) -> str:
    """Return the listeners of GPUs side by side: remove one, add one by its name, choose their
    quantizations, copy a command."""
    script = _CARDS.replace("DROPPED", wish(tab, "drop", "remove.dataset.remove"))
    script = script.replace("PLANNED", wish(tab, "plans", "plans.dataset.plans"))
    script = script.replace("OWN_PICK", wish(tab, "pick", "pick.dataset.own"))
    return script.replace("PICKED", wish(tab, "pick", "gpu"))


def search_label(grid_id: str, label: str) -> str:
    """Return a script that labels a grid's search field, which Gradio labels in English only."""
    return script_text("search_label", LABEL=label).replace("GRID", grid_id)


def remember(tab: str) -> str:
    """Return a script that writes a tab's query into the address bar and the language links.

    Parameters of a frame stay, and what is said of the machine in fields that the tab lacks.
    """
    kept = (*EMBED_PARAMETERS, *(name for name in OWN_FIELDS if name not in FORMS[tab].own))
    script = _REMEMBER.replace("TAB", "" if tab == "size" else f"tab={tab}&")
    return script.replace("KEPT", json.dumps(kept)).replace("NAME", tab)


def copy_script(origin: str) -> str:
    """Return `COPY` for examples whose addresses begin with `origin`."""
    return COPY.replace("'ORIGIN'", json.dumps(origin))


def language_script(locale: str, title: str) -> str:
    """Return a script that sets the document's language and title.

    It also shows the link to the page in the browser's language, if that is another one.
    """
    return (
        f"document.documentElement.lang = {json.dumps(locale)};"
        f" document.title = {json.dumps(title, ensure_ascii=True)};"
        " const spoken = navigator.language.slice(0, 2);"
        " const hints = document.querySelectorAll(`[data-hint='${spoken}']`);"
        " hints.forEach(hint => { hint.hidden = false; });"
    )
