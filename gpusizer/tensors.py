"""Tensors kept as groups: every tensor of one shape and dtype under one name pattern.

A 92,000-tensor repository has about a hundred groups, and nothing is lost:
`TensorGroup.names()` gives back every name.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

from gpusizer.dtypes import stored_bytes

PLACEHOLDER = "{}"
# A path component that is a number: a layer or an expert. Longer numbers are no index.
_INDEX = re.compile(r"(?:^|(?<=\.))[0-9]{1,6}(?=\.|\Z)")
_NUMBER = re.compile(r"0+")
_MOST_INDICES = 16  # layer, expert, block and part make four
_MOST_KEPT_CHARS = 256
_FORM = str.maketrans("123456789", "0" * 9)

Indices = tuple[int, ...]
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
_Product = tuple[Indices, ...]
"""All index tuples that take a number of each."""
_Found = dict[_Key, list[_Product]]
"""Tensors by what they share, in order of first appearance."""
_Span = tuple[int, int]
_Kind = str | tuple[str, str | tuple[str, ...]]
"""A name with every digit a 0, and the digits of it that are no index where it has some."""


def group_tensors(tensors: Iterable[RawTensor]) -> tuple[TensorGroup, ...]:
    """Group header entries losslessly, in order of first appearance.

    Tensors whose indices do not form a full product (layer 0 has no experts, the others
    have 256) become several groups of the same pattern.
    """
    listed = list(tensors)
    return group_entries(([name for name, *_ in listed], [(d, s) for _, d, s in listed]))


def group_entries(entries: Entries) -> tuple[TensorGroup, ...]:
    """`group_tensors` of a header by columns."""
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
    """Tensors by what they share; None where a name is unusual or comes twice.

    Names alike but for their digits have them at the same places: what is found out for one
    of them is cut out of all.
    """
    if not names:
        return {}
    text = "\n".join(names)
    if "{" in text or text.count("\n") >= len(names) or len(set(names)) < len(names):
        return None
    forms = text.translate(_FORM).split("\n")
    places = {form: _index_places(form) for form in set(forms)}
    kinds = _with_digits_that_matter(forms, names, places)
    alike: dict[tuple[_Kind, Layout], list[str]] = defaultdict(list)
    for name, key in zip(names, zip(kinds, layouts, strict=True), strict=True):
        alike[key].append(name)
    found: _Found = defaultdict(list)
    for (kind, layout), same in alike.items():
        form = kind if isinstance(kind, str) else kind[0]
        products = _indices(same, places[form])
        if products is None:
            return None
        found[_pattern(same[0], places[form]), *layout, len(places[form])] += products
    return found


def _one_by_one(names: Sequence[str], layouts: Sequence[Layout]) -> _Found:
    """The same for any names. One with braces, or an index like "007", is no pattern."""
    found: _Found = defaultdict(list)
    for name, layout in zip(names, layouts, strict=True):
        places = () if "{" in name or "\n" in name else _index_places(name)
        products = _indices([name], places)
        if products is None:
            places, products = (), [()]
        found[_pattern(name, places), *layout, len(places)] += products
    return found


def _indices(names: Sequence[str], places: Sequence[_Span]) -> list[_Product] | None:
    """The numbers at these places of names of one length; None for one like "007"."""
    text, length = "".join(names), len(names[0])
    columns: list[list[str]] = []
    for start, stop in places:
        if stop - start > 1 and "0" in text[start::length]:
            return None  # it would not survive the round trip through int
        if all(text[i::length] == text[i] * len(names) for i in range(start, stop)):
            columns.append([names[0][start:stop]])  # one for all, as a layer's number often is
        else:
            columns.append(list(map(itemgetter(slice(start, stop)), names)))
    return _runs(columns, len(names))


def _runs(columns: list[list[str]], count: int) -> list[_Product]:
    """A product for each run of tensors that differ in the last number alone.

    A column holds the number of every one of `count` tensors, or the one that all have.
    """
    if all(len(column) == 1 for column in columns[:-1]):
        return [tuple(tuple(map(int, column)) for column in columns)]
    *firsts, lasts = [column * count if len(column) == 1 else column for column in columns]
    products: list[_Product] = []
    start = 0
    for numbers, run in itertools.groupby(zip(*firsts, strict=True)):
        stop = start + len(list(run))
        products.append((*((int(n),) for n in numbers), tuple(map(int, lasts[start:stop]))))
        start = stop
    return products


def _with_digits_that_matter(
    forms: Sequence[str], names: Sequence[str], places: Mapping[str, Sequence[_Span]]
) -> Sequence[_Kind]:
    """The forms, and beside them the digits that are no index: `w1` is not `w2`."""
    digits = {}
    for form, indices in places.items():
        rest = [m.span() for m in _NUMBER.finditer(form) if m.span() not in indices]
        if rest:
            digits[form] = itemgetter(*(slice(*span) for span in rest))
    if not digits:
        return forms
    return [
        (form, digits[form](name)) if form in digits else form
        for form, name in zip(forms, names, strict=True)
    ]


def _index_places(name: str) -> tuple[_Span, ...]:
    """Where indices are. A name with more of them than any model has is taken as it is."""
    return _known_places(name) if len(name) <= _MOST_KEPT_CHARS else _find_places(name)


def _find_places(name: str) -> tuple[_Span, ...]:
    found = tuple(match.span() for match in _INDEX.finditer(name))
    return found if len(found) <= _MOST_INDICES else ()


_known_places = lru_cache(maxsize=4096)(_find_places)
"""Shards name their tensors alike."""


def _pattern(name: str, places: Sequence[_Span]) -> str:
    """The name with a placeholder at each of these places."""
    ends = [0, *(end for _, end in places)]
    starts = [*(start for start, _ in places), len(name)]
    return PLACEHOLDER.join(name[a:b] for a, b in zip(ends, starts, strict=True))


def _factor(products: Sequence[_Product]) -> list[_Product]:
    """The index tuples of some products as few full products, merging equal tails."""
    depth = len(products[0])
    if depth == 0:
        return [()]
    if depth == 1:
        return [(tuple(sorted(set().union(*(values for (values,) in products)))),)]
    tails_by_first: dict[int, list[_Product]] = {}
    for firsts, *rest in products:
        for first in firsts:
            tails_by_first.setdefault(first, []).append(tuple(rest))
    firsts_by_tail: dict[tuple[_Product, ...], list[int]] = {}
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
