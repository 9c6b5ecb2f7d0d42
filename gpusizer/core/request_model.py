"""RequestModel: base of all requests."""

# A request is a frozen pydantic model. Its fields state type, default, bounds, choices and meaning
# once: validation, the shell's options, the endpoints' documentation and `docs/contract.md` come
# from there (`gpusizer.usecases.requests.request_docs`).

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, ClassVar, Self, Union, get_args, get_origin

from annotated_types import Ge, Le
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.validation import Count, Refused, fail


class RequestModel(BaseModel):
    """A checked request, or a group of fields that several requests share."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
    # title of the list of a class's own fields. A field's `description` is a phrase without a full
    # stop.
    heading: ClassVar[str]
    # fields that are accepted without effect and undocumented
    unused: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def from_fields(cls, fields: Mapping[str, object]) -> Self:
        """Return a checked request. Raise InvalidRequest with the first wrong field."""
        # absent, null and empty fields take their defaults
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
        """The checked values of the given fields, as `model_copy(update=…)` takes them."""
        # Values made of fields are properties, not cached ones: a copy would keep those.
        return self.model_dump(exclude_unset=True)


def fields_of(model: type[RequestModel]) -> dict[str, FieldInfo]:
    """Return pydantic's fields by the names that requests use."""
    return {info.alias or name: info for name, info in model.model_fields.items()}


def is_empty(value: object) -> bool:
    """Return whether a field's value means "not given": null, or an empty text or list."""
    return value is None or (isinstance(value, str | list | tuple) and not value)


def bounds_of(info: FieldInfo) -> tuple[float | None, float | None]:
    """Return the lowest and the highest value of a number; None without bounds."""
    low = (mark.ge for mark in info.metadata if isinstance(mark, Ge))
    high = (mark.le for mark in info.metadata if isinstance(mark, Le))
    return _number_of(low), _number_of(high)


def _number_of(bounds: Iterator[object]) -> float | None:
    return next((bound for bound in bounds if isinstance(bound, int | float)), None)


def without_none(annotation: Any) -> Any:
    """Return the type of a field without None."""
    is_union = get_origin(annotation) in (Union, UnionType)
    return get_args(annotation)[0] if is_union else annotation


def type_of(info: FieldInfo) -> type:
    """Return the type of a field's value, without None: int, float, bool, str or tuple."""
    part = without_none(info.annotation)
    if get_origin(part) is Annotated:
        part = get_args(part)[0]
    kind: type = get_origin(part) or part
    return kind


def _first_refusal(
    known_fields: Mapping[str, FieldInfo], values: Mapping[str, object], error: ValidationError
) -> InvalidRequest:
    # in the order of the given fields
    details = {detail["loc"][:1]: detail for detail in reversed(error.errors(include_url=False))}
    for name, value in values.items():
        if name not in known_fields:
            return fail(str(name)[:40], value, "unknown_field")
        if (name,) in details:
            return _refusal(name, value, known_fields[name], details[(name,)])
    raise error


_OUTSIDE = ("greater_than_equal", "less_than_equal", "finite_number")
# reason for a value that pydantic cannot read, by the type of its field
_UNREADABLE = {
    int: "not_an_integer",
    float: "not_a_number",
    bool: "not_a_boolean",
    str: "not_text",
    tuple: "not_a_list",
}
_WHOLE = TypeAdapter[int](Count)


def _refusal(name: str, given: object, info: FieldInfo, detail: ErrorDetails) -> InvalidRequest:
    # translates an error of pydantic
    type_, facts, kind = detail["type"], detail.get("ctx", {}), type_of(info)
    refused = facts.get("error")
    if isinstance(refused, Refused):
        value = given if refused.value is None else refused.value
        return fail(name, value, refused.reason, **refused.facts)
    if type_ in _OUTSIDE:
        value = _WHOLE.validate_python(given) if kind is int else given
        low, high = (_shown(bound) for bound in bounds_of(info) if bound is not None)
        return fail(name, value, "out_of_range", low=low, high=high)
    if type_ == "too_long":
        items = f"{facts['actual_length']} items"
        return fail(name, items, "out_of_range", low=0, high=facts["max_length"])
    value = detail["input"] if len(detail["loc"]) > 1 else given  # an item of a list
    if type_ == "string_too_long":
        return fail(name, value, "too_long")
    return fail(name, value, _UNREADABLE[str if type_ == "string_type" else kind])


def _shown(bound: float) -> float:
    # 1000000 rather than 1000000.0
    return int(bound) if float(bound).is_integer() else bound
