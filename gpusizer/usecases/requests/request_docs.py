"""Descriptions of a request's fields, for every kind of documentation."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from pydantic.fields import FieldInfo

from gpusizer.core.request_model import RequestModel, bounds_of, type_of, without_none
from gpusizer.core.validation import OneOf, Unit

_LONGEST_UNIT = 40


@dataclass(frozen=True, slots=True)
class FieldDescription:
    """One field of a request."""

    name: str  # as requests write it
    kind: type  # Python type of its value: int, float, bool, str, or tuple for a list of texts
    unit: str  # placeholder of a value, such as "TOKENS"
    required: bool
    # None without one, or if it depends on the model or the engine
    default: str | int | float | tuple[str, ...] | None
    low: float | None  # bounds of a number
    high: float | None
    choices: tuple[str, ...]  # all allowed values; empty without such a list
    meaning: str  # a phrase without a full stop

    @property
    def bounds_text(self) -> str:
        """Bounds of a number, as "1 to 1,024", or ""."""
        if self.low is None or self.high is None:
            return ""
        return f"{_number_text(self.low)} to {_number_text(self.high)}"

    @property
    def default_text(self) -> str:
        """Default as a request writes it, or ""."""
        if isinstance(self.default, bool):
            return str(self.default).lower()
        if isinstance(self.default, tuple):
            return ", ".join(self.default)
        if isinstance(self.default, int | float):
            return _number_text(self.default)
        return self.default or ""

    @property
    def choices_text(self) -> str:
        """The choices with commas between them."""
        return ", ".join(self.choices)


@cache
def described_groups(model: type[RequestModel]) -> dict[str, tuple[FieldDescription, ...]]:
    """Return the fields by heading; a request's own fields come before shared ones."""
    groups: dict[str, tuple[FieldDescription, ...]] = {}
    for group, names in _names_by_class(model):
        fields = [_described(model.model_fields[name], name) for name in names]
        used = tuple(field for field in fields if field.name not in model.unused)
        if used:
            groups[group.heading] = groups.get(group.heading, ()) + used
    return groups


@cache
def described_fields(model: type[RequestModel]) -> dict[str, FieldDescription]:
    """Return every field of a request by its name."""
    groups = described_groups(model).values()
    return {field.name: field for fields in groups for field in fields}


def _names_by_class(
    model: type[RequestModel],
) -> Iterator[tuple[type[RequestModel], list[str]]]:
    # A field that is declared again belongs to the newest class.
    left = set(model.model_fields)
    for group in model.__mro__:
        if issubclass(group, RequestModel):
            names = [name for name in inspect.get_annotations(group) if name in left]
            left.difference_update(names)
            yield group, names


def _described(info: FieldInfo, name: str) -> FieldDescription:
    low, high = bounds_of(info)
    marks = _marks(info)
    choices = next((mark.choices for mark in marks if isinstance(mark, OneOf)), ())
    listed = "|".join(choices)
    named = "NAME" if len(listed) > _LONGEST_UNIT else listed
    return FieldDescription(
        name=info.alias or name,
        kind=type_of(info),
        unit=next((mark.name for mark in marks if isinstance(mark, Unit)), named),
        required=info.is_required(),
        default=None if info.is_required() else info.default,
        low=low,
        high=high,
        choices=choices,
        meaning=info.description or "",
    )


def _marks(info: FieldInfo) -> list[object]:
    # Annotations of a field's type, the outermost first; also if None is allowed.
    nested = getattr(without_none(info.annotation), "__metadata__", ())
    return [*reversed(info.metadata), *reversed(nested)]


def _number_text(number: float) -> str:
    """Write a number as people do: 10,000,000 and 0.15.

    >>> _number_text(10_000_000), _number_text(1e9), _number_text(0.15)
    ('10,000,000', '1,000,000,000', '0.15')
    """
    return f"{int(number):,}" if number == int(number) else f"{number:,}"
