"""The page's JavaScript: delegated listeners, and code that writes the address bar."""

from __future__ import annotations

import json

from gpusizer.ui.embedding import EMBED_PARAMETERS
from gpusizer.ui.own_fields import OWN_FIELDS, OWN_FIELDS_OF
from gpusizer.ui.presenters.badge import ORIGIN as BADGE_ORIGIN

RANK = """element.addEventListener('click', e => {
  const rank = e.target.closest('[data-rank]');
  if (rank) trigger('rank', {order: rank.dataset.rank});
});
document.addEventListener('click', e => {
  const pick = e.target.closest('#gs-ranking-grid [data-pick]');
  if (!pick) return;
  e.preventDefault();
  trigger('pick', {gpu: pick.dataset.pick});
  pick.classList.add('gs-done');
  document.getElementById('gs-cards')?.scrollIntoView({behavior: 'smooth', block: 'start'});
});"""
"""Listeners of the ranking: order it by another policy; add a GPU of the grid to the comparison.

The grid is another component, so that its clicks are caught at the document."""

_TELL = """const tell = button => {
  const label = button.textContent;
  button.textContent = button.dataset.done;
  setTimeout(() => { button.textContent = label; }, 1500);
};
"""  # shows the label in `data-done` on a button for 1.5 seconds
_COPY_CODE = f"""{_TELL}element.addEventListener('click', e => {{
  const copy = e.target.closest('[data-copy]');
  if (!copy) return;
  navigator.clipboard.writeText(copy.closest('figure').querySelector('code').textContent);
  tell(copy);
}});
"""

_OWN_ADDRESS = f"""const own = new URL('.', location.href).href;
const fill = () => element.querySelectorAll('pre code').forEach(code => {{
  if (!code.textContent.includes('{BADGE_ORIGIN}')) return;
  code.textContent = code.textContent.replaceAll('{BADGE_ORIGIN}', own);
}});
new MutationObserver(fill).observe(element, {{childList: true, subtree: true}});
fill();
"""  # writes the page's own address into the Markdown of badges, whenever cards change

CARDS = f"""{_COPY_CODE}{_OWN_ADDRESS}element.addEventListener('click', e => {{
  const remove = e.target.closest('[data-remove]');
  if (remove) trigger('drop', {{gpu: remove.dataset.remove}});
}});
element.addEventListener('submit', e => {{
  e.preventDefault();
  const gpu = e.target.elements.gpu.value.trim();
  if (gpu) trigger('pick', {{gpu: gpu}});
  e.target.reset();
}});"""
"""Listeners of the cards: remove a card, add one by its GPU's name, copy its command."""

TRY = """element.addEventListener('click', e => {
  const chip = e.target.closest('[data-model]');
  if (chip) trigger('choose', {model: chip.dataset.model});
});"""
"""Listener of the buttons with example models."""

COPY = f"""element.querySelectorAll('pre code').forEach(code => {{
  code.textContent = code.textContent.replaceAll('ORIGIN', location.origin);
}});
{_COPY_CODE}"""
"""Writes the page's own origin into code examples, and listens to their copy buttons."""

_CARRY = """history.replaceState(null, '', location.pathname + search + location.hash);
  document.querySelectorAll('.gs-header a').forEach(link => {
    link.href = link.getAttribute('href').split('?')[0] + search;
  });"""  # writes `search` into the address bar and the links to other languages
_REMEMBER = f"""query => {{
  const kept = new URLSearchParams();
  new URLSearchParams(location.search).forEach((value, name) => {{
    if (KEPT.includes(name)) kept.set(name, value);
  }});
  const parts = ['TAB' + query, String(kept)].filter(Boolean);
  const search = query ? '?' + parts.join('&') : location.search;
  {_CARRY}
}}"""
TAB_ID = "gs-tab-"
"""Prefix of the id of a tab's element, before the tab's name."""
_WRITE_TAB = f"""const open = document.querySelector('#gs-tabs [role=tab][aria-selected=true]');
  const name = open.id.replace(/^{TAB_ID}|-button$/g, '');
  const query = new URLSearchParams(location.search);
  if (name === (query.get('tab') ?? 'size')) return;
  if (name === 'size') query.delete('tab'); else query.set('tab', name);
  const search = query.toString() && '?' + query;
  {_CARRY}"""
