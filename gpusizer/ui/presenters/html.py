"""HTML elements, which escape every text that was not built by this module.

>>> str(el("a", "<script>", href="/zh", class_="x"))
'<a href="/zh" class="x">&lt;script&gt;</a>'
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from gpusizer.core.printable import printable

_VOID = frozenset({"br", "input"})
# Gradio's own HTML templates evaluate ${…} and {{…}}; ours does not, and this keeps it so.
_TEMPLATE_CHARACTERS = str.maketrans({"$": "&#36;", "{": "&#123;", "}": "&#125;", "`": "&#96;"})
_LINE_ENDS = "\n"  # of commands and issues to copy; anywhere else they are spaces

Attribute = str | int | float | bool | None


class Html(str):
    """Markup made by `el`, safe to nest without escaping it again."""

    __slots__ = ()


Child = str | None


def escape(text: object) -> Html:
    """Any text as inert, printable HTML; markup made here passes through."""
    if isinstance(text, Html):
        return text
    shown = printable(str(text), keep=_LINE_ENDS)
    return Html(html.escape(shown, quote=True).translate(_TEMPLATE_CHARACTERS))


def el(tag: str, *children: Child, **attributes: Attribute) -> Html:
    """Build an element. `class_` is class, `data_gpu` is data-gpu; None and False are left out."""
    opening = f"<{tag}{''.join(_attribute(*item) for item in attributes.items())}>"
    if tag in _VOID:
        return Html(opening)
    return Html(f"{opening}{join(children)}</{tag}>")


def join(children: Iterable[Child], separator: str = "") -> Html:
    """Join children, each escaped unless this module built it; None is left out."""
    return Html(separator.join(escape(child) for child in children if child is not None))


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
