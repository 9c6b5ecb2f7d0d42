"""The page's JavaScript: delegated listeners and the address bar. No answer is built here."""

from __future__ import annotations

import json

PICK = """element.addEventListener('click', e => {
  const pick = e.target.closest('[data-pick]');
  if (pick) { trigger('pick', {gpu: pick.dataset.pick}); pick.classList.add('gs-done');
    const cards = document.getElementById('gs-cards');
    if (cards) cards.scrollIntoView({behavior: 'smooth', block: 'start'}); return; }
  const rank = e.target.closest('[data-rank]');
  if (rank) { trigger('rank', {order: rank.dataset.rank}); return; }
  const more = e.target.closest('[data-more]');
  if (more) { more.closest('.gs-short').classList.remove('gs-short'); more.remove(); }
});"""
"""Ranking: put a GPU side by side, change the order, show all rows."""

_TELL = """const tell = button => {
  const label = button.textContent;
  button.textContent = button.dataset.done;
  setTimeout(() => { button.textContent = label; }, 1500);
};
"""  # for a moment, that it is done
_COPY_CODE = f"""{_TELL}element.addEventListener('click', e => {{
  const copy = e.target.closest('[data-copy]');
  if (!copy) return;
  navigator.clipboard.writeText(copy.closest('figure').querySelector('code').textContent);
  tell(copy);
}});
"""

CARDS = f"""{_COPY_CODE}element.addEventListener('click', e => {{
  const gone = e.target.closest('[data-remove]');
  if (gone) trigger('drop', {{gpu: gone.dataset.remove}});
}});
element.addEventListener('submit', e => {{
  e.preventDefault();
  const gpu = e.target.elements.gpu.value.trim();
  if (gpu) trigger('pick', {{gpu: gpu}});
  e.target.reset();
}});"""
"""Cards: remove one, add one by name, copy its command."""

PICTURES = """element.addEventListener('toggle', e => {
  if (e.target.matches('.gs-pictures')) element.dataset.open = e.target.open ? 'yes' : '';
}, true);
new MutationObserver(() => {
  const folded = element.querySelector('.gs-pictures:not([open])');
  if (folded && element.dataset.open) folded.open = true;
}).observe(element, {childList: true, subtree: true});"""
"""Pictures: unfolded once, they stay so when they are drawn anew."""

TRY = """element.addEventListener('click', e => {
  const chip = e.target.closest('[data-model]');
  if (chip) trigger('choose', {model: chip.dataset.model});
});"""
"""Example chips."""

COPY = f"""element.querySelectorAll('pre code').forEach(code => {{
  code.textContent = code.textContent.replaceAll('ORIGIN', location.origin);
}});
{_COPY_CODE}"""
"""Code examples: the real address, and a button that copies."""

_CARRY = """history.replaceState(null, '', location.pathname + search + location.hash);
  document.querySelectorAll('.gs-header a').forEach(link => {
    link.href = link.getAttribute('href').split('?')[0] + search;
  });"""  # into the address bar, and over to the other languages
_REMEMBER = f"""query => {{
  const search = query ? '?' + 'TAB' + query : location.search;
  {_CARRY}
}}"""
TAB_ID = "gs-tab-"
"""What the element of a tab is called, before the tab's name."""
_WRITE_TAB = f"""const open = document.querySelector('#gs-tabs [role=tab][aria-selected=true]');
  const name = open.id.replace(/^{TAB_ID}|-button$/g, '');
  const asked = new URLSearchParams(location.search);
  if (name === (asked.get('tab') ?? 'size')) return;
  if (name === 'size') asked.delete('tab'); else asked.set('tab', name);
  const search = asked.toString() && '?' + asked;
  {_CARRY}"""
ON_TAB = f"""() => {{
  if (!window.gsLoaded) return;  // opened by the page itself, not by a visitor
  {_WRITE_TAB}
}}"""
"""Write which tab is open into the address bar."""
LOADED = f"""() => {{
  window.gsLoaded = true;
  if (new URLSearchParams(location.search).has('tab')) return;
  {_WRITE_TAB}
}}"""
"""The address has been answered: from now on tabs are opened by the visitor, and one that is open
though no address asked for it has been."""

FILTER = """element.addEventListener('input', e => {
  if (e.target.name !== 'filter') return;
  const words = e.target.value.toLowerCase().split(/\\s+/).filter(Boolean);
  let shown = 0;
  element.querySelectorAll('tbody tr').forEach(row => {
    row.hidden = !words.every(word => row.dataset.names.includes(word));
    shown += !row.hidden;
  });
  element.querySelector('.gs-empty').hidden = shown > 0;
});
element.addEventListener('click', e => {
  const pick = e.target.closest('[data-pick]');
  if (!pick) return;
  const at = new URL(location.href);
  const gpus = (at.searchParams.get('gpus') || '').split(',').filter(Boolean);
  if (!gpus.includes(pick.dataset.pick)) gpus.push(pick.dataset.pick);
  at.searchParams.set('gpus', gpus.slice(-4).join(','));
  at.searchParams.set('tab', 'compare');
  location.href = at;
});"""
"""Catalogue: hide the rows that lack a word, put a GPU side by side."""


SHARE = f"""{_TELL}element.addEventListener('click', e => {{
  const share = e.target.closest('[data-share]');
  if (!share) return;
  if (share.dataset.share !== 'link') {{ trigger('take', {{kind: share.dataset.share}}); return; }}
  navigator.clipboard.writeText(location.href);
  tell(share);
}});"""
"""Share: copy the address, ask for a file. ("share" is an event of Gradio's own.)"""

DOWNLOAD = """made => {
  if (!made) return;
  const {name, type, text} = JSON.parse(made);
  const at = URL.createObjectURL(new Blob([text], {type}));
  const link = Object.assign(document.createElement('a'), {href: at, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(at), 1000);
}"""
"""Give the visitor a file that was made for this click."""


_PARTS = ["gradio-app .gs-header", "#gs-go", "#gs-model input"]
HAND_OVER = """(() => {
  const early = document.getElementById('gs-early');
  const typed = early.querySelector('input');
  let composing = false;  // an input method's unfinished word would be lost
  const look = () => {
    const parts = PARTS.map(part => document.querySelector(part));  // they come in any order
    if (composing || !parts.every(part => part)) return;
    const field = parts.at(-1);
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
})();""".replace("PARTS", json.dumps(_PARTS))
"""Until Gradio has drawn what the early form shows: then what was typed goes into its field."""


def remember(tab: str) -> str:
    """Write a tab's state into the address bar and into the links to the other languages."""
    return _REMEMBER.replace("TAB", "" if tab == "size" else f"tab={tab}&")


def copy_script(origin: str) -> str:
    """`COPY` for examples that were written for `origin`."""
    return COPY.replace("'ORIGIN'", json.dumps(origin))


def language_script(locale: str, title: str) -> str:
    """Tell the browser and screen readers the page's language and title; offer the visitor's."""
    return (
        f"document.documentElement.lang = {json.dumps(locale)};"
        f" document.title = {json.dumps(title, ensure_ascii=True)};"
        " const spoken = navigator.language.slice(0, 2);"
        " const hints = document.querySelectorAll(`[data-hint='${spoken}']`);"
        " hints.forEach(hint => { hint.hidden = false; });"
    )
