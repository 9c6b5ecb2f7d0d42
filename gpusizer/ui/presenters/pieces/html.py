"""HTML elements, which escape every text that was not built by this module.

>>> str(el("a", "<script>", href="/zh", class_="x"))
'<a href="/zh" class="x">&lt;script&gt;</a>'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup

from gpusizer.core.printable import printable

_VOID = frozenset({"br", "input"})
_INERT = str.maketrans(
    {
        "&": "&amp;",
        "<": "&lt;",
        ">": "&gt;",
        '"': "&quot;",
        "'": "&#x27;",
        # Gradio's own HTML templates evaluate ${…} and {{…}}; ours does not, and this keeps it so.
        **{mark: f"&#{ord(mark)};" for mark in "${}`"},
    }
)
_LINE_ENDS = "\n"  # of commands and issues to copy; anywhere else they are spaces

Attribute = str | int | float | bool | None


Child = str | None


def escape(text: object) -> Markup:
    """Any text as inert, printable HTML; markup made here passes through."""
    if isinstance(text, Markup):
        return text
    return Markup(printable(str(text), keep=_LINE_ENDS).translate(_INERT))


def el(tag: str, *children: Child, **attributes: Attribute) -> Markup:
    """Build an element. `class_` is class, `data_gpu` is data-gpu; None and False are left out."""
    opening = f"<{tag}{''.join(_attribute(*item) for item in attributes.items())}>"
    if tag in _VOID:
        return Markup(opening)
    return Markup(f"{opening}{join(children)}</{tag}>")


def join(children: Iterable[Child], separator: str = "") -> Markup:
    """Join children, each escaped unless this module built it; None is left out."""
    return Markup(separator.join(escape(child) for child in children if child is not None))


def section(name: str, *children: Child, class_: str = "gs-section") -> Markup:
    """Build a part of the page that its script and its stylesheet know by name."""
    return el("section", *children, class_=class_, id=f"gs-{name}")


def fold(title: Child, *children: Child, class_: str = "", **attributes: Attribute) -> Markup:
    """Build what is folded below its title."""
    classes = f"gs-details {class_}".rstrip()
    return el("details", el("summary", title), *children, class_=classes, **attributes)


def bullets(items: Iterable[Child], class_: str | None = None, tag: str = "ul") -> Markup | None:
    """Build a list; None of no items."""
    listed = join(el("li", item) for item in items)
    return el(tag, listed, class_=class_) if listed else None


def button(text: str, class_: str = "gs-button", **attributes: Attribute) -> Markup:
    """Build a button that the page's script listens to."""
    return el("button", text, type="button", class_=class_, **attributes)


def outside(text: str, href: str, **attributes: Attribute) -> Markup:
    """Build a link to another site, which opens beside the page."""
    return el("a", text, href=href, target="_blank", rel="noopener noreferrer", **attributes)


def small(text: str | None) -> Markup | None:
    """Build small print; None of no text."""
    return el("small", text) if text else None


def defined(name: Child, value: Child, detail: str | None = None) -> Markup:
    """Build an entry of a `dl`: a name, and its value with small print."""
    return el("div", el("dt", name), el("dd", value, small(detail)))


def choices(
    kind: str,
    named: Mapping[str, str],
    label: str,
    pressed: str | None = "",
    class_: str = "gs-switch",
    **attributes: Attribute,
) -> Markup:
    """Build a button for each choice, by the name that the page's script reads from `data-kind`.

    None is `pressed` where choices are no states.
    """
    buttons = [
        el(
            "button",
            text,
            type="button",
            **{f"data_{kind}": name},
            aria_pressed=None if pressed is None else str(name == pressed).lower(),
        )
        for name, text in named.items()
    ]
    group = {"class_": class_, "role": "group", "aria_label": label}
    return el("div", join(buttons), **group, **attributes)


def _attribute(name: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(value)}"'
