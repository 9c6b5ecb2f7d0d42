"""Checkpoints on disk that contradict their format or exceed limits."""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from gpusizer.core.errors import (
    GpusizerError,
    LimitsExceeded,
    MalformedRepo,
    NoWeights,
    UnsupportedDtype,
)
from tests.hub_emulator import (
    FakeFile,
    gguf_file,
    literal_file,
    llama_repo,
    raw_safetensors_file,
)
from tests.hub_emulator.gguf_models import (
    llama_metadata,
)
from tests.hub_emulator.safetensors_files import header_json
from tests.scrapers.local_repos import GGUF, REPO_ID, local, on_disk, write


def damaged(sound_file: FakeFile, start: int, data: bytes) -> FakeFile:
    """A file with other bytes at one place."""
    head = sound_file.head_bytes()
    return replace(sound_file, head=head[:start] + data + head[start + len(data) :])


def described(tensors: dict[str, tuple[str, list[int], list[int]]]) -> FakeFile:
    """A file of 8 bytes of data whose header says dtype, shape and place of its tensors."""
    names = ("dtype", "shape", "data_offsets")
    header = {name: dict(zip(names, tensor, strict=True)) for name, tensor in tensors.items()}
    return raw_safetensors_file(header_json(header), None, 8)


TOKENIZER_AT = GGUF.head_bytes().index(b"tokenizer.ggml.tokens") + len(b"tokenizer.ggml.tokens")


HOSTILE: dict[str, tuple[str, FakeFile, str]] = {
    "empty": ("model.safetensors", literal_file(b""), "truncated"),
    "length": ("model.safetensors", raw_safetensors_file(b"{}", 2**60), "header_length"),
    "no JSON": ("model.safetensors", raw_safetensors_file(b"{]"), "not_json"),
    "no UTF-8": ("model.safetensors", raw_safetensors_file(b'{"\xff":1}'), "not_utf8"),
    "a list": ("model.safetensors", raw_safetensors_file(b"[]"), "not_json"),
    "short data": ("model.safetensors", described({"a": ("F32", [4], [0, 16])}), "beyond_end"),
    "wrong size": ("model.safetensors", described({"a": ("F32", [4], [0, 8])}), "data_offsets"),
    "gap": ("model.safetensors", described({"a": ("U8", [4], [4, 8])}), "data_offsets"),
    "overlap": (
        "model.safetensors",
        described({"a": ("U8", [4], [0, 4]), "b": ("U8", [4], [2, 6])}),
        "data_offsets",
    ),
    "overflow": ("model.safetensors", described({"a": ("U8", [2**62, 9], [0, 8])}), "shape"),
    "negative": ("model.safetensors", described({"a": ("U8", [-8], [0, 8])}), "tensor_entry"),
    "too deep": ("model.safetensors", raw_safetensors_file(b'{"a":' + b"[" * 999), "too_deep"),
    "no tensors": ("model.safetensors", raw_safetensors_file(b"{}"), "no_tensors"),
    "no GGUF": ("m.gguf", literal_file(b"GGML" + bytes(60)), "magic"),
    "short": ("m.gguf", literal_file(b"GGUF"), "truncated"),
    "version": ("m.gguf", damaged(GGUF, 4, b"\x09"), "version"),
    "big-endian": ("m.gguf", damaged(GGUF, 4, b"\0\0\0\3"), "big_endian"),
    "texts without end": (
        "m.gguf",
        damaged(GGUF, TOKENIZER_AT + 8, struct.pack("<Q", 2**60)),
        "truncated",
    ),
    "lists of lists": (
        "m.gguf",
        damaged(GGUF, TOKENIZER_AT + 4, struct.pack("<I", 9)),
        "metadata_type",
    ),
    "an unknown kind": (
        "m.gguf",
        damaged(GGUF, TOKENIZER_AT, struct.pack("<I", 99)),
        "metadata_type",
    ),
    "cut off": ("m.gguf", replace(GGUF, size=GGUF.size - 4096), "beyond_end"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_files_that_contradict_their_format(kind: str, tmp_path: Path) -> None:
    name, file, reason = HOSTILE[kind]
    write(tmp_path / name, file)
    with pytest.raises(MalformedRepo) as caught:
        local(tmp_path)
    assert caught.value.fields["reason"] == reason
    assert caught.value.fields["file"] == name


def test_no_byte_of_a_header_can_do_more_than_a_typed_error(tmp_path: Path) -> None:
    small = gguf_file(llama_metadata(), {"a.weight": ("Q4_K", (4, 256))})
    head = small.head_bytes()
    outcomes = set()
    for at in range(0, len(head), 3):
        path = write(tmp_path / "m.gguf", damaged(small, at, b"\xff"))
        try:
            outcomes.add(local(path).format)
        except GpusizerError as error:
            outcomes.add(error.code)
    assert outcomes <= {"gguf", "malformed_repo", "limits_exceeded", "unsupported_dtype"}
    assert {"gguf", "malformed_repo", "limits_exceeded"} <= outcomes


@pytest.mark.parametrize(
    ("limit", "value"),
    [("files", 3), ("header_bytes", 64), ("config_bytes", 8), ("total_bytes", 99), ("tensors", 4)],
)
def test_limits_of_folders(limit: str, value: int, tmp_path: Path) -> None:
    folder = on_disk(llama_repo(REPO_ID, shards=3), tmp_path)
    with pytest.raises(LimitsExceeded) as caught:
        local(folder, **{limit: value})
    assert caught.value.fields["limit"] == limit


@pytest.mark.parametrize(
    ("limit", "value"),
    [("gguf_keys", 3), ("gguf_tensors", 3), ("gguf_values", 3), ("gguf_header_bytes", 999)],
)
def test_limits_of_gguf_files(limit: str, value: int, tmp_path: Path) -> None:
    path = write(tmp_path / "m.gguf", GGUF)
    with pytest.raises(LimitsExceeded) as caught:
        local(path, **{limit: value})
    assert caught.value.fields["limit"] == limit


def test_unknown_tensor_types_raise_unsupported_dtype(tmp_path: Path) -> None:
    path = write(tmp_path / "model.safetensors", described({"a": ("F7", [8], [0, 8])}))
    with pytest.raises(UnsupportedDtype, match="F7"):
        local(path)
    name = b"token_embd.weight"
    at = GGUF.head_bytes().index(name) + len(name) + 4 + 16
    path = write(tmp_path / "m.gguf", damaged(GGUF, at, struct.pack("<I", 250)))
    with pytest.raises(UnsupportedDtype, match="ggml type 250"):
        local(path)


def test_a_folder_without_weights(tmp_path: Path) -> None:
    with pytest.raises(NoWeights):
        local(tmp_path)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    folder = on_disk(llama_repo(REPO_ID), tmp_path / "model")
    os.mkfifo(folder / "quantize_config.json")
    (folder / "adapter_config.json").symlink_to(tmp_path / "nowhere")
    (folder / "params.json").symlink_to("/dev/zero")
    (folder / "README.md").unlink()
    os.mkfifo(folder / "README.md")  # opening it would block forever
    (folder / "loop").symlink_to(folder)
    assert local(folder).extra_configs == {}
