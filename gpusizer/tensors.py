"""Tensors kept as groups: every tensor of one shape and dtype under one name pattern.

A 92,000-tensor repository has about a hundred groups, and nothing is lost:
`TensorGroup.names()` gives back every name.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from gpusizer.dtypes import stored_bytes
from gpusizer.tensor_names import (
    PLACEHOLDER,
    Indices,
    Kind,
    Product,
    form_of,
    forms_of,
    index_places,
    indices_of,
    kinds_of,
    pattern_of,
)

RawTensor = tuple[str, str, tuple[int, ...]]
"""One header entry: name, dtype, shape."""
Layout = tuple[str, tuple[int, ...]]
"""Dtype and shape."""
Entries = tuple[Sequence[str], Sequence[Layout]]
"""A header by columns, as it is scanned and grouped: names, and the layout of each."""


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


_Key = tuple[str, str, tuple[int, ...], int]
"""Pattern, dtype, shape, and depth: that keeps literal braces apart from placeholders."""
_Found = dict[_Key, list[Product]]
"""Tensors by what they share, in order of first appearance."""
_Sort = TypeVar("_Sort")


def group_tensors(tensors: Iterable[RawTensor]) -> tuple[TensorGroup, ...]:
    """Group header entries losslessly, in order of first appearance.

    Tensors whose indices do not form a full product (layer 0 has no experts, the others
    have 256) become several groups of the same pattern.
    """
    listed = list(tensors)
    entries = [name for name, *_ in listed], [(d, s) for _, d, s in listed]
    if len(set(entries[0])) < len(listed):
        return _grouped(_one_by_one(*entries))
    return group_entries(entries)


def group_entries(entries: Entries) -> tuple[TensorGroup, ...]:
    """`group_tensors` of a header by columns, where no name comes twice."""
    found = _all_at_once(*entries)
    return _grouped(_one_by_one(*entries) if found is None else found)


def merge_groups(parts: Iterable[Sequence[TensorGroup]]) -> tuple[TensorGroup, ...]:
    """What `group_tensors` would make of the tensors of all parts together."""
    found: _Found = defaultdict(list)
    for group in itertools.chain.from_iterable(parts):
        found[group.pattern, group.dtype, group.shape, len(group.indices)].append(group.indices)
    return _grouped(found)


def _grouped(found: _Found) -> tuple[TensorGroup, ...]:
    return tuple(
        TensorGroup(pattern, dtype, shape, product)
        for (pattern, dtype, shape, _), products in found.items()
        for product in _factor(products)
    )


def _all_at_once(names: Sequence[str], layouts: Sequence[Layout]) -> _Found | None:
    """Tensors by what they share; None where a name is unusual.

    Names alike but for their digits have them at the same places: what is found out for one
    of them is cut out of all.
    """
    texts = forms_of(names) if names else []
    if texts is None:
        return None
    forms = {text: form_of(text) for text in set(texts)}
    kinds = kinds_of(texts, names, forms)
    found: _Found = defaultdict(list)
    for text, layout, same in _alike(names, kinds, layouts):
        form = forms[text]
        products = indices_of(same, form.places)
        if products is None:
            return None
        pattern = pattern_of(same[0], form.places) if form.others else form.pattern
        found[pattern, *layout, len(form.places)] += products
    return found


def _alike(
    names: Sequence[str], kinds: Sequence[Kind], layouts: Sequence[Layout]
) -> Iterator[tuple[str, Layout, list[str]]]:
    """Names of one kind and layout: their form, their layout, and they, in order."""
    layout_of = dict(zip(kinds, layouts, strict=True))
    if list(map(layout_of.__getitem__, kinds)) == list(layouts):
        for kind, same in _sorted_out(names, kinds).items():
            yield kind if isinstance(kind, str) else kind[0], layout_of[kind], same
    else:
        both = list(zip(kinds, layouts, strict=True))
        for (kind, layout), same in _sorted_out(names, both).items():
            yield kind if isinstance(kind, str) else kind[0], layout, same


def _sorted_out(names: Sequence[str], keys: Sequence[_Sort]) -> dict[_Sort, list[str]]:
    found: dict[_Sort, list[str]] = defaultdict(list)
    for name, key in zip(names, keys, strict=True):
        found[key].append(name)
    return found


def _one_by_one(names: Sequence[str], layouts: Sequence[Layout]) -> _Found:
    """The same for any names. One with braces, or an index like "007", is no pattern."""
    found: _Found = defaultdict(list)
    for name, layout in zip(names, layouts, strict=True):
        places = () if "{" in name or "\n" in name else index_places(name)
        products = indices_of([name], places)
        if products is None:
            places, products = (), [()]
        found[pattern_of(name, places), *layout, len(places)] += products
    return found


def _factor(products: Sequence[Product]) -> list[Product]:
    """The index tuples of some products as few full products, merging equal tails."""
    depth = len(products[0])
    if depth == 0:
        return [()]
    if depth == 1:
        return [(tuple(sorted(set().union(*(values for (values,) in products)))),)]
    tails_by_first: dict[int, list[Product]] = {}
    for firsts, *rest in products:
        for first in firsts:
            tails_by_first.setdefault(first, []).append(tuple(rest))
    firsts_by_tail: dict[tuple[Product, ...], list[int]] = {}
    for first in sorted(tails_by_first):
        tail = tuple(_factor(tails_by_first[first]))
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
