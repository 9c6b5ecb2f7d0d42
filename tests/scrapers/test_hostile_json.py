"""JSON from strangers: no repository takes more memory than an honest one, or than it may."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.core.errors import LimitsExceeded, MalformedRepo
from scrapers.formats.json_files import load_json, values_bytes
from scrapers.formats.json_members import MAX_MEMBERS, members
from scrapers.formats.shard_index import ShardIndex, parse_index
from scrapers.limits import Limits
from tests.hub_emulator import HubEmulator
from tests.nightly import some
from tests.scrapers.hostile_json import CROWDS, REPOS, crowd
from tests.scrapers.long_headers import memory_of_reading

MOST_MB = 300


@pytest.mark.parametrize("name", some(list(REPOS), of=8))
def test_memory_of_reading_it(name: str) -> None:
    make, ended = REPOS[name]
    repo = make()
    options: dict[str, Any] = {"safetensors_metadata_status": 501, "gzip_text": False}
    model = "org/name@v1" if repo.revisions else "org/name"
    with HubEmulator([repo], **options) as hub:
        exceeded, peak_megabytes = memory_of_reading(hub, model)
    assert (exceeded, peak_megabytes < MOST_MB) == (ended, True), peak_megabytes


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@settings(deadline=None)
@given(st.dictionaries(TEXT, VALUES, max_size=5), st.sampled_from([None, 1]), st.booleans())
def test_members_have_the_values_of_the_whole(
    value: dict[str, Any], indent: int | None, ascii_only: bool
) -> None:
    assert values_by_name(json.dumps(value, indent=indent, ensure_ascii=ascii_only)) == value


@settings(deadline=None)
@given(st.binary(max_size=40) | VALUES.map(lambda value: json.dumps(value).encode()), st.binary())
def test_any_bytes_are_an_index_or_a_typed_error(head: bytes, tail: bytes) -> None:
    for data in (
        head,
        head + tail,
        b'{"weight_map":' + head + b"}",
        b'{"weight_map":{"a":"b"}' + head,
    ):
        try:
            index = parse_index(data, Limits(), "r", "p")
        except (MalformedRepo, LimitsExceeded):
            continue
        assert isinstance(json.loads(data.decode("utf-8-sig")), dict)
        assert all(isinstance(name, str) for name in index.shards)


@settings(deadline=None)
@given(st.dictionaries(TEXT, TEXT, max_size=8), st.sampled_from([None, 1]), st.booleans())
def test_an_index_names_its_files(
    weight_map: dict[str, str], indent: int | None, ascii_only: bool
) -> None:
    index = {"metadata": {"total_size": 7, "x": [{}]}, "weight_map": weight_map, "other": [1]}
    json_bytes = json.dumps(index, indent=indent, ensure_ascii=ascii_only).encode()
    shards = tuple(dict.fromkeys(weight_map.values()))
    assert parse_index(json_bytes, Limits(), "r", "p") == ShardIndex(shards, 7)


def values_by_name(text: str | bytes) -> dict[str, Any]:
    data = text.encode() if isinstance(text, str) else text
    return {
        name: load_json(bytes(value), "r", "p")
        for name, value in members(memoryview(data), "r", "p")
    }


def test_long_values_and_brackets_in_texts() -> None:
    texts = ["x" * length for length in (10, 300_000)] + ['"}', "]\\", '{"a":[']
    value = {"a": {text: [{"of": [text]}, len(text)] for text in texts}, "b": "é" * 9_000}
    assert values_by_name(json.dumps(value)) == value


@pytest.mark.parametrize(
    "data, reason",
    [
        (b'{"a":1,"a":2}', "duplicate_key"),
        (b'{"a":1', "not_json"),
        (b'{"a":1}}', "not_json"),
        (b'{"a" 1}', "not_json"),
        (b'{"a":"\xff"}', "not_utf8"),
        (b'{"a":' + b"[" * 50_000 + b"}", "not_json"),
        (b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}", "too_deep"),
        (b'{"a":[' + b"[]," * 2**19 + b"0]}", "crowded"),
        (b"{" + b",".join(b'"%d":0' % n for n in range(MAX_MEMBERS + 1)) + b"}", "crowded"),
    ],
)
def test_malformed_json_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedRepo, match=reason):
        values_by_name(data)


@pytest.mark.parametrize("kind", CROWDS)
def test_no_memory_is_left_uncounted(kind: str) -> None:
    data = crowd(kind, 2**19)
    tracemalloc.start()
    try:
        assert load_json(data, "r", "p")
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    text_bytes = len(data) if data.isascii() else 4 * len(data)
    assert peak_bytes <= values_bytes(data) + text_bytes + 10_000
