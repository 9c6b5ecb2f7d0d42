"""JSON of strangers: any bytes are values or a typed error, within bounds of memory."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpusizer.core.errors import LimitsExceeded, MalformedRepo, ModelUnreadable
from gpusizer.core.units import MIB
from gpusizer.hub.tensors import merge_groups
from scrapers.formats.headers_answer import parse_headers
from scrapers.formats.json_files import load_json, parse_object, values_bytes
from scrapers.formats.json_stream import MAX_DEPTH, MAX_MEMBERS, json_stream
from scrapers.formats.safetensors_header import parse_header
from scrapers.formats.shard_index import ShardIndex, parse_index
from scrapers.limits import Limits
from tests.any_json import any_json
from tests.hub_emulator import raw_safetensors_file
from tests.nightly import some

KEYS = st.sampled_from(["weight_map", "metadata", "total_size", "headers", "a", "dtype", "shape"])
TEXTS = any_json(KEYS, nan=False).map(lambda value: json.dumps(value).encode())
CROWDS = {
    "lists": b"[],",
    "lists of one": b"[1],",
    "objects": b"{},",
    "objects of one": b'{"a":1},',
    "numbers": b"1e9,",
    "texts": b'"ab",',
    "wide texts": '"\U0001f917b",'.encode(),
}


def damages(text: bytes) -> st.SearchStrategy[bytes]:
    """Return a text as it is, cut, with other bytes in it or behind it, or deep in brackets."""
    at = st.integers(0, len(text))
    return st.one_of(
        st.just(text),
        at.map(lambda end: text[:end]),
        st.tuples(at, st.binary(max_size=9)).map(lambda new: text[: new[0]] + new[1] + text),
        st.sampled_from([b"[", b'{"headers":', b'{"weight_map":']).map(lambda head: head + text),
        st.sampled_from([40, 5_000]).map(lambda depth: b"[" * depth + text + b"]" * depth),
    )


READERS: dict[str, Callable[[bytes], Any]] = {
    "any": lambda data: load_json(data, "r", "p"),
    "object": lambda data: parse_object(data, "r", "p", 32),
    "index": lambda data: parse_index(data, Limits(), "r", "p"),
    "headers": lambda data: parse_headers(data, {"a": 8}, Limits(), "r", "p"),
    "header": lambda data: parse_header(bytes(8) + data, None, "r", "p"),
}


@settings(deadline=None)
@given(TEXTS.flatmap(damages))
@example(b'{"weight_map":{"a":"b"}')
@example(b'{"headers":{"a":' + b"[" * 100_000)
@example(b'{"headers":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}")
@example(b'{"x":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001)
@example(b'{"metadata":{"total_size":1' + b"0" * 5_000 + b"}}")
@example(b'\xef\xbb\xbf{"weight_map":{"a":"b"}}')
def test_any_bytes_are_values_or_a_typed_error(data: bytes) -> None:
    for read in READERS.values():
        try:
            read(data)
        except ModelUnreadable:
            continue
        with suppress(RecursionError):  # of values that a stream has passed over
            json.loads(data.decode("utf-8-sig"))


@settings(deadline=None)
@given(
    st.dictionaries(st.text(max_size=6), st.text(st.characters(exclude_categories=["Cs"]))),
    st.sampled_from([None, 1]),
    st.booleans(),
)
def test_an_index_names_its_files(
    weight_map: dict[str, str], indent: int | None, ascii_only: bool
) -> None:
    index = {
        "x": {"weight_map": {"b": 1}, "total_size": 9},
        "metadata": {"x": [{"total_size": 8}], "total_size": 7, "y": {"total_size": 9}},
        "weight_map": weight_map,
        "other": [1],
    }
    data = json.dumps(index, indent=indent, ensure_ascii=ascii_only).encode(errors="ignore")
    shards = tuple(dict.fromkeys(weight_map.values()))
    assert parse_index(data, Limits(), "r", "p") == ShardIndex(shards, 7)


@settings(deadline=None)
@given(any_json(nan=False))
def test_a_streams_value_is_that_of_the_whole(value: Any) -> None:
    data = json.dumps({"x": value, "headers": value}).encode()
    whole = json.loads(data)["headers"]
    try:
        with json_stream(data, "r", "p") as stream:
            for key in stream.members():
                if key == "x":
                    stream.skip()
                else:
                    assert stream.value() == whole
    except MalformedRepo:
        assert beyond_64_bits(whole)


def beyond_64_bits(value: Any) -> bool:
    """Whether a number is in it that no header or index has."""
    if isinstance(value, int | float):
        return abs(value) >= 2**63
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(beyond_64_bits, inner))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"a":1,"a":2}', "duplicate_key"),
        (b'{"a":1', "not_json"),
        (b'{"a":1}}', "not_json"),
        (b'{"a" 1}', "not_json"),
        (b'{"a":"\xff"}', "not_json"),
        (b"[]", "not_an_object"),
        (b'{"weight_map":[1]}', "weight_map"),
        (b'{"weight_map":{"a":["b"]}}', "weight_map"),
        (b'{"weight_map":{"a":"' + b":" * 2**20 + b'"}}', "crowded"),
        (b'{"x":[' + b"[]," * 600_000 + b"0]}", "crowded"),
        (b"{" + b",".join(b'"%d":0' % n for n in range(MAX_MEMBERS + 1)) + b"}", "crowded"),
    ],
)
def test_a_malformed_index_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedRepo) as caught:
        parse_index(data, Limits(), "r", "p")
    assert caught.value.fields["reason"] == reason


@pytest.mark.parametrize(("limit", "most"), [("tensors", 2), ("weight_files", 1)])
def test_an_index_lists_no_more_than_may_be(limit: str, most: int) -> None:
    data = b'{"weight_map":{"a":"x","b":"x","c":"y"}}'
    with pytest.raises(LimitsExceeded, match=limit):
        parse_index(data, Limits(**{limit: most}), "r", "p")


ENTRY = '"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"__metadata__":{},"__metadata__":{},%s}', "duplicate_key"),
        ('{"__metadata__":{"x":1,"x":2},%s}', "duplicate_key"),
        ('{"__metadata__":{},,%s}', "not_json"),
        ('{"__metadata__":{"x":"\\ud800"},%s,%s}', "duplicate_key"),
        ('{"__metadata__":[' + "[]," * 2_000_000 + "[]],%s}", "crowded"),
    ],
)
def test_a_malformed_header_is_refused(text: str, reason: str) -> None:
    data = raw_safetensors_file(text.replace("%s", ENTRY).encode()).head_bytes()
    with pytest.raises(MalformedRepo) as caught:
        parse_header(data, len(data) + 8, "r", "p")
    assert caught.value.fields["reason"] == reason


@pytest.mark.parametrize("size", [0, 10, 2**18 + 10])
def test_metadata_of_any_length_is_passed_over(size: int) -> None:
    text = f'{{"__metadata__":{{"format":"{"x" * size}"}},{ENTRY}}}'
    data = raw_safetensors_file(text.encode()).head_bytes()
    assert parse_header(data, len(data) + 8, "r", "p") == (["a"], [("F32", (2,))])


HEADER = f"{{{ENTRY}}}"
FILE_BYTES = 8 + len(HEADER) + 8


@pytest.mark.parametrize(
    ("text", "size", "reason"),
    [
        ('{"headers":{"a":%s}}', FILE_BYTES, ""),
        ('{"headers":{"a":%s}}', FILE_BYTES + 7, ""),
        ('{"headers":{"a":%s}}', FILE_BYTES - 1, "beyond_end"),
        ('{"headers":{"a":%s}}', FILE_BYTES + 8, "beyond_end"),
        ('{"headers":{"a":%s}}', None, ""),
        ('{"headers":{"b":%s}}', FILE_BYTES, "missing_shard"),
        ('{"headers":{"a":%s,"a":%s}}', FILE_BYTES, "duplicate_key"),
        ('{"headers":{"a":[%s]}}', FILE_BYTES, "not_an_object"),
        ('{"headers":[%s]}', FILE_BYTES, "not_an_object"),
        ('{"headers":{}}', FILE_BYTES, "not_an_object"),
        ('{"headers":{"a":{"t":[1]}}}', FILE_BYTES, "tensor_entry"),
        ('{"headers":{"a":' + "[" * (MAX_DEPTH + 1) + "}}", FILE_BYTES, "too_deep"),
        ('{"headers":{"a":{"__metadata__":{"x":1,"x":2}}}}', FILE_BYTES, "duplicate_key"),
        ('{"headers":{"a":%s},"headers":{}}', FILE_BYTES, "duplicate_key"),
        ('{"headers":{"a":%s}', FILE_BYTES, "not_json"),
    ],
)
def test_an_answer_of_all_headers(text: str, size: int | None, reason: str) -> None:
    data = text.replace("%s", HEADER).encode()
    if not reason:
        (groups,) = parse_headers(data, {"a": size}, Limits(), "r", "p").values()
        assert sum(group.count for group in groups) == 1
        return
    with pytest.raises(MalformedRepo) as caught:
        parse_headers(data, {"a": size}, Limits(), "r", "p")
    assert caught.value.fields["reason"] == reason


@pytest.fixture
def peak_bytes() -> Iterator[Callable[[], int]]:
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()


@pytest.mark.parametrize("kind", CROWDS)
def test_no_memory_is_left_uncounted(kind: str, peak_bytes: Callable[[], int]) -> None:
    data = crowd(kind, 2**19)
    assert load_json(data, "r", "p")
    text_bytes = len(data) if data.isascii() else 4 * len(data)
    assert peak_bytes() <= values_bytes(data) + text_bytes + 10_000


@pytest.mark.parametrize("kind", some([*CROWDS], of=3))
def test_memory_of_a_lying_answer(kind: str, peak_bytes: Callable[[], int]) -> None:
    """The values of a shard take no more than those of a text may, whatever comes before it."""
    answer = b'{"headers":{"b":{},"a":' + crowd(kind, 30 * MIB) + b"}}"
    with pytest.raises(MalformedRepo):
        parse_headers(answer, {"a": None}, Limits(), "r", "p")
    assert peak_bytes() - len(answer) < 115e6


def test_memory_of_a_large_index(peak_bytes: Callable[[], int]) -> None:
    name = b'"model.layers.%d.mlp.experts.%d.down_proj.weight_scale_inv": "a.safetensors",\n'
    tensors = b"".join(name % (number // 256, number % 256) for number in range(100_000))
    data = b'{"weight_map": {%s"a": "b.safetensors"}}' % tensors
    del tensors
    before = peak_bytes()
    tracemalloc.reset_peak()
    index = parse_index(data, Limits(), "r", "p")
    assert index.shards == ("a.safetensors", "b.safetensors")
    assert peak_bytes() - len(data) < min(before, 3 * MIB)


def test_memory_of_a_large_model_in_one_answer(peak_bytes: Callable[[], int]) -> None:
    """Tensors of 20 shards of DeepSeek-R1: those of one are in memory at a time."""
    headers: dict[str, Any] = {}
    sizes: dict[str, int | None] = {}
    for shard in range(20):
        entries = {}
        for number in range(564):
            name = f"model.layers.{shard}.mlp.experts.{number // 3}.{number % 3}_proj.weight"
            span = [number * 2048 * 7168, (number + 1) * 2048 * 7168]
            entries[name] = {"dtype": "F8_E4M3", "shape": [2048, 7168], "data_offsets": span}
        text = json.dumps(entries, separators=(",", ":"))
        headers[f"{shard}"], sizes[f"{shard}"] = entries, 8 + len(text) + 564 * 2048 * 7168
    data = json.dumps({"index": {}, "headers": headers}, separators=(",", ":")).encode()
    headers.clear()
    tracemalloc.reset_peak()
    parsed = parse_headers(data, sizes, Limits(), "r", "p")
    assert sum(group.count for group in merge_groups(parsed.values())) == 20 * 564
    assert peak_bytes() - len(data) < 4 * MIB


def crowd(kind: str, size: int, head: bytes = b"[", tail: bytes = b"0]") -> bytes:
    """Fill `size` bytes with values of a kind between a head and a tail."""
    piece = CROWDS[kind]
    return head + piece * ((size - len(head) - len(tail)) // len(piece)) + tail
