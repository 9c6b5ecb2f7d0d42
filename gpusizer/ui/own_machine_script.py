"""Remembers the visitor's machine and prices in his browser, and keeps an address's parameters.

The browser remembers what is typed. An address that states nothing of the machine is read as if it
stated what is remembered, which is written into it before the page asks.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from gpusizer.ui.embedding import EMBED_PARAMETERS
from gpusizer.ui.own_fields import OWN_FIELDS

STORED_MACHINE = "gs-own-machine"
"""Key of the browser's storage."""

_STORED = f"""const stored = () => {{
    try {{
      const own = JSON.parse(localStorage.getItem('{STORED_MACHINE}'));
      return own && typeof own === 'object' ? own : {{}};
    }} catch {{ return {{}}; }}
  }};"""

PAGE_ADDRESS_SCRIPT = f"""<script>{{
  const names = {json.dumps(OWN_FIELDS)}, kept = {json.dumps(EMBED_PARAMETERS)};
  {_STORED}
  const query = new URLSearchParams(location.search), own = stored();
  if (!location.pathname.endsWith('/endpoints') && !names.some(name => query.has(name))) {{
    for (const name of names) if (Number.isFinite(own[name])) query.set(name, own[name]);
    if (names.some(name => query.has(name))) {{
      history.replaceState(null, '', location.pathname + '?' + query);
    }}
  }}
  const carry = event => {{
    const link = event.target.closest?.('a[href]');
    const url = link && new URL(link.href), isHeader = link?.closest('.gs-header nav');
    const isOwn = url?.origin === location.origin && url.pathname === location.pathname;
    if (!(isOwn && url.search) && !isHeader) return;
    const here = new URLSearchParams(location.search);
    for (const name of [...kept, ...names]) {{
      if (here.has(name) && !url.searchParams.has(name)) {{
        url.searchParams.set(name, here.get(name));
      }}
    }}
    link.setAttribute('href', url.pathname + url.search);
  }};
  for (const event of ['click', 'auxclick']) document.addEventListener(event, carry, true);
}}</script>"""
"""Part of the document's head. Links to other questions carry the parameters of a frame, and the
machine."""

_SAME = f"""(...values) => {{
  const names = NAMES, typed = {{}};
  names.forEach((name, at) => {{
    if (typeof values[at] === 'number') typed[name] = values[at];
  }});
  {_STORED}
  const own = stored();
  names.forEach(name => delete own[name]);
  try {{
    localStorage.setItem('{STORED_MACHINE}', JSON.stringify({{...own, ...typed}}));
  }} catch {{}}
  const fold = Object.keys(typed).length ? {{open: true, __type__: 'update'}} : null;
  const folds = Array.from({{length: FOLDS}}, () => fold ?? {{__type__: 'update'}});
  return [...folds, ...SHARED.map(name => typed[name] ?? null)];
}}"""


def same_everywhere(names: Sequence[str], folds: int, shared: Sequence[str]) -> str:
    """Return a script that remembers the fields of one tab, in the order of `names`, and returns
    updates that open the folds of other tabs, and values for their fields `shared`."""
    written = _SAME.replace("NAMES", json.dumps(names)).replace("FOLDS", str(folds))
    return written.replace("SHARED", json.dumps(shared))
