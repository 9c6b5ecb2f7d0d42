"""HTML in which everything that was not built here is escaped.

>>> str(el("a", "<script>", href="/zh", class_="x"))
'<a href="/zh" class="x">&lt;script&gt;</a>'
"""

from __future__ import annotations

import html
from collections.abc import Iterable

_VOID = frozenset({"br", "input"})
# Gradio's own HTML templates evaluate ${…} and {{…}}; ours does not, and this keeps it so.
_TEMPLATE_CHARACTERS = str.maketrans(
    {"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;", "\0": "\ufffd"}
)

Attribute = str | int | float | bool | None


class Html(str):
    """Markup made by `el`, safe to nest without escaping it again."""

    __slots__ = ()


Child = str | None


def escape(text: object) -> Html:
    """Any text as inert HTML; markup made here passes through."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(str(text), quote=True).translate(_TEMPLATE_CHARACTERS))


def el(tag: str, *children: Child, **attributes: Attribute) -> Html:
    """One element. `class_` is class, `data_gpu` is data-gpu; None and False are left out."""
    opening = f"<{tag}{''.join(_attribute(*item) for item in attributes.items())}>"
    if tag in _VOID:
        return Html(opening)
    return Html(f"{opening}{join(children)}</{tag}>")


def join(children: Iterable[Child], separator: str = "") -> Html:
    """Children in a row, each escaped unless it was made here; None is left out."""
    return Html(separator.join(escape(child) for child in children if child is not None))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
