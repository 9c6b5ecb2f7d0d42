"""PageState: the question on the page, read from and written to the query string."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from gpusizer.answers.request import RANKINGS
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.ui.own_fields import OF_NAMED_GPUS, OWN_FIELDS

FORM_FIELDS = (
    "context",
    "concurrency",
    "engine",
    "requests_per_second",
    "prompt_tokens",
    "answer_tokens",
    "ttft_ms",
    "draft_model",
    "acceptance_rate",
    "min_tok_s",
    "max_usd",
)
"""Fields of the form besides the model, in its order."""
_DECIMAL = re.compile(r"\d{1,12}(\.\d{1,12})?")
_MAX_QUERY_CHARS = 4000
_NO_PART = ("tab",)  # fields that are no part of the question


@dataclass(frozen=True, slots=True)
class PageState:
    """The page's fields as typed; they are checked when they are used.

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
    as_card: str = ""
    used_gb: str = ""
    usable_gb: str = ""
    ram_gb: str = ""
    disk_gb_per_s: str = ""
    gpu_usd: str = ""
    gpu_usd_per_hour: str = ""
    usd_per_kwh: str = ""
    requests_per_second: str = ""
    prompt_tokens: str = ""
    answer_tokens: str = ""
    ttft_ms: str = ""
    draft_model: str = ""
    acceptance_rate: str = ""
    min_tok_s: str = ""
    max_usd: str = ""

    @classmethod
    def from_query(cls, query: str) -> PageState:
        """Read the state from a query string; unknown names are ignored."""
        names = {name for name in cls.__slots__ if name != "gpus"}
        values: dict[str, Any] = {}
        for name, value in parse_qsl(query[:_MAX_QUERY_CHARS], keep_blank_values=True):
            if name in names and value:
                values[name] = value
            elif name == "gpus":
                values[name] = tuple(part.strip() for part in value.split(",") if part.strip())
        return cls(**values)

    @classmethod
    def from_form(cls, model: object, *form_values: object) -> PageState:
        """Read the state from the form's values, in the order of FORM_FIELDS, then OWN_FIELDS;
        empty and missing ones mean their defaults.
        """
        pairs = zip((*FORM_FIELDS, *OWN_FIELDS), form_values, strict=False)
        values: dict[str, Any] = {name: number_text(v) for name, v in pairs if v not in (None, "")}
        return cls(str(model), **values)

    @property
    def form(self) -> tuple[str | float | None, ...]:
        """Values for the form; a number that cannot be read leaves its field empty.

        For an engine that the menu does not have, the menu shows its first entry.
        """
        engine = self.engine.strip().lower()
        engine_slug = engine if engine in ENGINES else ""
        return (
            self.model,
            _number(self.context),
            _number(self.concurrency),
            engine_slug,
            decimal(self.requests_per_second),
            _number(self.prompt_tokens),
            _number(self.answer_tokens),
            decimal(self.ttft_ms),
            self.draft_model,
            decimal(self.acceptance_rate),
            decimal(self.min_tok_s),
            decimal(self.max_usd),
        )

    @property
    def query(self) -> str:
        """The query string: the model, and all fields but the tab that differ from the defaults."""
        defaults = PageState()
        names = [
            name
            for name in self.__slots__
            if name not in _NO_PART and getattr(self, name) != getattr(defaults, name)
        ]
        fields = {name: _joined(getattr(self, name)) for name in names}
        return urlencode(fields, safe="/,", errors="replace")

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of the request, without the GPUs, which would limit the ranking to them."""
        return {
            name: getattr(self, name)
            for name in self.__slots__
            if name != "gpus" and name not in _NO_PART
        }

    @property
    def about_every_gpu(self) -> PageState:
        """The question without what counts for GPUs that are named alone: their free memory, the
        memory around them and their own prices."""
        empty: dict[str, Any] = dict.fromkeys(OF_NAMED_GPUS, "")
        return replace(self, **empty)

    def with_own(self, values: Iterable[object]) -> PageState:
        """Return the same question with other values of OWN_FIELDS."""
        pairs = zip(OWN_FIELDS, values, strict=False)
        stated: dict[str, Any] = {name: number_text(value) for name, value in pairs}
        return replace(self, **stated)

    def as_author(self, terms: Mapping[str, Any]) -> PageState:
        """Return the question with the settings of the author's command, as the form shows them."""
        context, engine = terms.get("context", self.context), terms.get("engine", self.engine)
        return replace(self, context=str(context), engine=str(engine), as_card="true")

    def picking(self, gpus: Iterable[str]) -> PageState:
        """Return the same question with other GPUs to compare."""
        return replace(self, gpus=tuple(dict.fromkeys(gpus)))


def number_text(value: object) -> str:
    """Write a value of a form: "" for None, 8 for 8.0, since some browsers send whole numbers so.

    >>> number_text(20.5), number_text(1234567.0), number_text(None)
    ('20.5', '1234567', '')
    """
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def decimal(text: str) -> float | None:
    """Return the number that a field shows, None for what is none."""
    return float(text) if _DECIMAL.fullmatch(text) else None


def _joined(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ",".join(value)


def _number(text: str) -> int | None:
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 16 else None
