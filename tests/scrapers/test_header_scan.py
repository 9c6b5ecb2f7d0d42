"""The strict scan and the JSON parser say the same; the scan is quick and small."""

from __future__ import annotations

import json
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.dtypes import DTYPE_BITS, stored_bytes
from gpusizer.errors import GpusizerError, MalformedRepo
from gpusizer.tensors import Entries, RawTensor, merge_groups
from scrapers.headers_answer import parse_headers
from scrapers.json_files import load_json, unique_keys
from scrapers.limits import Limits
from scrapers.safetensors_header import entries_to_tensors, parse_header
from scrapers.safetensors_scan import scan_entries
from tests.hub_emulator import raw_safetensors_file

DTYPES = st.sampled_from(["F32", "BF16", "F4", "BOOL", "F7", "f32", ""])
SIZES = st.integers(-1, 6) | st.sampled_from([2**62, 2**63, 1.0, True, None, "2", 10**30])
NAMES = st.text('ab.01{}"\\\n\u00e9]', max_size=6)


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """A header that is sound but for what chance adds."""
    end, found = 0, {}
    for name in draw(st.lists(NAMES, max_size=4)):
        dtype = draw(DTYPES)
        shape = draw(st.lists(SIZES, max_size=3))
        sound = dtype in DTYPE_BITS and all(type(size) is int and size >= 0 for size in shape)
        elements = 1
        for size in shape if sound else ():
            elements *= size
        length = stored_bytes(dtype, elements) if sound else 4
        start = end + draw(st.sampled_from([0, 0, 0, 0, 3, -1]))
        found[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, start + length]}
        end = start + length
    return found


def listed(entries: Entries) -> list[RawTensor]:
    return [(name, *layout) for name, layout in zip(*entries, strict=True)]


def judged(header: bytes, file_bytes: int, scanned: bool) -> object:
    """The tensors, or the error's code and fields."""
    try:
        if scanned:
            return listed(parse_header(header, file_bytes, "r", "p"))
        value = load_json(header[8:], "r", "p", unique_keys)
        return listed(entries_to_tensors(value, file_bytes - len(header), "r", "p"))
    except GpusizerError as error:
        return error.code, error.fields


@given(entries(), st.booleans(), st.booleans(), st.integers(-2, 2))
def test_same_judgement(
    header: dict[str, Any], compact: bool, metadata: bool, missing_bytes: int
) -> None:
    if metadata:
        header = {"__metadata__": {"format": "pt"}} | header
    text = json.dumps(header, separators=(",", ":") if compact else None, ensure_ascii=False)
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    file = raw_safetensors_file(text.encode("utf-8", "surrogatepass"))
    size = file.size + max(ends, default=0) - missing_bytes
    data = file.head_bytes()
    assert judged(data, size, scanned=True) == judged(data, size, scanned=False)


ENTRY = '{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'


@pytest.mark.parametrize(
    "text",
    [
        f'{{"a":{ENTRY},"__metadata__":{ENTRY.replace("0,4", "4,8")}}}',
        f'{{"__metadata__":{{}},"__metadata__":{ENTRY}}}',
        f'{{"__metadata__":{ENTRY}}}',
        '{"__metadata__":{},}',
        f'{{"__metadata__":{{}},,"a":{ENTRY}}}',
    ],
)
def test_metadata_where_a_tensor_could_be(text: str) -> None:
    data = raw_safetensors_file(text.encode()).head_bytes()
    assert judged(data, len(data) + 8, True) == judged(data, len(data) + 8, False)


SOUND = json.dumps(
    {
        "__metadata__": {"format": "pt"},
        "a.0.w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "a.1.w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [24, 48]},
        "b": {"dtype": "BF16", "shape": [], "data_offsets": [48, 50]},
        "c": {"dtype": "F4", "shape": [0], "data_offsets": [50, 50]},
    },
    separators=(",", ":"),
)
TWICE = SOUND[SOUND.index('"a.0') : SOUND.index('"a.1')]
PIECES = ["", ",", "]},", "0", "1", "-", " ", "\n", '"', "}", "[", "\\", "é", TWICE]
EDITS = st.tuples(st.integers(0, len(SOUND)), st.integers(0, 3), st.sampled_from(PIECES))


@given(st.lists(EDITS, min_size=1, max_size=3))
def test_same_judgement_of_what_is_almost_sound(edits: list[tuple[int, int, str]]) -> None:
    text = SOUND
    for place, removed, added in edits:
        text = text[:place] + added + text[place + removed :]
    file = raw_safetensors_file(text.encode())
    data = file.head_bytes()
    assert judged(data, file.size + 80, True) == judged(data, file.size + 80, False)


