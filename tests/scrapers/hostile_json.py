"""Repositories whose JSON takes as much memory as their owners can make it take."""

from __future__ import annotations

import json
from collections.abc import Callable

from gpusizer.core.units import MIB
from tests.hub_emulator import (
    FakeRepo,
    literal_file,
    llama_repo,
    raw_safetensors_file,
    safetensors_file,
    sparse_file,
)

NAME = "org/name"
INDEX = "model.safetensors.index.json"
WEIGHTS = {"a": ("F32", (2,))}

# What Python makes most of, byte for byte.
CROWDS = {
    "lists": b"[],",
    "lists of one": b"[1],",
    "objects": b"{},",
    "objects of one": b'{"a":1},',
    "numbers": b"1e9,",
    "texts": b'"ab",',
    "wide texts": '"\U0001f917b",'.encode(),
}


def crowd(kind: str, size: int, head: bytes = b"[", tail: bytes = b"0]") -> bytes:
    """So many bytes of one kind of value between a head and a tail."""
    piece = CROWDS[kind]
    return head + piece * ((size - len(head) - len(tail)) // len(piece)) + tail


def members(size: int, head: bytes = b"{", tail: bytes = b'"z":0}') -> bytes:
    """An object of so many bytes with short keys, all different."""
    count = (size - len(head) - len(tail)) // 11
    return head + b"".join(b'"%06x":0,' % number for number in range(count)) + tail


def indexed(index: bytes) -> FakeRepo:
    """Two shards that only the index can name."""
    files = {name: safetensors_file(WEIGHTS) for name in ("part-a.safetensors",)}
    return FakeRepo(NAME, {**files, INDEX: literal_file(index)}, parameters={"F32": 2})


def described(key: str, value: bytes) -> FakeRepo:
    """A description with a field of its owner's making."""
    return llama_repo(NAME, info={key: json.loads(value)})


def configured(config: bytes, count: int) -> FakeRepo:
    """A pipeline of so many components with a configuration each."""
    files = {"model_index.json": literal_file({f"c{n}": ["d", "C"] for n in range(count)})}
    for n in range(count):
        files[f"c{n}/config.json"] = literal_file(config)
        files[f"c{n}/model.safetensors"] = safetensors_file(WEIGHTS)
    return FakeRepo(NAME, files)


def headed(header: bytes, shards: int) -> FakeRepo:
    """Shards with such a header each."""
    files = {
        f"model-{n + 1:05}-of-{shards:05}.safetensors": raw_safetensors_file(header, None, 8)
        for n in range(shards)
    }
    repo = FakeRepo(NAME, files, parameters={"U8": 1})
    repo.revisions["v1"] = repo.sha
    return repo


def listing(count: int) -> FakeRepo:
    """A model among so many files."""
    others = {f"{n:05}/{'x' * 200}.safetensors": sparse_file(8) for n in range(count)}
    return FakeRepo(NAME, others | {"model.safetensors": safetensors_file(WEIGHTS)})


def large_index(size: int) -> bytes:
    """An honest index of so many bytes, which lists all its tensors in one file."""
    name = "model.layers.%d.mlp.experts.%d.down_proj.weight_scale_inv"
    entry = f'    "{name}": "part-a.safetensors",\n'
    count = size // len(entry)
    text = "".join(entry % (n // 256, n % 256) for n in range(count))
    head = '{"metadata": {"total_size": 8},\n"weight_map": {\n'
    return f'{head}{text}"a": "part-a.safetensors"}}}}'.encode()


REPOS: dict[str, tuple[Callable[[], FakeRepo], str]] = {
    "index of lists": (
        lambda: indexed(crowd("lists", 63 * MIB, b'{"weight_map":[', b"0]}")),
        "crowded",
    ),
    "index with lists before its map": (
        lambda: indexed(crowd("lists", 63 * MIB, b'{"x":[', b'0],"weight_map":{}}')),
        "crowded",
    ),
    "index of members": (lambda: indexed(members(63 * MIB)), "crowded"),
    "index of tensors": (lambda: indexed(large_index(60 * 10**6)), "tensors"),
    "index of 400,000 tensors": (lambda: indexed(large_index(34 * 10**6)), ""),
    "description of lists": (
        lambda: described("tags", crowd("lists", 15 * MIB)),
        "json_memory_bytes",
    ),
    "description of wide texts": (
        lambda: described("tags", crowd("wide texts", 15 * MIB)),
        "json_memory_bytes",
    ),
    "description of as many lists as may be": (
        lambda: described("tags", crowd("lists", 3 * MIB // 4)),
        "",
    ),
    "description of members": (
        lambda: described("config", members(15 * MIB)),
        "json_memory_bytes",
    ),
    "file list of objects": (
        lambda: described("siblings", crowd("objects", 15 * MIB)),
        "json_memory_bytes",
    ),
    "14,000 files with long names in folders of their own": (lambda: listing(14_000), ""),
    "60 configurations of lists": (
        lambda: configured(crowd("lists", 2 * MIB - 9, b'{"x":[', b"0]}"), 60),
        "config_memory_bytes",
    ),
    "60 configurations of as many lists as may be": (
        lambda: configured(crowd("lists", 10_000, b'{"x":[', b"0]}"), 60),
        "",
    ),
    "15 headers of objects": (
        lambda: headed(crowd("objects of one", 8 * MIB - 64, b'{"__metadata__":[', b"0]}"), 15),
        "crowded",
    ),
    "15 headers of as many objects as may be": (
        lambda: headed(crowd("objects of one", MIB, b'{"__metadata__":[', b"0]}"), 15),
        "no_tensors",
    ),
    "120 headers of as many texts as may be": (
        lambda: headed(crowd("texts", MIB, b'{"__metadata__":[', b"0]}"), 120),
        "no_tensors",
    ),
}
"""By content: the function that builds a repository, and the reason of the error ("" for none)."""
