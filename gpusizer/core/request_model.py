"""RequestModel: what all requests share.

A request is a frozen pydantic model. Its fields say type, default, bounds, choices and meaning, and
nothing else repeats them: validation, the shell's options, the endpoints' documentation and
`docs/contract.md` come from there (`gpusizer.usecases.requests.request_docs`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Self, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.validation import Refused, fail, read_integer


class RequestModel(BaseModel):
    """A checked request, or a group of fields that several requests share.

    `heading` is the title that a class's own fields are listed under; a field's `description` is a
    phrase without a full stop. `unused` names fields that are taken and without effect, which no
    documentation lists.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    heading: ClassVar[str]
    unused: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """A checked request. Absent, null and empty fields take their defaults.

        Raises InvalidRequest naming the first wrong field, its value and what is wrong with it.
        """
        known_fields = fields_of(cls)
        required = {name: None for name, info in known_fields.items() if info.is_required()}
        values = {
            name: value
            for name, value in {**required, **fields}.items()
            if name in required or name not in known_fields or not is_empty(value)
        }
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise _first_refusal(known_fields, values, error) from None

    @property
    def stated(self) -> dict[str, object]:
        """The fields that the request states, by their names, as `from_fields` takes them."""
        return self.model_dump(by_alias=True, exclude_unset=True)


def fields_of(model: type[RequestModel]) -> dict[str, FieldInfo]:
    """pydantic's fields by the names that requests use."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def is_empty(value: object) -> bool:
    """Whether a field's value means that it was not given: null, or a text or list of nothing."""
    return value is None or (isinstance(value, str | list | tuple) and not value)


def bounds_of(info: FieldInfo) -> tuple[float | None, float | None]:
    """The lowest and the highest value of a number; None for what has no bounds."""
    low = (mark.ge for mark in info.metadata if isinstance(mark, Ge))
    high = (mark.le for mark in info.metadata if isinstance(mark, Le))
    return _number_of(low), _number_of(high)


def _number_of(bounds: Iterator[object]) -> float | None:
    return next((bound for bound in bounds if isinstance(bound, int | float)), None)


def type_of(info: FieldInfo) -> type:
    """The type of a field's value: int, float, bool, str or tuple, whether or not None may be."""
    parts = (part for part in get_args(info.annotation) if get_origin(part) is Annotated)
    part: Any = next(parts, info.annotation)
    if get_origin(part) is Annotated:
        part = get_args(part)[0]
    kind: type = get_origin(part) or part
    return kind


def _first_refusal(
    known_fields: Mapping[str, FieldInfo], values: Mapping[str, object], error: ValidationError
) -> InvalidRequest:
    """The error of the first wrong field, in the order in which the fields were given."""
    details = {detail["loc"][:1]: detail for detail in error.errors(include_url=False)}
    for name, value in values.items():
        if name not in known_fields:
            return fail(str(name)[:40], value, "unknown_field")
        if (name,) in details:
            return _refusal(name, value, known_fields[name], details[(name,)])
    raise error


def _refusal(name: str, value: object, info: FieldInfo, detail: ErrorDetails) -> InvalidRequest:
    """The error of a value that a reader refused or that is outside of the field's bounds."""
    low, high = bounds_of(info)
    bounds = {} if low is None or high is None else {"low": _shown(low), "high": _shown(high)}
    refused = detail.get("ctx", {}).get("error")
    if isinstance(refused, Refused):
        facts = refused.facts or (bounds if refused.reason == "out_of_range" else {})
        return fail(name, refused.value, refused.reason, **facts)
    number = read_integer(value) if type_of(info) is int else value
    return fail(name, number, "out_of_range", **bounds)


def _shown(bound: float) -> float:
    """A bound as a sentence writes it: 1000000 rather than 1000000.0."""
    return int(bound) if float(bound).is_integer() else bound
