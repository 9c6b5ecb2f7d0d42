"""GGUF headers: written by the gguf package, by hand, and malformed ones."""

from __future__ import annotations

import struct
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.dtypes import GGML_BLOCKS
from gpusizer.core.errors import (
    GpusizerError,
    HubUnreachable,
    LimitsExceeded,
    MalformedRepo,
    UnsupportedDtype,
)
from scrapers.formats.gguf_header import GgufHeader, read_header
from scrapers.limits import MIB, Limits
from tests.counting import steps_of
from tests.hub_emulator.files import FakeFile, sparse_file
from tests.hub_emulator.gguf_files import (
    Raw,
    entry,
    gguf_file,
    gguf_header,
    number,
    numbers,
    tensor_info,
    text,
    texts,
    tokenizer,
)

LIMITS = Limits()
LLAMA: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.block_count": 2,
    "llama.attention.head_count_kv": [8, 4],
    "llama.rope.freq_base": 10000.0,
    "general.file_type": 15,
}


class Source:
    """A file that records the ranges that were read."""

    def __init__(self, file: FakeFile, size: int | None = None) -> None:
        self.file = file
        self.size = size
        self.ranges: list[tuple[int, int]] = []

    def __call__(self, start: int, stop: int) -> tuple[bytes, int | None]:
        self.ranges.append((start, stop))
        return self.file.read(start, stop), self.size


def read(file: FakeFile, limits: Limits = LIMITS, *, size_known: bool = True) -> GgufHeader:
    source = Source(file, file.size if size_known else None)
    return read_header(source, limits, "org/name", "m.gguf")


def read_bytes(data: bytes, size: int = 10**9) -> GgufHeader:
    return read(sparse_file(size, data))


def test_file_of_the_gguf_package_is_read_back(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_block_count(2)
    writer.add_head_count_kv([8, 4])
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["a", "é" * 300, ""])
    writer.add_chat_template("{{ x }}" * 1000)
    writer.add_tensor("token_embd.weight", np.zeros((3, 64), np.float16))
    blocks = np.zeros((5, 2 * 144), np.uint8)
    writer.add_tensor("blk.0.ffn_up.weight", blocks, raw_dtype=gguf.GGMLQuantizationType.Q4_K)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    data = (tmp_path / "m.gguf").read_bytes()
    header = read(FakeFile(data, len(data)))
    assert header.tensors == (
        ("token_embd.weight", "F16", (3, 64)),
        ("blk.0.ffn_up.weight", "Q4_K", (5, 512)),
    )
    assert header.metadata == {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.attention.head_count_kv": [8, 4],
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens.length": 3,
    }
    # 3 x 64 x 2 bytes, then 5 x 288, padded to 32
    assert len(data) - header.data_start == 384 + 1440


@pytest.mark.parametrize("dtype", GGML_BLOCKS)
def test_every_type_fills_its_file(dtype: str) -> None:
    tensors = {"a": (dtype, (3, 512)), "b": (dtype, (2, 5, 256)), "c": ("F32", (7,))}
    file = gguf_file(LLAMA, tensors)
    header = read(file)
    assert {name: (kind, shape) for name, kind, shape in header.tensors} == tensors
    assert header.data_start <= file.size


@pytest.mark.parametrize("first", [24, 25, 100, 1000, 5000, MIB])
def test_no_byte_is_read_twice(first: int) -> None:
    file = gguf_file({**LLAMA, **tokenizer(500, 700)}, {"a": ("F32", (4,))})
    source = Source(file, file.size)
    header = read_header(source, replace(LIMITS, gguf_first_bytes=first), "org/name", "m.gguf")
    assert header.tensors == (("a", "F32", (4,)),)
    ends = [0, *(stop for _, stop in source.ranges)]
    assert all(start >= end for (start, _), end in zip(source.ranges, ends, strict=False))
    assert header.bytes_read <= file.size


def test_long_arrays_of_numbers_are_not_read() -> None:
    metadata = {**LLAMA, "tokenizer.ggml.scores": numbers([0.0] * 3 * MIB, "f32"), "x.last": 7}
    file = gguf_file(metadata, {"a": ("F32", (4,))})
    header = read(file, replace(LIMITS, gguf_first_bytes=1000))
    assert header.metadata["x.last"] == 7
    assert header.bytes_read < 4 * MIB < file.size


