"""Templates of `gpusizer/ui/templates/`, whose expressions are escaped as by `html.escape`.

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

from gpusizer.ui.presenters.pieces.html import escape
from gpusizer.ui.presenters.pieces.number_format import percent
from gpusizer.ui.presenters.pieces.words import Words

_Row = TypeVar("_Row")
Columns = Mapping[str, Callable[[_Row], str]]
"""Columns of `table.html`: key of a heading, `page.column.<name>` -> writes the cell of a row."""
FOLDER = Path(__file__).resolve().parents[2] / "templates"


def _inert(value: object) -> Markup:
    """The value of an expression: markup as it is, nothing for None, any other text escaped."""
    return Markup() if value is None else escape(value)


TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER),
    autoescape=True,
    auto_reload=False,
    finalize=_inert,
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
