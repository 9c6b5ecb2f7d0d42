"""PageState: what the page shows, as the query string that brings it back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from gpusizer.engines import ENGINES
from gpusizer.request import RANKINGS
from gpusizer.workload import DEFAULT_CONTEXT

_MAX_QUERY_CHARS = 4000
_NO_PART = ("tab",)  # of a question


@dataclass(frozen=True, slots=True)
class PageState:
    """Fields as typed: they are checked when they are used.

    >>> PageState.from_query("model=a/b&gpus=4090,2x3090").gpus
    ('4090', '2x3090')
    """

    model: str = ""
    context: str = str(DEFAULT_CONTEXT)
    concurrency: str = "1"
    engine: str = ""
    rank_by: str = RANKINGS[0]
    gpus: tuple[str, ...] | None = None
    tab: str = ""

    @classmethod
    def from_query(cls, query: str) -> PageState:
        """The state in a query string; unknown names are ignored."""
        known = {name for name in cls.__slots__ if name != "gpus"}
        values: dict[str, Any] = {}
        for name, value in parse_qsl(query[:_MAX_QUERY_CHARS], keep_blank_values=True):
            if name in known and value:
                values[name] = value
            elif name == "gpus":
                values[name] = tuple(part.strip() for part in value.split(",") if part.strip())
        return cls(**values)

    @classmethod
    def from_form(cls, model: object, *numbers_and_engine: object) -> PageState:
        """What the form says; an emptied field means its default."""
        names = ("context", "concurrency", "engine")
        given = zip(names, numbers_and_engine, strict=True)
        values: dict[str, Any] = {name: str(v) for name, v in given if v not in (None, "")}
        return cls(str(model), **values)

    @property
    def form(self) -> tuple[str, int | None, int | None, str]:
        """Values for the form; a number that is none leaves its field empty.

        The menu of engines shows the usual one for a name that it does not offer.
        """
        engine = self.engine.strip().lower()
        shown = engine if engine in ENGINES else ""
        return self.model, _number(self.context), _number(self.concurrency), shown

    @property
    def query(self) -> str:
        """The query string: the model, and whatever differs from the defaults but the tab."""
        plain = PageState()
        names = [
            name
            for name in self.__slots__
            if name not in _NO_PART and getattr(self, name) != getattr(plain, name)
        ]
        return urlencode({name: _joined(getattr(self, name)) for name in names}, safe="/,")

    @property
    def fields(self) -> dict[str, Any]:
        """The request: everything but the GPUs, which the ranking must not be limited to."""
        return {
            name: getattr(self, name)
            for name in self.__slots__
            if name != "gpus" and name not in _NO_PART
        }

    def picking(self, gpus: Iterable[str]) -> PageState:
        """The same question with other GPUs side by side."""
        return replace(self, gpus=tuple(dict.fromkeys(gpus)))


def _joined(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ",".join(value)


def _number(text: str) -> int | None:
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 16 else None