def test_size_of_the_file_may_be_unknown() -> None:
    file = gguf_file(LLAMA, {"a": ("F32", (4,))})
    header = read(file, size_known=False)
    assert (header.file_bytes, len(header.tensors)) == (None, 1)
    cut = FakeFile(file.read(0, 100), 100)
    with pytest.raises(MalformedRepo, match="truncated"):
        read(cut, size_known=False)


def test_an_answer_that_is_cut_short_is_the_network_s_fault() -> None:
    file = gguf_file(LLAMA, {"a": ("F32", (4,))})
    cut = Source(FakeFile(file.read(0, 100), 100), file.size)
    with pytest.raises(HubUnreachable, match="truncated"):
        read_header(cut, LIMITS, "org/name", "m.gguf")


def test_a_real_vocabulary_takes_few_reads_and_steps() -> None:
    metadata = {**LLAMA, **tokenizer(128_256, 280_147)}
    file = gguf_file(metadata, {"a": ("F32", (4,))})
    source = Source(file, file.size)
    tracemalloc.start()
    header = read_header(source, LIMITS, "org/name", "m.gguf")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert header.metadata["tokenizer.ggml.tokens.length"] == 128_256
    assert len(source.ranges) <= 3
    assert header.data_start > 7 * MIB
    assert peak < 32 * MIB
    second_source = Source(file, file.size)
    assert steps_of(lambda: read_header(second_source, LIMITS, "org/name", "m.gguf")) < 12 * 128_256


def tensors_header(*infos: bytes, **changes: Any) -> bytes:
    return gguf_header([entry(key, value) for key, value in LLAMA.items()], infos, **changes)


F32, Q4_K = 0, 12
GOOD = tensor_info("a", (256, 2), F32, 0)

