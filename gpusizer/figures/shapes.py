"""Stacks, curves and levels: amounts with names, free of colours and coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a stack; `key` is what the page's words call it."""

    key: str
    amount_bytes: int


@dataclass(frozen=True, slots=True)
class Stack:
    """Memory of one way to run or train a model, its parts in the order they are stacked."""

    label: str
    parts: tuple[Part, ...]
    detail: str = ""

    @property
    def total_bytes(self) -> int:
        return sum(part.amount_bytes for part in self.parts)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "parts": [asdict(part) for part in self.parts]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Stack:
        return cls(**{**data, "parts": tuple(Part(**part) for part in data["parts"])})


@dataclass(frozen=True, slots=True)
class Point:
    """One place on a curve, in the units of its two axes."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Points from left to right under one name."""

    points: tuple[Point, ...]
    label: str

    def to_json(self) -> dict[str, Any]:
        return {"label": self.label, "points": [[point.x, point.y] for point in self.points]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Curve:
        return cls(tuple(Point(*pair) for pair in data["points"]), data["label"])


@dataclass(frozen=True, slots=True)
class Capacity:
    """Usable memory of some boards together: a line across a picture of memory."""

    label: str
    memory_bytes: int

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Capacity:
        return cls(**data)
