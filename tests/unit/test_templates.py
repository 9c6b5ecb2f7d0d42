"""Every expression of every template is escaped, whatever it is given."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jinja2 import meta
from jinja2.nodes import Macro

from gpusizer.ui.presenters.pieces.templates import FOLDER, TEMPLATES, escape, piece, render
from tests.hostile import ATTACKS
from tests.pages import inert

_ATTACK = " ".join(ATTACKS)
_NAMES = sorted(path.name for path in FOLDER.iterdir())
_PIECES = {
    macro.name: len(macro.args)
    for macro in TEMPLATES.parse((FOLDER / "pieces.html").read_text("utf-8")).find_all(Macro)
}
"""Name of a piece -> number of its arguments."""
_PAGE_TAGS = ("html", "head", "body", "meta", "style", "title", "article", "q", "br")


class Hostile:
    """A text that attacks; so are its attributes, its elements, and what it returns or counts."""

    def __init__(self, text: str, *, truth: bool = True) -> None:
        self._text, self._truth = text, truth

    def __str__(self) -> str:
        return self._text

    def __format__(self, specification: str) -> str:
        return self._text

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return [(self, self, self)] if name == "kinds" else self

    def __call__(self, *_: object, **__: object) -> Hostile:
        return self

    def __bool__(self) -> bool:
        return self._truth

    def __iter__(self) -> Iterator[Hostile]:
        return iter((self, self))

    def __len__(self) -> int:
        return 2

    def __contains__(self, _: object) -> bool:
        return self._truth

    def __getitem__(self, _: object) -> Hostile:
        return self

    def _compared(self, _: object) -> bool:
        return self._truth

    __lt__ = __le__ = __gt__ = __ge__ = _compared

    def __float__(self) -> float:
        return 1.0

    def __index__(self) -> int:
        return 1

    def _counted(self, _: object) -> Hostile:
        return self

    __mul__ = __rmul__ = __sub__ = __rsub__ = __truediv__ = __add__ = _counted

    def items(self) -> list[tuple[Hostile, Hostile]]:
        return [(self, self)]


def _values(name: str, hostile: Hostile) -> dict[str, Any]:
    """Return a hostile value for every name that a template uses."""
    source = (FOLDER / name).read_text("utf-8")
    names = meta.find_undeclared_variables(TEMPLATES.parse(source)) - {"words"}
    values: dict[str, Any] = dict.fromkeys(names, hostile)
    return values | _unpacked(hostile).get(name, {})


def _unpacked(hostile: Hostile) -> dict[str, dict[str, Any]]:
    """Values by template whose elements it unpacks into more than two."""
    three, four = (hostile,) * 3, (hostile,) * 4
    return {
        "facts.html": {"facts": [four]},
        "welcome.html": {"cards": [three]},
        "docs.html": {"questions": [(hostile, hostile, [four])]},
    }


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("name", _NAMES)
def test_every_expression_is_escaped(name: str, truth: bool) -> None:
    hostile = Hostile(_ATTACK, truth=truth)
    words: Any = hostile
    inert(render(name, words, **_values(name, hostile)), _PAGE_TAGS)


@pytest.mark.parametrize("truth", [True, False])
@pytest.mark.parametrize("name", _PIECES)
def test_every_piece_is_escaped(name: str, truth: bool) -> None:
    inert(piece(name, *[Hostile(_ATTACK, truth=truth)] * _PIECES[name]), _PAGE_TAGS)


def test_text_is_escaped_and_markup_is_not() -> None:
    assert escape("<b> \"'&") == "&lt;b&gt; &quot;&#x27;&amp;"
    assert escape("${a}{{b}}`") == "&#36;&#123;a&#125;&#123;&#123;b&#125;&#125;&#96;"
    assert escape("a\u202eb\n") == "a\ufffdb\n"
    assert escape(None) == ""
    assert piece("strong", piece("strong", "<")) == "<strong><strong>&lt;</strong></strong>"