MALFORMED: dict[str, tuple[bytes, str]] = {
    "magic": (gguf_header([], magic=b"GGML"), "magic"),
    "html": (b"<!doctype html><title>Sign in</title>", "magic"),
    "version 1": (gguf_header([], version=1), "version"),
    "version 99": (gguf_header([], version=99), "version"),
    "big endian": (gguf_header([], version=0x03000000), "big_endian"),
    "key length 0": (gguf_header([text("") + bytes(8)]), "key_length"),
    "key length 2^63": (gguf_header([struct.pack("<Q", 2**63) + bytes(64)]), "key_length"),
    "key twice": (gguf_header([entry("a", 1)] * 2), "duplicate_key"),
    "key in latin-1": (gguf_header([entry(b"\xff\xfe", 1)]), "not_utf8"),
    "value type 13": (gguf_header([entry("a", Raw(13, bytes(8)))]), "metadata_type"),
    "text of 2^63": (gguf_header([entry("a", Raw(8, struct.pack("<Q", 2**63)))]), "truncated"),
    "text of -1": (gguf_header([entry("a", Raw(8, struct.pack("<q", -1)))]), "truncated"),
    "array of 2^63": (
        gguf_header([entry("a", Raw(9, struct.pack("<IQ", 4, 2**63)))]),
        "truncated",
    ),
    "texts of 2^61": (
        gguf_header([entry("a", Raw(9, struct.pack("<IQ", 8, 2**61)))]),
        "truncated",
    ),
    "text in texts of 2^63": (
        gguf_header([entry("a", Raw(9, struct.pack("<IQQ", 8, 2, 2**63)))]),
        "truncated",
    ),
    "array of arrays": (
        gguf_header([entry("a", Raw(9, struct.pack("<IQ", 9, 1) * 50_000))]),
        "metadata_type",
    ),
    "array of type 99": (
        gguf_header([entry("a", Raw(9, struct.pack("<IQ", 99, 1)))]),
        "metadata_type",
    ),
    "alignment 0": (gguf_header([entry("general.alignment", 0)]), "alignment"),
    "alignment 7": (gguf_header([entry("general.alignment", 7)]), "alignment"),
    "alignment text": (gguf_header([entry("general.alignment", "32")]), "alignment"),
    "alignment huge": (gguf_header([entry("general.alignment", 2**31)]), "alignment"),
    "no sides": (tensors_header(tensor_info("a", (), F32, 0)), "shape"),
    "five sides": (tensors_header(tensor_info("a", (1,) * 5, F32, 0)), "shape"),
    "2^31 sides": (tensors_header(text("a") + struct.pack("<I", 2**31)), "shape"),
    "side 0": (tensors_header(tensor_info("a", (4, 0), F32, 0)), "shape"),
    "overflow": (tensors_header(tensor_info("a", (2**32, 2**32), F32, 0)), "shape"),
    "odd row": (tensors_header(tensor_info("a", (255,), Q4_K, 0)), "block"),
    "odd offset": (tensors_header(tensor_info("a", (4,), F32, 7)), "data_offsets"),
    "beyond the end": (tensors_header(tensor_info("a", (2**40,), F32, 0)), "beyond_end"),
    "offset 2^63": (tensors_header(tensor_info("a", (4,), F32, 2**63)), "beyond_end"),
    "overlap": (tensors_header(GOOD, tensor_info("b", (4,), F32, 32)), "overlap"),
    "tensor twice": (tensors_header(GOOD, tensor_info("a", (4,), F32, 2048)), "duplicate_tensor"),
    "name of 5000": (tensors_header(tensor_info("a" * 5000, (4,), F32, 0)), "name_length"),
    "name in latin-1": (tensors_header(tensor_info(b"\xff", (4,), F32, 0)), "not_utf8"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name: str) -> None:
    data, reason = MALFORMED[name]
    with pytest.raises(MalformedRepo) as caught:
        read_bytes(data)
    assert caught.value.fields == {"repo_id": "org/name", "file": "m.gguf", "reason": reason}


@pytest.mark.parametrize("length", [0, 3, 23, 24, 40, 150])
def test_files_that_end_early(length: int) -> None:
    whole = tensors_header(GOOD)
    with pytest.raises(MalformedRepo, match="truncated"):
        read(FakeFile(whole[:length], length))


@pytest.mark.parametrize("kind", [4, 31, 36, 38, 42, 2**31])
def test_unknown_types_are_named(kind: int) -> None:
    with pytest.raises(UnsupportedDtype) as caught:
        read_bytes(tensors_header(tensor_info("a", (4,), kind, 0)))
    assert caught.value.fields["dtype"] == f"ggml type {kind}"


@pytest.mark.parametrize(
    ("data", "limit"),
    [
        (gguf_header([], entry_count=2**63), "gguf_keys"),
        (gguf_header([], tensor_count=2**63), "gguf_tensors"),
        (gguf_header([entry(f"{n}", [1] * 1000) for n in range(60)]), "gguf_values"),
        (gguf_header([entry("t", Raw(9, struct.pack("<IQ", 8, 10**8)))]), "gguf_header_bytes"),
    ],
)
def test_limits(data: bytes, limit: str) -> None:
    with pytest.raises(LimitsExceeded) as caught:
        read_bytes(data, size=10**12)
    assert caught.value.fields["limit"] == limit
    assert caught.value.fields["allowed"] == getattr(LIMITS, limit)


@pytest.mark.parametrize("counts", [{"entry_count": 2**63}, {"tensor_count": 2**63}])
def test_a_count_beyond_its_limit_ends_the_reading_at_once(counts: dict[str, int]) -> None:
    def read_it() -> None:
        with pytest.raises(LimitsExceeded):
            read_bytes(gguf_header([], **counts), size=10**12)

    assert steps_of(read_it) < 1000


def test_empty_values_are_left_out() -> None:
    metadata = {
        "nan": float("nan"),
        "many": numbers([1.0, float("inf")], "f32"),
        "long": "x" * 5000,
        "latin": Raw(8, text(b"\xff")),
        "tags": texts(["a", "b"]),
        "general.architecture": "llama",
        "big": number(2**63, "u64"),
    }
    header = read(gguf_file(metadata, {}))
    assert header.metadata == {"general.architecture": "llama", "big": 2**63}


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for start in (b"", b"GGUF\x03\x00\x00\x00"):
        try:
            read(FakeFile(start + data, len(start + data)))
        except GpusizerError:
            continue


WORDS = st.integers(0, 2**64 - 1) | st.integers(0, 12)


@given(st.data())
def test_any_change_of_a_sound_file_is_read_or_refused(data: st.DataObject) -> None:
    file = gguf_file({**LLAMA, **tokenizer(3, 2)}, {"a": ("Q4_0", (2, 32)), "b": ("F32", (4,))})
    head = bytearray(file.head_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(head) - 8))
        head[at : at + 8] = struct.pack("<Q", data.draw(WORDS))
    try:
        header = read(FakeFile(bytes(head), file.size), replace(LIMITS, gguf_first_bytes=24))
    except GpusizerError:
        return
    assert len(header.tensors) <= 50_000
