"""Templates of `gpusizer/ui/templates/`, whose expressions are escaped as by `html.escape`.

A template gets `words`, so that sentences and numbers are those of the visitor's language. A name
without a value is an error instead of an empty text.
"""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from gpusizer.ui.presenters.pieces.html import escape
from gpusizer.ui.presenters.pieces.words import Words

FOLDER = Path(__file__).resolve().parents[2] / "templates"


def _inert(value: object) -> object:
    """The value of an expression: markup as it is, nothing for None, any other text escaped."""
    if value is None:
        return Markup("")
    return value if hasattr(value, "__html__") else escape(value)


_TEMPLATES = Environment(
    loader=FileSystemLoader(FOLDER),
    autoescape=True,
    auto_reload=False,
    finalize=_inert,
    lstrip_blocks=True,
    trim_blocks=True,
    undefined=StrictUndefined,
)


def render(name: str, words: Words, **values: object) -> Markup:
    """Write a template with these values. Raises UndefinedError for a value that is missing."""
    return Markup(_TEMPLATES.get_template(name).render(words=words, **values).strip())
