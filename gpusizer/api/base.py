"""Base of the models of answers, and the values that several of them share.

A model is made from the attributes of one of our records: a field reads the attribute of its name,
or the one at its path (`at`), and converts the value (`derived`). JSON, OpenAPI, docs/contract.md
and the short answers of tools follow from the models.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SkipValidation,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticSerializationError

from gpusizer.advice.conclusion.clauses import Kind, told
from gpusizer.core.messages import Note, NoteValue, Translate
from gpusizer.core.printable import json_bytes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.usecases.models_for.live_use import Uses

SCHEMA_VERSION = 1
Document = dict[str, Any]  # an object of an answer as plain values
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """Facts of the whole answer for its objects; `say` writes their sentences."""

    say: Translate
    profile: ModelProfile | None = None
    workload: Workload | None = None
    uses: Uses = field(default_factory=dict)
    on_rig: bool = False


class AnswerModel(BaseModel):
    """An object of an answer.

    It is read from one of our records with an `AnswerContext`, and without one from JSON that it
    wrote (`from_json`). A field without an attribute in its record stays unset, and out of JSON
    (`document`).
    """

    model_config = ConfigDict(
        from_attributes=True,
        frozen=True,
        defer_build=True,
    )

    @classmethod
    def from_record(cls, record: object, context: AnswerContext) -> Self:
        """Return the object of one of our records."""
        return cls.model_validate(record, context=context)

    @classmethod
    def from_json(cls, document: object) -> Self:
        """Return the object of plain values, as JSON has them. Raises ValidationError."""
        return cls.model_validate(document, by_name=True, by_alias=False)

    def document(self) -> Document:
        """Return the object as plain values, as JSON has them."""
        return self.model_dump(mode="json", exclude_unset=True)

    def json_bytes(self) -> bytes:
        """Return the object as JSON in UTF-8, with U+FFFD for each half of a surrogate pair."""
        try:
            return self.model_dump_json(exclude_unset=True).encode()
        except PydanticSerializationError:
            return json_bytes(self.document())


class DerivedModel(AnswerModel, ABC):
    """An object that is read from more than one record."""

    @classmethod
    @abstractmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        """Return the object whose attributes the fields are read from."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, record: object, info: ValidationInfo) -> object:
        return record if info.context is None else cls._read_from(record, info.context)


class Beside:
    """A record with `more` attributes, which replace its own."""

    def __init__(self, record: object, **more: object) -> None:
        self.__dict__.update(more)
        self._record = record

    def __getattr__(self, name: str) -> Any:
        return getattr(self._record, name)


def at(path: str, meaning: str | None = None, *, or_at: str = "", **known: Any) -> Any:
    """Return a field that is read at a path of attributes, such as "fit.gpu.slug".

    If that path leads through None, `or_at` is read: with "fit" the field is None if `fit` is.
    """
    first = AliasPath(*path.split("."))
    other = or_at and AliasPath(*or_at.split("."))
    alias = AliasChoices(first, other) if other else first
    return Field(validation_alias=alias, description=meaning, **known)


def left_out(meaning: str | None = None) -> Any:
    """Return a field that some records lack."""
    return Field(default=None, description=meaning)


def derived(make: Callable[[Any, AnswerContext], object]) -> BeforeValidator:
    """Return a validator that makes a field's value from the attribute it is read from."""

    def convert(value: object, info: ValidationInfo) -> object:
        return value if info.context is None else make(value, info.context)

    return BeforeValidator(convert)


class _NeverNull:
    """Tells JSON Schema that a field which may be None has no null in JSON."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        described = handler(schema)
        first: JsonSchemaValue = described["anyOf"][0]
        return first


def _is_none(value: object) -> bool:
    return value is None


def _digits(value: float | None, _: AnswerContext) -> float | None:
    return None if value is None else round(value, 4)


# a field that JSON leaves out if its value is None
Stated = Annotated[_T | None, Field(default=None, exclude_if=_is_none), _NeverNull()]
Digits = Annotated[float, derived(_digits)]  # a figure rounded to four decimals
Rounded = Annotated[float | None, derived(_digits)]  # a figure rounded to four decimals, or None

# a figure as our record has it: 18 stays 18
Number = Annotated[int | float, WithJsonSchema({"type": "number"})]

# a text, None instead of an empty one
OrNull = Annotated[str | None, derived(lambda text, _: text or None)]

# the sentence of a note
Sentence = Annotated[str, derived(lambda note, context: context.say(note))]


def joined(notes: Iterable[Note], context: AnswerContext, between: str = "; ") -> str:
    """Write notes as one text."""
    return between.join(map(context.say, notes))


# texts, an empty list instead of None
OrEmpty = Annotated[list[str], derived(lambda texts, _: texts or ())]
Clauses = Annotated[str, derived(joined)]  # notes as one line of text
VerdictWord = Literal["fits", "tight", "offload", "from_disk", "does_not_fit", "not_supported"]


class NoteInfo(AnswerModel):
    """A caveat or a reason."""

    code: str = Field(description="stable name of what it says")
    message: str = Field(description="the sentence, in the language asked for")
    fields: Stated[SkipValidation[dict[str, NoteValue]]] = Field(
        description="figures and names of the sentence"
    )


def said(note: Note, context: AnswerContext) -> dict[str, object]:
    """Return the source of a `NoteInfo`."""
    facts = {"fields": note.fields} if note.fields else {}
    return {"code": note.code, "message": context.say(note), **facts}


def all_said(notes: Iterable[Note], context: AnswerContext) -> list[dict[str, object]]:
    """Return the sources of `Notes`."""
    return [said(note, context) for note in notes]


Notes = Annotated[list[NoteInfo], derived(all_said)]  # caveats or reasons


class ConclusionInfo(AnswerModel):
    """The conclusion, with which page, shell, Markdown and tools also begin."""

    sentence: Annotated[str, derived(lambda said, context: told(said, context.say))] = at(
        "said", "the conclusion"
    )
    kind: Kind = Field(
        description="of the question: load states users or requests a second, fit names GPUs or a"
        " machine, need does neither; compare, models, train and desk are those commands"
    )
    weighed: Notes = Field(description="what else decided, or would decide otherwise")
    facts: Mapping[str, NoteValue | None] = Field(description="figures of the sentence")
