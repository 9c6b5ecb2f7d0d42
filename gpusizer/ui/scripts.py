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

CARDS = """element.addEventListener('click', e => {
  const gone = e.target.closest('[data-remove]');
  if (gone) { trigger('drop', {gpu: gone.dataset.remove}); return; }
  const copy = e.target.closest('[data-copy]');
  if (!copy) return;
  navigator.clipboard.writeText(copy.closest('figure').querySelector('code').textContent);
  const label = copy.textContent;
  copy.textContent = copy.dataset.done;
  setTimeout(() => { copy.textContent = label; }, 1500);
});
element.addEventListener('submit', e => {
  e.preventDefault();
  const gpu = e.target.elements.gpu.value.trim();
  if (gpu) trigger('pick', {gpu: gpu});
  e.target.reset();
});"""
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

COPY = """element.querySelectorAll('pre code').forEach(code => {
  code.textContent = code.textContent.replaceAll('ORIGIN', location.origin);
});
element.addEventListener('click', e => {
  const copy = e.target.closest('[data-copy]');
  if (!copy) return;
  navigator.clipboard.writeText(copy.closest('figure').querySelector('code').textContent);
  const label = copy.textContent;
  copy.textContent = copy.dataset.done;
  setTimeout(() => { copy.textContent = label; }, 1500);
});"""
"""Code examples: the real address, and a button that copies."""

_REMEMBER = """query => {
  const search = query ? '?' + 'TAB' + query : location.search;
  history.replaceState(null, '', location.pathname + search + location.hash);
  document.querySelectorAll('.gs-header a').forEach(link => {
    link.href = link.getAttribute('href').split('?')[0] + search;
  });
}"""
TAB_ID = "gs-tab-"
"""What the element of a tab is called, before the tab's name."""
ON_TAB = """() => {
  if (!window.gsLoaded) return;  // opened by the page itself, not by a visitor
  const open = document.querySelector('#gs-tabs [role=tab][aria-selected=true]');
  const name = open.id.replace(/^TAB_ID|-button$/g, '');
  const at = new URL(location.href);
  if (name === 'size') at.searchParams.delete('tab'); else at.searchParams.set('tab', name);
  history.replaceState(null, '', at);
  document.querySelectorAll('.gs-header a').forEach(link => {
    link.href = link.getAttribute('href').split('?')[0] + at.search;
  });
}""".replace("TAB_ID", TAB_ID)
"""Write which tab is open into the address bar."""

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


SHARE = """element.addEventListener('click', e => {
  const share = e.target.closest('[data-share]');
  if (!share) return;
  if (share.dataset.share !== 'link') { trigger('take', {kind: share.dataset.share}); return; }
  navigator.clipboard.writeText(location.href);
  const label = share.textContent;
  share.textContent = share.dataset.done;
  setTimeout(() => { share.textContent = label; }, 1500);
});"""
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


LOADED = "() => { window.gsLoaded = true; }"
"""The address has been answered: from now on tabs are opened by the visitor."""


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
