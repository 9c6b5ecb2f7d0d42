"""The forms of the tabs: names of fields, by their place. Type, default and choices of a field are
those of the request that the tab asks; its words are `page.field.<name>.*`. Groups of a request
that a form shows whole are named as such: a field that is added to one appears on the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated
from urllib.parse import parse_qsl, urlencode

from pydantic import TypeAdapter, ValidationError

from gpusizer.core.request_model import RequestModel, fields_of
from gpusizer.memory.engines import ENGINES
from gpusizer.quality.boards import PURPOSES
from gpusizer.quality.quality import WORDS
from gpusizer.ui.presenters.choices import ModelUse
from gpusizer.usecases.models_for.models_request import LICENSES, ModelsRequest
from gpusizer.usecases.requests.desk_request import DeskRequest
from gpusizer.usecases.requests.pasted_machine import machine_in_words
from gpusizer.usecases.requests.request import CompareRequest, SizeRequest
from gpusizer.usecases.requests.request_docs import described_fields
from gpusizer.usecases.requests.request_fields import (
    DiskFields,
    OwnMachineFields,
    OwnMemoryFields,
    model_in_words,
)
from gpusizer.usecases.requests.training_request import TrainingRequest
from gpusizer.usecases.requests.workload_fields import TargetFields

_MEMORY = tuple(described_fields(OwnMemoryFields))
_MACHINE = (*_MEMORY, *described_fields(OwnMachineFields))
_PRICES = ("gpu_usd", "gpu_usd_per_hour")

OWN_FIELDS = ("gpu", *_MACHINE, *_PRICES, "usd_per_kwh")
"""Fields about the visitor's own machine and prices, which are the same in every tab."""

OF_NAMED_GPUS = ("gpu", *(name for name in _MACHINE if name not in fields_of(DiskFields)), *_PRICES)
"""Fields that count for GPUs which a request names."""

_LOAD = tuple(name for name in described_fields(TargetFields) if name != "ttft_percentile")
SEVERAL = ("concurrency", *_LOAD, "kv_offload_gb")
"""Fields of a load: those that the page shows for more than one user."""

_OF_TOKENS = ("context", "engine", "min_tok_s", "draft_model", "acceptance_rate")
_OF_VISION = ("images", "image_width", "image_height")
_OF_PICTURES = ("width", "height", "steps", "frames")
PURPOSES_OF_FIELDS: Mapping[str, tuple[str, ...]] = {
    "users": SEVERAL[2:],
    "tokens": _OF_TOKENS,
    "vision": _OF_VISION,
    "pictures": _OF_PICTURES,
}
"""Fields of the fold that the page shows only for several users, only for models that read or write
tokens, only for those of them that read pictures, and only for models that make pictures."""
_HIDDEN: Mapping[ModelUse, frozenset[str]] = {
    "tokens": frozenset((*_OF_VISION, *_OF_PICTURES)),
    "vision": frozenset(_OF_PICTURES),
    "pictures": frozenset((*SEVERAL[2:], *_OF_TOKENS, *_OF_VISION)),
}

MENUS: Mapping[str, tuple[str, ...]] = {
    "engine": ("", *ENGINES),
    "max_loss": tuple(str(word.value) for word in WORDS),
    "method": ("lora", "qlora", "full", "dora"),
    "purpose": ("", *PURPOSES),
    "license": ("", *LICENSES, "unknown"),
}
"""By field: its choices, in the order of the menu."""
OPEN_MENUS = frozenset({"license"})
"""Menus that take other texts as well."""
CHIPS = frozenset({"purpose"})
"""Menus whose choices all stand on the page."""
LINES = frozenset({"models"})
"""Texts of several lines."""

_IN_WORDS: Mapping[str, Callable[[str], str]] = {"model": model_in_words, "gpu": machine_in_words}

FieldValue = str | float | bool
"""Value of a component of a form; an empty number has the text ""."""

_MAX_CHARS = 300
_MAX_CHARS_OF_LINES = 2400  # of an address: 8 models


