"""Groups of tensors that share a name pattern, a shape and a dtype.

A repository of 92,000 tensors has about a hundred groups, and no name is lost:
`TensorGroup.names()` returns them all.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpusizer.core.dtypes import stored_bytes
from gpusizer.core.loose_values import JsonValue

PLACEHOLDER = "{}"
_MAX_INDEX_DIGITS = 6  # longer numbers are not indices of layers or experts
_EXPERT = "expert_"
_MAX_INDICES = 16  # layer, expert, block and part make four; no model has more than a few

Indices = tuple[int, ...]


def split_name(name: str) -> tuple[str, Indices]:
    """Return the pattern of a name and the numbers that it replaces.

    Each path component that is a number or an expert's (`expert_17`: NLLB-MoE, Switch Transformers)
    becomes a placeholder. A name that could not be rebuilt is its own pattern, without indices: one
    with a brace, a line end, a number with leading zeros ("007") or too many numbers.

    >>> split_name("model.layers.3.mlp.experts.17.up_proj.weight")
    ('model.layers.{}.mlp.experts.{}.up_proj.weight', (3, 17))
    """
    components = name.split(".")
    indices = []
    for place, component in enumerate(components):
        number = component.removeprefix(_EXPERT)
        if number.isdigit() and number.isascii() and len(number) <= _MAX_INDEX_DIGITS:
            if number[0] == "0" and number != "0":
                return name, ()
            indices.append(int(number))
            components[place] = component.removesuffix(number) + PLACEHOLDER
    if not indices or len(indices) > _MAX_INDICES or "{" in name or "\n" in name:
        return name, ()
    return ".".join(components), tuple(indices)


RawTensor = tuple[str, str, tuple[int, ...]]  # header entry: name, dtype, shape
TensorLayout = tuple[str, tuple[int, ...]]  # dtype and shape

# A header by columns, as it is scanned and grouped: names, and the layout of each.
Entries = tuple[Sequence[str], Sequence[TensorLayout]]


@dataclass(frozen=True, slots=True)
class TensorGroup:
    """Tensors that share a name pattern, a dtype and a shape."""

    pattern: str  # name with each number of `split_name` replaced by `{}`
    dtype: str  # safetensors name, or a ggml type
    shape: tuple[int, ...]  # of each tensor; `()` for a scalar
    # Numbers for each placeholder. The group holds their full product, `count` tensors in all;
    # empty without a placeholder.
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
        """Yield each tensor name of the group."""
        if not self.indices:
            yield self.pattern
            return
        pieces = self.pattern.split(PLACEHOLDER)
        for chosen in itertools.product(*self.indices):
            middle = "".join(f"{i}{piece}" for i, piece in zip(chosen, pieces[1:], strict=True))
            yield pieces[0] + middle

    def to_json(self) -> list[JsonValue]:
        """Return a short list: pattern, dtype, shape, index ranges."""
        return [self.pattern, self.dtype, list(self.shape), [_to_ranges(i) for i in self.indices]]

    @classmethod
    def from_json(cls, data: Sequence[Any]) -> TensorGroup:
        """Return the group of a list of `to_json`."""
        pattern, dtype, shape, ranges = data
        indices = tuple(_from_ranges(text) for text in ranges)
        return cls(pattern, dtype, tuple(shape), indices)


Product = tuple[Indices, ...]  # numbers for each placeholder; all their combinations exist

# Pattern, dtype, shape and number of placeholders; the last distinguishes a literal brace.
_Key = tuple[str, str, tuple[int, ...], int]


def group_tensors(tensors: Iterable[RawTensor]) -> tuple[TensorGroup, ...]:
    """Group single tensors as `group_entries` does."""
    rows = list(tensors)
    return group_entries(
        ([name for name, _, _ in rows], [(dtype, shape) for _, dtype, shape in rows])
    )


def group_entries(entries: Entries) -> tuple[TensorGroup, ...]:
    """Group header entries losslessly, in order of first appearance.

    Tensors whose indices do not form a full product (layer 0 has no experts, the others
    have 256) become several groups of the same pattern. A name that comes twice counts once.
    """
    products: defaultdict[_Key, list[Product]] = defaultdict(list)
    for name, (dtype, shape) in zip(*entries, strict=True):
        pattern, indices = split_name(name)
        axes = tuple(zip(indices))  # one number on each axis
        products[pattern, dtype, shape, len(indices)].append(axes)
    return _grouped(products)


def merge_groups(parts: Iterable[Sequence[TensorGroup]]) -> tuple[TensorGroup, ...]:
    """Group the tensors of all parts together, as `group_tensors` would."""
    products: defaultdict[_Key, list[Product]] = defaultdict(list)
    for group in itertools.chain.from_iterable(parts):
        key = group.pattern, group.dtype, group.shape, len(group.indices)
        products[key].append(group.indices)
    return _grouped(products)


def count_names(groups: Iterable[TensorGroup]) -> int:
    """Return the number of distinct names of the groups, whatever their dtypes and shapes."""
    products: defaultdict[tuple[str, int], list[Product]] = defaultdict(list)
    for group in groups:
        products[group.pattern, len(group.indices)].append(group.indices)
    return sum(
        math.prod(map(len, product))
        for several in products.values()
        for product in (_factor(several) if len(several) > 1 else several)
    )


def _grouped(products_by_key: Mapping[_Key, list[Product]]) -> tuple[TensorGroup, ...]:
    return tuple(
        TensorGroup(pattern, dtype, shape, product)
        for (pattern, dtype, shape, _), products in products_by_key.items()
        for product in _factor(products)
    )


def _factor(products: Sequence[Product]) -> list[Product]:
    # Merges index tuples with equal tails, so that few full products hold them all.
    depth = len(products[0])
    if depth == 0:
        return [()]
    if depth == 1:
        return [(tuple(sorted(set().union(*(values for (values,) in products)))),)]
    tails_by_first: dict[int, list[Product]] = {}
    for product in products:
        tail_axes = product[1:]
        for first in product[0]:
            tails_by_first.setdefault(first, []).append(tail_axes)
    firsts_by_tail: dict[tuple[Product, ...], list[int]] = {}
    for first in sorted(tails_by_first):
        tail = tuple(_factor(tails_by_first[first]))
        firsts_by_tail.setdefault(tail, []).append(first)
    return [
        (tuple(firsts), *product) for tail, firsts in firsts_by_tail.items() for product in tail
    ]


def _to_ranges(values: Indices) -> str:
    # (0, 1, 2, 5) becomes "0-2,5"; values are sorted and unique.
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
