"""Templates of `gpusizer/ui/templates/`, whose expressions are all escaped by `escape`.

A template gets `words`, so that sentences and numbers are those of the visitor's language. A name
without a value is an error instead of an empty text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gpusizer.core.printable import printable
from gpusizer.ui.presenters.pieces.number_format import percent
from gpusizer.ui.presenters.pieces.words import Words

_Row = TypeVar("_Row")
Columns = Mapping[str, Callable[[_Row], str]]
"""Columns of `table.html`: key of a heading, `page.column.<name>` -> writes the cell of a row."""
FOLDER = Path(__file__).resolve().parents[2] / "templates"
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
_NOTHING = Markup()


def escape(text: object) -> Markup:
    """Return any text as inert, printable HTML; markup as it is, nothing for None.

    >>> escape("<b> ${a}")
    Markup('&lt;b&gt; &#36;&#123;a&#125;')
    """
    if isinstance(text, Markup):
        return text
    if text is None:
        return _NOTHING
    return Markup(printable(str(text), keep=_LINE_ENDS).translate(_INERT))


TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER),
    autoescape=True,
    extensions=["jinja2.ext.do"],
    auto_reload=False,
    finalize=escape,
    lstrip_blocks=True,
    trim_blocks=True,
    undefined=StrictUndefined,
)
TEMPLATES.filters["percent"] = percent


def render(name: str, words: Words, **values: object) -> Markup:
    """Write a template with these values. Raises UndefinedError for a value that is missing."""
    return Markup(TEMPLATES.get_template(name).render(words=words, **values).strip())


def piece(name: str, *values: object) -> Markup:
    """Write a macro of `pieces.html`: a mark, or a cell of a table."""
    return _piece(name)(*values)


@cache
def _piece(name: str) -> Callable[..., Markup]:
    macro: Callable[..., Markup] = getattr(TEMPLATES.get_template("pieces.html").module, name)
    return macro