@dataclass(frozen=True, slots=True)
class Form:
    """The form of one tab.

    Values of its fields are texts, as addresses write them, by their names; those that are as
    usual are left out.

    Attributes:
        request: what the tab asks.
        first: the fields beside the button.
        below: those below them.
        more: those of a fold, by its rows.
        machine: those of the fold about the visitor's machine.
    """

    request: type[RequestModel]
    first: tuple[str, ...]
    below: tuple[str, ...] = ()
    more: tuple[tuple[str, ...], ...] = ()
    machine: tuple[str, ...] = OWN_FIELDS[1:]

    @property
    def names(self) -> tuple[str, ...]:
        """All fields, in order."""
        more = (name for row in self.more for name in row)
        return (*self.first, *self.below, *more, *self.machine)

    @property
    def own(self) -> tuple[str, ...]:
        """Return the fields that other tabs have too and the browser remembers."""
        return tuple(name for name in OWN_FIELDS if name in self.names)

    def kind(self, name: str) -> type:
        """Return the type of a field's values: int, float, bool or str."""
        kind = described_fields(self.request)[name].kind
        return str if kind is tuple else kind

    def usual(self, name: str) -> str:
        """Return the text of a field before anything is typed, "" for an empty one."""
        default = described_fields(self.request)[name].default
        return "" if name in self.machine or not default else number_text(default)

    def texts(self, values: Mapping[str, object]) -> dict[str, str]:
        """Return the texts of what the fields hold, in their order."""
        texts = {name: _in_words(name, number_text(values.get(name))) for name in self.names}
        return {name: text for name, text in texts.items() if text not in ("", self.usual(name))}

    def read(self, address: str | Mapping[str, str]) -> dict[str, str]:
        """Return the texts that an address states."""
        stated = address if isinstance(address, Mapping) else dict(parse_qsl(address.lstrip("?")))
        texts = {name: stated.get(name, "")[: _most_chars(name)] for name in self.names}
        flags = (name for name in self.names if self.kind(name) is bool)
        return self.texts(texts | {name: self._known(name, texts[name]) for name in flags})

    def values(self, texts: Mapping[str, str], names: Iterable[str] = ()) -> dict[str, FieldValue]:
        """Return the values of `names`, or of all fields, for these texts.

        A number that the request refuses is empty, a choice that a menu lacks the usual one. The
        answer says what is wrong.
        """
        return {name: self._value(name, texts.get(name, "")) for name in names or self.names}

    def fields(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return the fields of a request: what the form shows is stated."""
        usual = {name: self.usual(name) for name in self.names}
        return {name: text for name, text in (usual | {**texts}).items() if text}

    def _value(self, name: str, text: str) -> FieldValue:
        text, kind = text or self.usual(name), self.kind(name)
        if kind is str and (name not in MENUS or name in OPEN_MENUS):
            return text
        if kind is bool or kind is str:
            known = self._known(name, text)
            return known == "true" if kind is bool else known
        read = self._read(name, text)
        return read if isinstance(read, int | float) else ""

    def _known(self, name: str, text: str) -> str:
        """Return the choice or "true" that a text spells, else the usual one."""
        read = number_text(self._read(name, text)).lower()
        return read if read and read in MENUS.get(name, (read,)) else self.usual(name)

    def _read(self, name: str, text: str) -> object:
        """Return the value that the request reads from a text, None if it refuses it."""
        try:
            return _reader(self.request, name).validate_python(text)
        except ValidationError:
            return None


FORMS: Mapping[str, Form] = {
    "size": Form(
        SizeRequest,
        ("model", "gpu"),
        SEVERAL[:2],
        (
            SEVERAL[2:5],
            SEVERAL[5:],
            _OF_PICTURES,
            ("context", "engine", "max_loss", "min_tok_s"),
            _OF_VISION,
            ("max_usd", "draft_model", "acceptance_rate"),
        ),
    ),
    "compare": Form(CompareRequest, ("model", "gpus")),
    "train": Form(
        TrainingRequest,
        ("model", "gpu"),
        ("method", "sequence_length", "micro_batch"),
        machine=(*_MEMORY, "usd_per_kwh"),
    ),
    "reverse": Form(
        ModelsRequest, ("gpu", "context"), ("purpose", "license", "live"), machine=_MACHINE
    ),
    "desk": Form(DeskRequest, ("models", "gpu"), machine=_MACHINE),
}
"""By tab, in the order of the page. A field that is named here appears on the page."""


def _most_chars(name: str) -> int:
    return _MAX_CHARS_OF_LINES if name in LINES else _MAX_CHARS


def _in_words(name: str, text: str) -> str:
    """Return the text of a field; pasted text is replaced by the model or machine that it names."""
    read = _IN_WORDS.get(name)
    return (text if read is None else read(text)).strip()


def purpose_of(name: str) -> str:
    """Return the purpose that a field is shown for: a key of `PURPOSES_OF_FIELDS`, "" for any.

    >>> purpose_of("ttft_ms"), purpose_of("images"), purpose_of("steps"), purpose_of("max_usd")
    ('users', 'vision', 'pictures', '')
    """
    return next((key for key, names in PURPOSES_OF_FIELDS.items() if name in names), "")


def hidden_fields(use: ModelUse) -> frozenset[str]:
    """Return the fields that the page does not show for a model: no request may state them."""
    return _HIDDEN[use]


def query_of(texts: Mapping[str, str]) -> str:
    """Write an address' query string."""
    return urlencode(texts, safe="/,", errors="replace")


def number_text(value: object) -> str:
    """Write a value of a form: "" for None, 8 for 8.0, since some browsers send whole numbers so.

    >>> number_text(20.5), number_text(1234567.0), number_text(True), number_text(None)
    ('20.5', '1234567', 'true', '')
    """
    if value is None or value is False:
        return ""
    if value is True:
        return "true"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


@cache
def _reader(request: type[RequestModel], name: str) -> TypeAdapter[object]:
    """Return a reader of one field, as the request reads it."""
    info = fields_of(request)[name]
    return TypeAdapter(Annotated[info.annotation, *info.metadata])
