"""Stacks, curves and levels: amounts with names, free of colours and coordinates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StackPart:
    """One part of a stack; `key` is what the page's words call it."""

    key: str
    amount_bytes: int


@dataclass(frozen=True, slots=True)
class Stack:
    """Memory of one way to run or train a model, its parts in the order they are stacked."""

    label: str
    parts: tuple[StackPart, ...]
    detail: str = ""

    @property
    def total_bytes(self) -> int:
        return sum(part.amount_bytes for part in self.parts)


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


@dataclass(frozen=True, slots=True)
class Capacity:
    """Usable memory of some boards together: a line across a picture of memory."""

    label: str
    memory_bytes: int