ON_TAB = f"""() => {{
  if (!window.gsLoaded) return;  // the page opened the tab, not the visitor
  {_WRITE_TAB}
}}"""
"""Runs when another tab opens: writes its name into the address bar."""
LOADED = f"""() => {{
  window.gsLoaded = true;
  if (new URLSearchParams(location.search).has('tab')) return;
  {_WRITE_TAB}
}}"""
"""Runs once the address is answered: from now on only the visitor opens tabs. If the address names
no tab, writes the one that the visitor has opened meanwhile."""

COMPARE = """document.addEventListener('click', e => {
  const pick = e.target.closest('#gs-catalogue-grid [data-pick]');
  if (!pick) return;
  e.preventDefault();
  const url = new URL(location.href);
  const gpus = (url.searchParams.get('gpus') || '').split(',').filter(Boolean);
  if (!gpus.includes(pick.dataset.pick)) gpus.push(pick.dataset.pick);
  url.searchParams.set('gpus', gpus.slice(-4).join(','));
  url.searchParams.set('tab', 'compare');
  location.href = url;
});"""
"""Listener of the catalogue: opens the comparison with this GPU and the last three picked."""

COPIES = """const box = document.createElement('div');
box.id = 'gs-copies-box';
box.className = 'gs-section gs-copies-box';
box.popover = 'auto';
document.querySelector('.gradio-container').append(box);
document.addEventListener('click', e => {
  const more = e.target.closest('#gs-reverse-grid [data-copies]');
  if (!more) return;
  e.preventDefault();
  const families = [...element.querySelectorAll('[data-family]')];
  const family = families.find(part => part.dataset.family === more.dataset.copies);
  if (!family) return;
  box.replaceChildren(...[...family.children].map(part => part.cloneNode(true)));
  box.showPopover();
  const row = more.getBoundingClientRect(), {width, height} = box.getBoundingClientRect();
  const below = row.bottom + 6, fits = below + height < innerHeight;
  box.style.left = Math.max(16, Math.min(row.left, innerWidth - width - 16)) + 'px';
  box.style.top = (fits ? below : Math.max(8, row.top - height - 6)) + 'px';
  // The table selects the cell that was clicked, and focuses it.
  requestAnimationFrame(() => box.querySelector('a').focus({preventScroll: true}));
});
for (const event of ['wheel', 'touchmove']) document.addEventListener(event, e => {
  if (!box.contains(e.target) && box.matches(':popover-open')) box.hidePopover();
}, {passive: true});"""
"""Listener of the list of models: shows the copies of a row, which are below the list, at the row.

The list is another component, so that its clicks are caught at the document."""

_SEARCH_LABEL = """new MutationObserver(() => {
  const field = document.querySelector('#GRID [role=toolbar] input');
  if (!field || field.placeholder === LABEL) return;
  field.placeholder = field.title = LABEL;
  field.setAttribute('aria-label', LABEL);
}).observe(document.getElementById('gs-tabs'), {childList: true, subtree: true});
"""

SHARE = f"""{_TELL}element.addEventListener('click', e => {{
  const share = e.target.closest('[data-share]');
  if (!share) return;
  if (share.dataset.share !== 'link') {{ trigger('take', {{kind: share.dataset.share}}); return; }}
  navigator.clipboard.writeText(location.href);
  tell(share);
}});"""
"""Listener of the share buttons: copies the address, or requests a file by the event `take`.

Gradio has an event `share` of its own."""

DOWNLOAD = """file => {
  if (!file) return;
  const {name, type, text} = JSON.parse(file);
  const url = URL.createObjectURL(new Blob([text], {type}));
  const link = Object.assign(document.createElement('a'), {href: url, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}"""
"""Saves the file that a share button has requested (`Download.to_json`)."""


def search_label(grid_id: str, label: str) -> str:
    """Return a script that labels a grid's search field, which Gradio labels in English only."""
    return _SEARCH_LABEL.replace("GRID", grid_id).replace("LABEL", json.dumps(label))


def remember(tab: str) -> str:
    """Return a script that writes a tab's query into the address bar and the language links.

    Parameters of a frame stay, and what is said of the machine in fields that the tab lacks.
    """
    kept = (*EMBED_PARAMETERS, *(name for name in OWN_FIELDS if name not in OWN_FIELDS_OF[tab]))
    script = _REMEMBER.replace("TAB", "" if tab == "size" else f"tab={tab}&")
    return script.replace("KEPT", json.dumps(kept))


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