@given(st.text('{}[]",:0129ab\\ "dtype"', max_size=60))
def test_any_text_is_scanned_safely(text: str) -> None:
    scan_entries(text, 0, len(text))


@pytest.mark.parametrize("size", [10, 2**18 + 10])
def test_metadata_of_any_length_is_read(size: int) -> None:
    text = SOUND.replace('"pt"', f'"{"x" * size}"')
    file = raw_safetensors_file(text.encode())
    data = file.head_bytes()
    assert judged(data, file.size + 50, True) == judged(data, file.size + 50, False)
    assert len(listed(parse_header(data, file.size + 50, "r", "p"))) == 4


def test_metadata_of_brackets_costs_no_memory() -> None:
    nested = ",".join(["[]"] * 2_000_000)
    answer = f'{{"index":{{}},"headers":{{"a":{{"__metadata__":[{nested}],{ENTRY}}}}}}}'.encode()
    file = raw_safetensors_file(f'{{"__metadata__":[{nested}],{ENTRY}}}'.encode())
    data = file.head_bytes()
    tracemalloc.start()
    try:
        with pytest.raises(MalformedRepo, match="tensor_entry"):
            parse_header(data, file.size + 8, "r", "p")
        with pytest.raises(MalformedRepo, match="tensor_entry"):
            parse_headers(answer, {"a": None}, Limits(), "r", "p")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 60e6


ENTRY = '"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}'
NOT_CANONICAL = [
    f"{ENTRY},", f"{ENTRY},{ENTRY}", f" {ENTRY}", f"{ENTRY}x", f"x{ENTRY}",
    ENTRY.replace("8", "08"),
    ENTRY.replace("2", "02"), ENTRY.replace("2", "2,"), ENTRY.replace("8", "9"), ENTRY[:-1],
    f'{ENTRY}x"b]}},":{ENTRY[4:]}', f"{ENTRY};{ENTRY.replace('a', 'b')}",
    ENTRY.replace("0,8", "08,16"), ENTRY.replace("0,8", "0,1" + "0" * 18),
    ENTRY.replace("0,8", "0, 8"), ENTRY.replace("0,8", "-8,0"),
    ENTRY.replace("F32", "F7"), ENTRY.replace('"a"', '"\\u0061"'), ENTRY.replace("8]", "8,9]"),
    ENTRY.replace("[2]", "[" + ",".join("1" * 17) + "]"), f'{ENTRY},"b":{{}}', "{}",
    *(ENTRY.replace('"a"', f'"a{odd}"') for odd in ("\n", "\x00", "\x1f", "\\n")),
    ENTRY.replace("0,8", "0,8,8") + "," + ENTRY.replace("a", "b", 1).replace("0,8", "16"),
]  # fmt: skip


@pytest.mark.parametrize("text", NOT_CANONICAL)
def test_what_is_left_to_the_parser(text: str) -> None:
    assert scan_entries(text, 0, len(text)) is None


SHARDS, EXPERTS = 163, 188


def large_answer() -> bytes:
    """92,000 tensors in 163 shards, as DeepSeek-R1 has them."""
    headers: dict[str, Any] = {}
    for shard in range(SHARDS):
        end, found = 0, {}
        for expert in range(EXPERTS):
            for part in ("gate", "up", "down"):
                name = f"model.layers.{shard}.mlp.experts.{expert}.{part}_proj.weight"
                spans = [end, end + 2048 * 7168]
                found[name] = {"dtype": "F8_E4M3", "shape": [2048, 7168], "data_offsets": spans}
                end = spans[1]
        headers[f"model-{shard:05}-of-00163.safetensors"] = found
    return json.dumps({"index": {}, "headers": headers}, separators=(",", ":")).encode()


def test_large_model_is_parsed_and_grouped_in_time() -> None:
    data = large_answer()
    sizes: dict[str, int | None] = {
        f"model-{shard:05}-of-00163.safetensors": None for shard in range(SHARDS)
    }

    def read() -> int:
        found = parse_headers(data, sizes, Limits(), "r", "p")
        return sum(group.count for group in merge_groups(found.values()))

    seconds = []
    for _ in range(3):
        started = time.thread_time()
        assert read() == SHARDS * EXPERTS * 3 > 91_000
        seconds.append(time.thread_time() - started)
    assert min(seconds) < 0.6
    tracemalloc.start()
    try:
        read()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150e6
