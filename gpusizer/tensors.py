"""Tensors kept as groups: every tensor of one shape and dtype under one name pattern.

A 92,000-tensor repository has about a hundred groups, and nothing is lost:
`TensorGroup.names()` gives back every name.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from gpusizer.dtypes import stored_bytes

PLACEHOLDER = "{}"
# A path component that is a number: a layer or an expert. Longer numbers are no index. Names
# stand one to a line, each behind a dot: a literal start makes the search several times faster.
_INDEX = re.compile(r"\.([0-9]{1,6})(?=[.\n])")

Indices = tuple[int, ...]
RawTensor = tuple[str, str, tuple[int, ...]]
"""One header entry: name, dtype, shape."""


@dataclass(frozen=True, slots=True)
class TensorGroup:
    """Tensors that share a name pattern, a dtype and a shape.

    Attributes:
        pattern: name with each numeric path component replaced by `{}`.
        dtype: name in the safetensors format, or of a ggml type.
        shape: shape of every tensor of the group; `()` for a scalar.
        indices: for each placeholder, the numbers it takes. The group holds their
            full product, so `count` tensors in all; empty when there is no placeholder.
    """

    pattern: str
    dtype: str
    shape: tuple[int, ...]
    indices: tuple[Indices, ...] = ()

    @property
    def count(self) -> int:
        """Number of tensors."""
        return math.prod(len(values) for values in self.indices)

    @property
    def elements(self) -> int:
        """Stored elements of all tensors together."""
        return math.prod(self.shape) * self.count

    @property
    def stored_bytes(self) -> int:
        """Bytes of all tensors together, as in the files."""
        return stored_bytes(self.dtype, math.prod(self.shape)) * self.count

    def names(self) -> Iterator[str]:
        """Every tensor name of the group."""
        if not self.indices:
            yield self.pattern
            return
        pieces = self.pattern.split(PLACEHOLDER)
        for chosen in itertools.product(*self.indices):
            middle = "".join(f"{i}{piece}" for i, piece in zip(chosen, pieces[1:], strict=True))
            yield pieces[0] + middle

    def to_json(self) -> list[Any]:
        """A short list: pattern, dtype, shape, index ranges."""
        return [self.pattern, self.dtype, list(self.shape), [_to_ranges(i) for i in self.indices]]

    @classmethod
    def from_json(cls, data: list[Any]) -> TensorGroup:
        """Inverse of `to_json`."""
        pattern, dtype, shape, ranges = data
        indices = tuple(_from_ranges(text) for text in ranges)
        return cls(pattern, dtype, tuple(shape), indices)


def group_tensors(tensors: Iterable[RawTensor]) -> tuple[TensorGroup, ...]:
    """Group header entries losslessly, in order of first appearance.

    Tensors whose indices do not form a full product (layer 0 has no experts, the others
    have 256) become several groups of the same pattern.
    """
    listed = list(tensors)
    patterns, depths, numbers = _split_names([name for name, _, _ in listed])
    # The depth keeps a name with literal braces apart from the pattern it looks like.
    buckets: dict[tuple[str, str, tuple[int, ...], int], list[int]] = defaultdict(list)
    stops = itertools.accumulate(depths)
    for (_, dtype, shape), pattern, depth, stop in zip(
        listed, patterns, depths, stops, strict=True
    ):
        buckets[pattern, dtype, shape, depth].append(stop)
    groups = []
    for (pattern, dtype, shape, depth), ends in buckets.items():
        columns = ([numbers[end - back] for end in ends] for back in range(depth, 0, -1))
        index_tuples: list[Indices] = list(zip(*columns, strict=True)) or [()]
        for product in _factor(index_tuples):
            groups.append(TensorGroup(pattern, dtype, shape, product))
    return tuple(groups)


def _split_names(names: list[str]) -> tuple[list[str], list[int], list[int]]:
    """Pattern and depth of every name, and the numbers of all names one after another.

    All at once where that is unambiguous.
    """
    text = "." + "\n.".join(names) + "\n"
    pieces = _INDEX.split(text)
    values = {digits: int(digits) for digits in set(pieces[1::2])}
    # A literal brace would be ambiguous with a placeholder, and "007" would not survive the
    # round trip through int: such names are no patterns.
    unusual = "{" in text or any(str(number) != digits for digits, number in values.items())
    if unusual or text.count("\n") != len(names):
        if len(names) <= 1:
            return names, [0] * len(names), []
        parts = [_split_names([name]) for name in names]
        flat = itertools.chain.from_iterable
        return (
            list(flat(patterns for patterns, _, _ in parts)),
            list(flat(depths for _, depths, _ in parts)),
            list(flat(numbers for _, _, numbers in parts)),
        )
    found = list(map(values.__getitem__, pieces[1::2]))
    patterns = f".{PLACEHOLDER}".join(pieces[::2])[1:-1].split("\n.")
    depths = {pattern: pattern.count(PLACEHOLDER) for pattern in set(patterns)}
    return patterns, list(map(depths.__getitem__, patterns)), found


def _factor(index_tuples: list[Indices]) -> list[tuple[Indices, ...]]:
    """Split a set of index tuples into full products, merging equal tails."""
    depth = len(index_tuples[0])
    if depth == 0:
        return [()]
    if depth == 1:
        return [(tuple(sorted({t[0] for t in index_tuples})),)]
    by_first: dict[int, list[Indices]] = {}
    for indices in index_tuples:
        by_first.setdefault(indices[0], []).append(indices[1:])
    firsts_by_tail: dict[tuple[tuple[Indices, ...], ...], list[int]] = {}
    for first in sorted(by_first):
        tail = tuple(_factor(by_first[first]))
        firsts_by_tail.setdefault(tail, []).append(first)
    return [
        (tuple(firsts), *product) for tail, firsts in firsts_by_tail.items() for product in tail
    ]


def _to_ranges(values: Indices) -> str:
    """`(0, 1, 2, 5)` as `"0-2,5"`; values are sorted and unique."""
    parts: list[str] = []
    for _, run in itertools.groupby(enumerate(values), lambda pair: pair[1] - pair[0]):
        numbers = [value for _, value in run]
        first, last = numbers[0], numbers[-1]
        parts.append(str(first) if first == last else f"{first}-{last}")
    return ",".join(parts)


def _from_ranges(text: str) -> Indices:
    values: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        values.extend(range(int(first), int(last or first) + 1))
    return tuple(values)
