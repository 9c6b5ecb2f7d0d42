"""DeskRequest: several models, each on a line, and the machine that they share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr

from gpusizer.advice.desk.rooms import MOST_MODELS
from gpusizer.core.messages import Note
from gpusizer.core.request_model import fields_of
from gpusizer.core.validation import Refused, Text, Texts, Unit, fail
from gpusizer.usecases.requests.pasted_machine import read_machine_fields
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.request_fields import (
    CostFields,
    FilterFields,
    OwnMachineFields,
    OwnMemoryFields,
)

Role = Literal["chat", "embeddings", "reranking", "speech", "pictures"]
ROLES: tuple[Role, ...] = get_args(Role)
_SPELLINGS = {"embedding": "embeddings", "reranker": "reranking", "images": "pictures"}
_ENDS = re.compile(r"[,;\r\n]")
_NAME = re.compile(r"\w+")
_FLAGS = {"yes": True, "true": True, "no": False, "false": False}
_FIELDS = {
    "users": "concurrency",
    **{
        name: name
        for name in (
            *("context", "engine", "engine_version", "quant", "max_loss", "kv_dtype"),
            *("revision", "file", "width", "height"),
        )
    },
}
"""Names that a line may state, by the field of a size request that each fills."""


@dataclass(frozen=True, slots=True)
class DeskLine:
    """One model of a desk: what it is for (None: what its kind is for), whether it must stay
    loaded, and the request that sizes it alone."""

    role: Role | None
    must_stay: bool
    request: SizeRequest


def _split_lines(value: object) -> object:
    return _ENDS.split(value) if isinstance(value, str) else value


def _bounded(lines: tuple[str, ...]) -> tuple[str, ...]:
    if not lines:
        raise Refused("empty")
    if len(lines) > MOST_MODELS:
        raise Refused("too_many_models", f"{len(lines)} models", most=MOST_MODELS)
    return lines


class DeskRequest(OwnMachineFields, OwnMemoryFields, FilterFields, CostFields):
    """A checked request to place several models on one machine."""

    heading: ClassVar[str] = "desk"
    unused: ClassVar[frozenset[str]] = frozenset(
        fields_of(CostFields).keys() - {"disk_gb_per_s", "network_gbit_per_s"}
    )
    _about_machine: tuple[Note, ...] = PrivateAttr(())

    models: Annotated[
        Texts, BeforeValidator(_split_lines), AfterValidator(_bounded), Unit("LINE")
    ] = Field(
        description=f"up to {MOST_MODELS} models, a line each: its ID, then what is said of it,"
        ' such as "Qwen/Qwen3-8B users=2 context=32768 role=chat resident=no": role'
        f" ({', '.join(ROLES)}), resident (must it stay loaded: yes or no), and"
        f" {', '.join(_FIELDS)}"
    )
    gpu: Annotated[Text, Unit("MACHINE")] = Field(
        "",
        description='the machine: "2x 3090 + 64 GB RAM", "3090 + 3060 + 64 GB RAM", "M4 Max 128GB";'
        " also what nvidia-smi and other programs print about one; without it the cheapest one, two"
        " or four boards that keep all models loaded are looked for, among GPUs that pass the"
        " filters",
    )

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Return a checked request; output of programs about a machine is read as that machine.

        Raises InvalidRequest for invalid fields.
        """
        read, notes = read_machine_fields(fields)
        request = super().from_fields(read)
        request._about_machine = notes
        return request

    @property
    def about_machine(self) -> tuple[Note, ...]:
        """Notes on the machine, if a program's output states it."""
        return self._about_machine

    @property
    def lines(self) -> tuple[DeskLine, ...]:
        """The models, each checked as a request of its own. Raises InvalidRequest."""
        return tuple(map(read_line, self.models))


def read_line(text: str) -> DeskLine:
    """Read what one line says of a model.

    >>> read_line("Qwen/Qwen3-8B users=2 resident=no").request.concurrency
    2

    Raises InvalidRequest.
    """
    words: list[str] = []
    stated: dict[str, str] = {}
    for word in text.split():
        name, sign, value = word.partition("=")
        name = name.lower()
        if not sign or not _NAME.fullmatch(name):
            words.append(word)  # such as an address with a query
        elif name not in _FIELDS and name not in ("role", "resident"):
            known = ", ".join(("role", "resident", *_FIELDS))
            raise fail("models", word, "unknown_in_line", choices=known)
        elif name in stated:
            raise fail("models", word, "repeated")
        else:
            stated[name] = value
    fields: dict[str, Any] = {"model": " ".join(words), "card": False}
    fields |= {_FIELDS[name]: value for name, value in stated.items() if name in _FIELDS}
    role = _role(stated.get("role", ""))
    return DeskLine(role, _flag(stated.get("resident", "yes")), SizeRequest.from_fields(fields))


def _role(text: str) -> Role | None:
    word = _SPELLINGS.get(text.lower(), text.lower())
    found = next((role for role in ROLES if role == word), None)
    if word and found is None:
        raise fail("role", text, "not_one_of", choices=", ".join(ROLES))
    return found


def _flag(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise fail("resident", text, "not_one_of", choices="yes, no")
    return _FLAGS[text.lower()]
