"""PageState: the question on the page, read from and written to the query string."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from gpusizer.answers.request import RANKINGS
from gpusizer.fit.demands import DEFAULT_MAX_LOSS
from gpusizer.fit.machine_words import split_machines
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.quality.words import WORDS
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
    "max_loss",
    "min_tok_s",
    "max_usd",
)
"""Fields of the form besides the model, in its order."""
_WHOLE = ("context", "concurrency", "prompt_tokens", "answer_tokens")
_DECIMAL = re.compile(r"\d{1,12}(\.\d{1,12})?")
_MAX_QUERY_CHARS = 4000
_NO_PART = ("tab", "filled", "plans")  # fields that are no part of the question


@dataclass(frozen=True, slots=True)
class PageState:
    """The page's fields as typed; they are checked when they are used.

    `gpus` are the places of the comparison; the page itself has filled the first `filled` of them.
    `plans` says whether these have one quantization or each its best.

    >>> PageState.from_query("model=a/b&gpus=4090,2x3090").gpus
    ('4090', '2x3090')
    """

    model: str = ""
    context: str = str(DEFAULT_CONTEXT)
    concurrency: str = "1"
    engine: str = ""
    rank_by: str = RANKINGS[0]
    gpus: tuple[str, ...] | None = None
    filled: str = ""
    plans: str = ""
    tab: str = ""
    as_card: str = ""
    used_gb: str = ""
    usable_gb: str = ""
    ram_gb: str = ""
    ram_gb_per_s: str = ""
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
    max_loss: str = DEFAULT_MAX_LOSS.value
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
                values[name] = split_machines([value])
        return cls(**values)

    def stating(self, fields: Mapping[str, object]) -> PageState:
        """Return the question with the values of a form; empty ones mean their defaults."""
        defaults = PageState()
        texts = {name: number_text(value).strip() for name, value in fields.items()}
        stated: dict[str, Any] = {name: t or getattr(defaults, name) for name, t in texts.items()}
        return replace(self, **stated)

    @property
    def form(self) -> dict[str, str | float]:
        """Values for the form's fields, with those of the visitor's own machine; a number that
        cannot be read leaves its field empty.

        For an engine that the menu does not have, the menu shows its first entry, and for a word
        that names no loss the usual one.
        """
        engine = self.engine.strip().lower()
        loss = self.max_loss.strip().lower().replace("-", "_")
        return {
            "model": self.model,
            **{name: decimal(getattr(self, name)) for name in (*FORM_FIELDS, *OWN_FIELDS)},
            **{name: whole_number(getattr(self, name)) for name in _WHOLE},
            "engine": engine if engine in ENGINES else "",
            "max_loss": loss if loss in WORDS else DEFAULT_MAX_LOSS.value,
            "draft_model": self.draft_model,
        }

    def shows(self, fields: Mapping[str, object]) -> bool:
        """Whether a form with these values shows this question."""
        form = self.form
        return all(
            number_text(value).strip() == number_text(form[name]) for name, value in fields.items()
        )

    @property
    def about_no_place(self) -> PageState:
        """The question without its order and its places, which change a part of the answer."""
        return replace(self, gpus=None, filled="", plans="", rank_by=RANKINGS[0], tab="")

    @property
    def query(self) -> str:
        """The query string: the model, and all fields but the tab that differ from the defaults."""
        defaults = PageState()
        names = [
            name
            for name in self.__slots__
            if name != "tab" and getattr(self, name) != getattr(defaults, name)
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

    def as_author(self, terms: Mapping[str, Any]) -> PageState:
        """Return the question with the settings of the author's command, as the form shows them."""
        context, engine = terms.get("context", self.context), terms.get("engine", self.engine)
        return replace(self, context=str(context), engine=str(engine), as_card="true")

    def picking(self, gpus: Iterable[str]) -> PageState:
        """Return the same question with other GPUs to compare."""
        return replace(self, gpus=tuple(dict.fromkeys(gpus)), filled="")

    def filling(self, gpus: Iterable[str]) -> PageState:
        """Return the same question with GPUs that the page chooses."""
        filled = self.picking(gpus)
        return replace(filled, filled=str(len(filled.gpus or ())))

    @property
    def own_gpus(self) -> tuple[str, ...]:
        """The GPUs that the visitor has picked."""
        return (self.gpus or ())[self._filled :]

    def with_gpu(self, gpu: str, places: int) -> PageState | None:
        """Add a GPU in one of so many places, None where the visitor has picked so many.

        One that the page chose gives way: of those that it chose first, the oldest, and at last
        the first choice of the answer, which is what a visitor compares with.
        """
        chosen = [other for other in (self.gpus or ())[: self._filled] if other != gpu]
        picked = [*(other for other in self.own_gpus if other != gpu), gpu]
        if gpu in self.own_gpus:
            return self
        if len(picked) > places:
            return None
        while len(chosen) + len(picked) > places:
            del chosen[min(1, len(chosen) - 1)]
        return replace(self, gpus=(*chosen, *picked), filled=_count(len(chosen)))

    def without_gpu(self, gpu: str) -> PageState:
        """Remove a GPU."""
        chosen = [other for other in (self.gpus or ())[: self._filled] if other != gpu]
        picked = [other for other in self.own_gpus if other != gpu]
        return replace(self, gpus=(*chosen, *picked), filled=_count(len(chosen)))

    @property
    def _filled(self) -> int:
        return int(self.filled) if self.filled.isdecimal() and len(self.filled) < 3 else 0


def number_text(value: object) -> str:
    """Write a value of a form: "" for None, 8 for 8.0, since some browsers send whole numbers so.

    >>> number_text(20.5), number_text(1234567.0), number_text(None)
    ('20.5', '1234567', '')
    """
    if value is None:
        return ""
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def decimal(text: str) -> float | str:
    """Return the number that a field shows, "" for what is none."""
    return float(text) if _DECIMAL.fullmatch(text) else ""


def _count(number: int) -> str:
    return str(number) if number else ""


def _joined(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ",".join(value)


def whole_number(text: str) -> int | str:
    """Return the whole number that a field shows, "" for what is none."""
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 16 else ""
