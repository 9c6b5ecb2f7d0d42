"""Headers written by the safetensors library, and malformed ones."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpusizer.core.errors import (
    GpusizerError,
    HubUnreachable,
    LimitsExceeded,
    MalformedRepo,
    UnsupportedDtype,
)
from gpusizer.hub.tensors import RawTensor, TensorGroup
from scrapers.client.read_budget import ReadBudget
from scrapers.formats.byte_window import Source
from scrapers.formats.safetensors_header import header_end, parse_header
from scrapers.limits import Limits
from scrapers.repository.header_turns import HeaderTurns
from tests.any_json import any_json
from tests.hub_emulator import raw_safetensors_file, safetensors_file

FILE = "model.safetensors"
LIMITS = Limits()


def read(data: bytes, file_bytes: int | None) -> tuple[RawTensor, ...]:
    """Both steps of reading, on the first bytes of a file."""
    end = header_end(data, file_bytes, "org/name", FILE, LIMITS)
    names, layouts = parse_header(data[:end], file_bytes, "org/name", FILE)
    return tuple((name, *layout) for name, layout in zip(names, layouts, strict=True))


def read_json(header: Any, data_bytes: int = 8) -> tuple[RawTensor, ...]:
    """Return the tensors of a file with this header, given as JSON text or a value."""
    text = header if isinstance(header, str) else json.dumps(header)
    file = raw_safetensors_file(text.encode(), data_size=data_bytes)
    return read(file.head_bytes(), file.size)


def tensor(**changes: Any) -> dict[str, Any]:
    """Return a header of one sound tensor of eight bytes, with changes."""
    return {"t": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changes}


def test_library_file_is_read_back() -> None:
    tensors = {
        "a": ("BF16", (4, 3)),
        "scalar": ("I64", ()),
        "empty": ("F16", (0, 7)),
        "packed": ("F4", (2, 4)),
        "é": ("F8_E8M0", (5,)),
    }
    file = safetensors_file(tensors, {"format": "pt"})
    read_tensors = read(file.read(0, file.size), file.size)
    assert {name: (dtype, shape) for name, dtype, shape in read_tensors} == tensors


def test_size_may_be_unknown() -> None:
    file = safetensors_file({"a": ("F32", (2,))})
    assert read(file.read(0, file.size), None) == (("a", "F32", (2,)),)


def test_gaps_and_empty_headers_are_harmless() -> None:
    assert read_json({}) == ()
    assert read_json({"__metadata__": {"format": "pt"}}) == ()
    assert read_json(tensor(data_offsets=[8, 16]), data_bytes=16) == (("t", "F32", (2,)),)


MALFORMED: dict[str, tuple[Any, str]] = {
    "list": ([], "not_an_object"),
    "number": ("333", "not_an_object"),
    "cut": ('{"t": ', "not_json"),
    "deep": ("[" * 100_000, "too_deep"),
    "twice": ('{"a": {}, "a": {}}', "duplicate_key"),
    "entry": ({"t": 3}, "tensor_entry"),
    "no offsets": ({"t": {"dtype": "F32", "shape": [2]}}, "tensor_entry"),
    "dtype number": (tensor(dtype=3), "tensor_entry"),
    "negative": (tensor(shape=[-2]), "shape"),
    "float": (tensor(shape=[2.0]), "shape"),
    "bool": (tensor(shape=[True, 2]), "shape"),
    "text": (tensor(shape="2"), "shape"),
    "null": (tensor(shape=None), "shape"),
    "huge": (tensor(shape=[2**64]), "shape"),
    "rank": (tensor(shape=[1] * 99), "shape"),
    "nan": ('{"t": {"dtype": "F32", "shape": [NaN], "data_offsets": [0, 8]}}', "shape"),
    "product": (tensor(shape=[2**40, 2**40]), "data_offsets"),
    "reversed": (tensor(data_offsets=[8, 0]), "data_offsets"),
    "one offset": (tensor(data_offsets=[8]), "data_offsets"),
    "wrong size": (tensor(data_offsets=[0, 4]), "data_offsets"),
    "beyond": (tensor(shape=[4], data_offsets=[0, 16]), "beyond_end"),
    "overlap": (tensor() | {"u": tensor()["t"]}, "overlap"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name: str) -> None:
    header, reason = MALFORMED[name]
    with pytest.raises(MalformedRepo) as caught:
        read_json(header)
    assert caught.value.fields == {"repo_id": "org/name", "file": FILE, "reason": reason}


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(MalformedRepo, match="not_utf8"):
        read(b"\x02" + bytes(7) + b"\xff\xfe", 100)


def test_unknown_dtype_is_named() -> None:
    with pytest.raises(UnsupportedDtype) as caught:
        read_json(tensor(dtype="F7"))
    assert caught.value.fields["dtype"] == "F7"


@pytest.mark.parametrize(
    "start, file_bytes, reason",
    [
        (b"", 0, "truncated"),
        (b"\x10\x00", 2, "truncated"),
        (bytes(8), 8, "header_length"),
        ((1000).to_bytes(8, "little"), 1007, "header_length"),
        ((2**63).to_bytes(8, "little"), 10**9, "header_length"),
    ],
)
def test_length_is_checked(start: bytes, file_bytes: int, reason: str) -> None:
    with pytest.raises(MalformedRepo, match=reason):
        header_end(start, file_bytes, "org/name", FILE, LIMITS)


def test_length_is_bounded() -> None:
    start = (LIMITS.header_bytes + 1).to_bytes(8, "little")
    with pytest.raises(LimitsExceeded, match="header_bytes"):
        header_end(start, None, "org/name", FILE, LIMITS)


JSON = any_json()
ENTRY = st.fixed_dictionaries(
    {"dtype": st.sampled_from(["F32", "BF16", "F4", "X"]) | JSON},
    optional={"shape": st.lists(st.integers(-1, 9)) | JSON, "data_offsets": JSON},
)


@given(st.binary(max_size=64), st.none() | st.integers(0, 100))
@example(b"\x02" + bytes(7) + b"{}", 10)
def test_any_bytes_are_read_or_refused(data: bytes, file_bytes: int | None) -> None:
    try:
        read(data, file_bytes)
    except GpusizerError:
        return


@given(st.dictionaries(st.text(max_size=3), ENTRY | JSON, max_size=3))
def test_any_header_is_read_or_refused(header: dict[str, Any]) -> None:
    try:
        tensors = read_json(header)
    except GpusizerError:
        return
    assert len(tensors) == len(header.keys() - {"__metadata__"})


def source_of(*headers: bytes) -> Source:
    """Return a file whose first range is one header; each further range is the next."""
    ranges = iter(headers)
    return lambda start, stop: (next(ranges), None)


def test_tensors_of_all_headers_are_counted_before_they_are_parsed() -> None:
    turns = HeaderTurns(ReadBudget("org/name", Limits(tensors=3)))
    two = safetensors_file({"a.0": ("F32", (2,)), 'say "data_offsets"': ("F32", (2,))})
    tensors, _ = turns.read(source_of(two.head_bytes()), FILE, 100)
    assert sum(group.count for group in tensors) == 2
    unparsable = raw_safetensors_file(b'{"a":{"data_offsets":[0,1]},"b":{"data_offsets":[0,1]}}')
    with pytest.raises(LimitsExceeded) as refusal:
        turns.read(source_of(unparsable.head_bytes()), FILE, 100)
    assert refusal.value.fields["limit"] == "tensors"


def test_escaped_entries_are_counted_once_they_are_parsed() -> None:
    escaped = raw_safetensors_file(
        b'{"a":{"dtype":"U8","shape":[1],"data_\\u006fffsets":[0,1]}}'
    ).head_bytes()
    turns = HeaderTurns(ReadBudget("org/name", Limits(tensors=0)))
    with pytest.raises(LimitsExceeded, match="tensors"):
        turns.read(source_of(escaped), FILE, 100)


def test_patterns_of_all_headers_are_counted() -> None:
    turns = HeaderTurns(ReadBudget("org/name", Limits(tensor_groups=2)))
    for name in ("a", "b", "b"):
        turns.read(source_of(safetensors_file({name: ("F32", (2,))}).head_bytes()), FILE, 100)
    with pytest.raises(LimitsExceeded, match="tensor_groups"):
        turns.read(source_of(safetensors_file({"c": ("F32", (2,))}).head_bytes()), FILE, 100)


def test_after_a_refused_header_no_other_is_parsed() -> None:
    turns = HeaderTurns(ReadBudget("org/name", LIMITS))
    for header in (b"[]", b'{"a":{}}'):
        source = source_of(raw_safetensors_file(header).head_bytes())
        with pytest.raises(MalformedRepo, match="not_an_object"):
            turns.read(source, FILE, 100)


def test_the_remainder_of_a_header_is_read() -> None:
    file = safetensors_file({"a.0": ("F32", (2,)), "a.1": ("F32", (2,))})
    data = file.head_bytes()
    groups = (TensorGroup("a.{}", "F32", (2,), ((0, 1),)),)
    turns = HeaderTurns(ReadBudget("org/name", LIMITS))
    assert turns.read(source_of(data[:20], data[20:]), FILE, 20) == (groups, None)
    with pytest.raises(HubUnreachable, match="truncated"):
        turns.read(source_of(data[:20], data[20:30]), FILE, 20)
