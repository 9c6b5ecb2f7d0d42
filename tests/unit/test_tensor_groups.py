"""Groups of tensors whose names differ in numbers alone."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.dtypes import DTYPE_BITS, stored_bytes
from gpusizer.hub.tensors import RawTensor, TensorGroup, group_tensors, merge_groups
from tests.builders import group

# Components that tempt a grouper: indices, near-indices, placeholders, other scripts' digits.
COMPONENTS = st.one_of(
    st.sampled_from(
        [
            "0",
            "1",
            "2",
            "10",
            "00",
            "007",
            "999999",
            "1000000",
            "-1",
            "{}",
            "{",
            "}",
            "{0}",
            "",
            "layers",
            "experts",
            "expert_0",
            "expert_12",
            "expert_07",
            "expert_",
            "expert_{}",
            "weight",
            "w1",
            "1w",
            "\u0663",
            "\uff11",
            "\u00b2",
            "\n3",
        ]
    ),
    st.integers(0, 12).map(str),
    st.text(max_size=4),
)
NAMES = st.lists(COMPONENTS, min_size=1, max_size=5).map(".".join)
SHAPES = st.lists(st.integers(0, 5), max_size=3).map(tuple)
HEADERS = st.dictionaries(NAMES, st.tuples(st.sampled_from(sorted(DTYPE_BITS)), SHAPES))


def header(entries: dict[str, tuple[str, tuple[int, ...]]]) -> list[RawTensor]:
    return [(name, dtype, shape) for name, (dtype, shape) in entries.items()]


@given(HEADERS)
def test_grouping_gives_back_every_tensor(entries: dict[str, tuple[str, tuple[int, ...]]]) -> None:
    groups = group_tensors(header(entries))
    restored = [(name, (g.dtype, g.shape)) for g in groups for name in g.names()]
    assert Counter(name for name, _ in restored) == Counter(list(entries))
    assert dict(restored) == entries
    assert sum(g.count for g in groups) == len(entries)
    assert sum(g.elements for g in groups) == sum(math.prod(s) for _, s in entries.values())
    assert sum(g.stored_bytes for g in groups) == sum(
        stored_bytes(dtype, math.prod(shape)) for dtype, shape in entries.values()
    )


ALIKE = st.builds(
    "{}.{}.w{}".format, st.sampled_from("hm"), st.integers(0, 30), st.integers(1, 3)
) | st.sampled_from(["h.07.w1", "h.w1", "{}.w1", "0", "h\n.1.w1"])


@given(st.lists(st.tuples(ALIKE, st.sampled_from(["F32", "BF16"]), SHAPES)))
def test_repeated_names_count_once(tensors: list[RawTensor]) -> None:
    assert set(group_tensors([*tensors, *tensors])) == set(group_tensors(tensors))


@given(st.lists(st.tuples(ALIKE, st.sampled_from(["F32", "BF16"]), SHAPES)), st.integers(0, 9))
def test_groups_of_parts_merge_into_those_of_all(tensors: list[RawTensor], cut: int) -> None:
    parts = [group_tensors(part) for part in (tensors[:cut], tensors[cut:])]
    assert merge_groups(parts) == group_tensors(tensors)


@given(HEADERS)
def test_groups_survive_json(entries: dict[str, tuple[str, tuple[int, ...]]]) -> None:
    groups = group_tensors(header(entries))
    restored = json.loads(json.dumps([g.to_json() for g in groups]))
    assert tuple(TensorGroup.from_json(item) for item in restored) == groups


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, unique=True),
    st.sampled_from(["", "expert_"]),
)
def test_any_set_of_experts_is_kept(pairs: list[tuple[int, int]], word: str) -> None:
    names = [f"layers.{layer}.experts.{word}{expert}.w" for layer, expert in pairs]
    groups = group_tensors([(name, "BF16", (2, 3)) for name in names])
    assert sorted(name for g in groups for name in g.names()) == sorted(names)
    assert {g.pattern for g in groups} == {f"layers.{{}}.experts.{word}{{}}.w"}


@pytest.mark.parametrize(
    "experts",
    [
        range(12),
        range(95, 112),
        range(997, 1003),
        range(99_998, 100_002),
        [3, 4, 5, 9, 10],
        [12, 11, 10],
        [7, 8, 9, 0, 1],
        [100, 101, 103, 102],
    ],
)
def test_numbers_are_read_in_any_order(experts: Sequence[int]) -> None:
    names = [f"h.{layer}.e.{expert}.w" for layer in (8, 9) for expert in experts]
    (grouped,) = group_tensors([(name, "F32", (2,)) for name in names])
    assert grouped.indices == ((8, 9), tuple(sorted(experts)))
    (grouped,) = group_tensors([(name, "F32", (2,)) for name in names[: len(experts)]])
    assert grouped.indices == ((8,), tuple(sorted(experts)))


def test_a_full_product_is_one_group() -> None:
    names = [f"model.layers.{i}.mlp.experts.{e}.w1" for i in range(3, 61) for e in range(256)]
    groups = group_tensors([(name, "F8_E4M3", (2048, 7168)) for name in names])
    assert groups == (
        TensorGroup(
            "model.layers.{}.mlp.experts.{}.w1",
            "F8_E4M3",
            (2048, 7168),
            (tuple(range(3, 61)), tuple(range(256))),
        ),
    )
    assert groups[0].count == 58 * 256
    assert groups[0].stored_bytes == 58 * 256 * 2048 * 7168
    assert groups[0].to_json()[3] == ["3-60", "0-255"]
    assert list(groups[0].names()) == names


def test_layers_with_different_experts_are_separate_groups() -> None:
    experts = {0: range(2), 1: range(4), 2: range(2)}
    names = [f"layers.{i}.experts.{e}.w" for i, numbers in experts.items() for e in numbers]
    groups = group_tensors([(name, "BF16", (8,)) for name in names])
    assert [(g.indices, g.count) for g in groups] == [
        (((0, 2), (0, 1)), 4),
        (((1,), (0, 1, 2, 3)), 4),
    ]


@pytest.mark.parametrize(
    "name, pattern, indices",
    [
        ("model.layers.12.mlp.w", "model.layers.{}.mlp.w", ((12,),)),
        ("0.auto_model.weight", "{}.auto_model.weight", ((0,),)),
        ("h.3", "h.{}", ((3,),)),
        ("layers.0.experts.7.w2", "layers.{}.experts.{}.w2", ((0,), (7,))),
        ("conv1d.weight", "conv1d.weight", ()),  # a digit inside a word is no index
        ("layers.007.w", "layers.007.w", ()),  # 7 would be written back without its zeros
        ("layers.1000000.w", "layers.1000000.w", ()),
        ("layers.{}.w", "layers.{}.w", ()),
        ("layers.\u0663.w", "layers.\u0663.w", ()),  # ARABIC-INDIC DIGIT THREE is a letter here
    ],
)
def test_which_numbers_are_indices(
    name: str, pattern: str, indices: tuple[tuple[int, ...], ...]
) -> None:
    (grouped,) = group_tensors([(name, "F16", ())])
    assert (grouped.pattern, grouped.indices) == (pattern, indices)
    assert list(grouped.names()) == [name]


def test_a_literal_placeholder_stays_apart_from_the_pattern() -> None:
    names = ["layers.{}.w", "layers.0.w", "layers.1.w"]
    groups = group_tensors([(name, "F16", (4,)) for name in names])
    assert sorted(name for g in groups for name in g.names()) == sorted(names)
    assert [g.count for g in groups] == [1, 2]


def test_groups_come_in_order_of_first_appearance() -> None:
    entries = [("b", "F16", ()), ("a.1", "F16", (2,)), ("c", "F16", ()), ("a.0", "F16", (2,))]
    groups = group_tensors(entries)
    assert [g.pattern for g in groups] == ["b", "a.{}", "c"]
    assert groups[1].indices == ((0, 1),)


def test_names_of_a_thousand_numbers_stay_as_they_are() -> None:
    zeros, ones = (".".join([digit] * 5000) for digit in "01")
    names = [zeros, f"{zeros}.1", ones]
    groups = group_tensors([(name, "F16", (4,)) for name in names])
    assert [(g.pattern, g.indices) for g in groups] == [(name, ()) for name in names]
    assert merge_groups([groups, groups]) == groups


def test_no_tensors_no_groups() -> None:
    assert group_tensors([]) == ()


@pytest.mark.parametrize(
    ("values", "text"),
    [((0,), "0"), ((0, 1), "0-1"), ((0, 1, 2, 5), "0-2,5"), ((3, 7, 11), "3,7,11")],
)
def test_index_ranges_are_short_and_exact(values: tuple[int, ...], text: str) -> None:
    tensor_group = group("a.{}", (1,), values)
    assert tensor_group.to_json() == ["a.{}", "BF16", [1], [text]]
    assert TensorGroup.from_json(tensor_group.to_json()) == tensor_group


@pytest.mark.parametrize(
    ("shape", "indices", "elements", "size"),
    [
        ((), (), 1, 2),  # a scalar has one element
        ((0, 5), (), 0, 0),
        ((1024, 4096), (range(32),), 32 * 1024 * 4096, 2 * 32 * 1024 * 4096),
    ],
)
def test_group_sizes(
    shape: tuple[int, ...], indices: tuple[range, ...], elements: int, size: int
) -> None:
    tensor_group = group("w.{}" if indices else "w", shape, *indices)
    assert (tensor_group.elements, tensor_group.stored_bytes) == (elements, size)
