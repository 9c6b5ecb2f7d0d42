"""Answers of the API and addresses in headers, whatever they say."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.core.errors import HubUnreachable
from gpusizer.hub.model_ref import is_repo_id
from scrapers.client.hub_api import (
    MAX_CURSOR_CHARS,
    RepoInfo,
    file_url,
    is_plain_path,
    next_cursor,
    parse_info,
    parse_tree,
)
from scrapers.client.redirects import is_allowed_target, origin_of, redirect_target
from scrapers.formats.weight_sets import RepoFile
from tests.any_json import any_json

SHA = "0123456789abcdef0123456789abcdef01234567"
LFS: dict[str, Any] = {"size": 10, "sha256": "ab" * 32, "pointerSize": 130}


def test_a_description_in_the_hubs_own_shape() -> None:
    answer = {
        "id": "org/name",
        "sha": SHA,
        "gated": "auto",
        "private": False,
        "lastModified": "2025-01-01T00:00:00.000Z",
        "tags": ["license:mit", "base_model:org/base", 7],
        "pipeline_tag": "text-generation",
        "cardData": {"license": "other", "license_name": "own", "language": ["en", "<b>"]},
        "safetensors": {"parameters": {"BF16": 12}, "total": 12},
        "config": {"model_type": "llama", "tokenizer_config": {}},
        "baseModels": {"relation": "quantized", "models": []},
        "siblings": [
            {"rfilename": "config.json", "size": 3, "blobId": SHA},
            {"rfilename": "model.safetensors", "size": 10, "blobId": SHA, "lfs": LFS},
            {"rfilename": "../escape", "size": 1, "blobId": SHA},
        ],
    }
    assert parse_info(answer, "org/asked") == RepoInfo(
        repo_id="org/name",
        sha=SHA,
        gated=True,
        private=False,
        disabled=False,
        license="own",
        base_models=("org/base",),
        pipeline_tag="text-generation",
        library=None,
        base_relation="quantized",
        languages=("en",),
        parameters={"BF16": 12},
        config={"model_type": "llama"},
        files=(
            RepoFile("config.json", 3, blob_id=SHA),
            RepoFile("model.safetensors", 10, sha256=LFS["sha256"]),
        ),
    )


@pytest.mark.parametrize(
    "siblings",
    [
        None,
        "",
        {},
        "model.safetensors",
        [None],
        [{"size": 1}],
        [{"rfilename": "a", "size": True}],
        [{"rfilename": "a", "size": -1}],
        [{"rfilename": "a", "size": 1, "lfs": "yes"}],
        [{"rfilename": "a", "size": 1, "lfs": {"size": 1}}],
    ],
)
def test_a_malformed_file_list_becomes_none(siblings: Any) -> None:
    assert parse_info({"id": "org/name", "siblings": siblings}, "org/name").files is None


LISTED = {"rfilename": "a.safetensors", "size": 1, "blobId": SHA}
ENTRY = {"type": "file", "path": "a.safetensors", "size": 1, "oid": SHA}


def test_a_file_listed_three_times_counts_once() -> None:
    once = [RepoFile("a.safetensors", 1, blob_id=SHA)]
    assert parse_info({"id": "org/name", "siblings": [LISTED] * 3}, "org/name").files == (*once,)
    assert parse_tree([ENTRY] * 3, "org/name") == once


@pytest.mark.parametrize("other", [{"size": 2}, {"blobId": SHA[::-1], "oid": SHA[::-1]}])
def test_a_list_with_two_entries_of_one_file_is_refused(other: dict[str, Any]) -> None:
    answer = {"id": "org/name", "siblings": [LISTED, LISTED | other]}
    assert parse_info(answer, "org/name").files is None
    with pytest.raises(HubUnreachable, match="unexpected_answer"):
        parse_tree([ENTRY, ENTRY | other], "org/name")


@pytest.mark.parametrize("answer", [None, [], "org/name", 1, {}, {"modelId": "org/name"}])
def test_no_description_at_all(answer: Any) -> None:
    with pytest.raises(HubUnreachable, match="unexpected_answer"):
        parse_info(answer, "org/name")


@pytest.mark.parametrize("endpoint", ["https://huggingface.co", "http://127.0.0.1:9/hub"])
def test_file_addresses(endpoint: str) -> None:
    url = file_url(endpoint, "org/name", "refs/pr/1", "a folder/b#c.gguf")
    assert url == f"{endpoint}/org/name/resolve/refs%2Fpr%2F1/a%20folder/b%23c.gguf"


NAMES = st.sampled_from(
    [
        *("id", "sha", "gated", "private", "disabled", "tags", "cardData", "license", "language"),
        *("base_model", "base_model_relation", "license_name", "pipeline_tag", "library_name"),
        *("safetensors", "parameters", "total", "BF16", "config", "siblings", "rfilename", "size"),
        *("blobId", "lfs", "sha256", "pointerSize", "baseModels", "relation", "model-index"),
        *("lastModified", "createdAt", "evalResults", "self", "gguf", "type", "path", "oid"),
    ]
)
WORDS = [SHA, "org/name", "../x", "a.gguf", "file", "license:mit", "base_model:", "F8"]
JSON = any_json(NAMES, st.sampled_from(WORDS))


@given(st.dictionaries(NAMES, JSON, max_size=12) | JSON)
def test_any_answer_is_facts_or_a_typed_error(answer: Any) -> None:
    try:
        info = parse_info(answer, "org/asked")
    except HubUnreachable:
        assert not isinstance(answer, dict) or "id" not in answer
        return
    assert is_repo_id(info.repo_id)
    assert info.sha is None or len(info.sha) == 40
    assert all(map(is_repo_id, info.base_models))
    assert all(type(flag) is bool for flag in (info.gated, info.private, info.disabled))
    words = (info.license, info.pipeline_tag, info.library, info.base_relation, *info.languages)
    assert all(word is None or word.isprintable() for word in words)
    assert all(count >= 0 for count in (info.parameters or {}).values())
    for file in info.files or ():
        assert is_plain_path(file.path)
        assert file.size_bytes is not None
        assert file.size_bytes >= 0


@given(JSON)
def test_any_file_list_is_files_or_a_typed_error(answer: Any) -> None:
    try:
        files = parse_tree(answer, "org/asked")
    except HubUnreachable:
        assert not isinstance(answer, list)
        return
    assert all(is_plain_path(file.path) for file in files)


HUB = "https://huggingface.co"
ENDPOINTS = (HUB, "http://127.0.0.1:8000", "https://mirror.example:8443/hub")
# What headers may hold on the wire: http.client decodes them as Latin-1.
PIECES = st.sampled_from(
    [
        *("/", "//", "\\", ":", "::", "@", "?", "#", "%", "%00", "[", "]", "[::1", "[::1]"),
        *("http:", "https:", "HTTPS://", "ftp:", "javascript:", "huggingface.co", "hf.co", ".."),
        *("127.0.0.1", "localhost", "0x7f.1", "8000", "99999", "-1", "\xff", "\xad", "\u2100", " "),
        *("<", ">", ";", ",", 'rel="next"', "rel=next", 'rel="first"', "rel", "=", '"', "cursor="),
        *("x", "[v1.x]"),
    ]
)
VALUES = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30)
LONGEST = 65_000  #
BAD_LINKS = (
    '<http://[>; rel="next"',
    '<//[::1>; rel="next"',
    '</api/models/org/name/tree/main>; rel="next"',
    '<?cursor=>; rel="next"',
    f'<?cursor={"x" * (MAX_CURSOR_CHARS + 1)}>; rel="next"',
)


@settings(deadline=None)
@given(st.sampled_from(ENDPOINTS), VALUES)
def test_any_location_is_an_allowed_address_or_none(endpoint: str, location: str) -> None:
    target = redirect_target(f"{endpoint}/org/name/resolve/main/x", location, endpoint)
    if target is not None:
        assert is_allowed_target(target, endpoint)
        origin = origin_of(target)
        assert origin is not None
        assert origin.scheme == "https" or origin == origin_of(endpoint)


@settings(deadline=None)
@given(VALUES)
def test_any_link_is_a_cursor_or_a_typed_error(link: str) -> None:
    try:
        cursor = next_cursor({"Link": link}, "org/name")
    except HubUnreachable as error:
        assert error.fields["reason"] == "unexpected_answer"
        assert "next" in link
    else:
        assert cursor is None or 0 < len(cursor) <= MAX_CURSOR_CHARS


@settings(deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=4).map("".join))
def test_any_long_link_is_read(piece: str) -> None:
    """A pattern that backtracks would take hours for these examples."""
    try:
        assert next_cursor({"Link": piece * (LONGEST // len(piece))}, "org/name") is None
    except HubUnreachable:
        assert "next" in piece


@pytest.mark.parametrize(
    "link, cursor",
    [
        ("", None),
        ('<https://x/?cursor=a>; rel="prev"', None),
        ('<https://x/?cursor=a%3D&limit=2>; rel="next"', "a="),
        ("<https://x/?cursor=a>;rel=next", "a"),
        ('<https://x/?cursor=a>; title="t"; rel="next"', "a"),
        ('<https://x/?cursor=a>; rel="first", <https://x/?cursor=b>; rel="next"', "b"),
    ],
)
def test_the_next_page(link: str, cursor: str | None) -> None:
    assert next_cursor({"Link": link}, "org/name") == cursor


@pytest.mark.parametrize("link", BAD_LINKS, ids=range(len(BAD_LINKS)))
def test_a_next_page_without_a_cursor_is_refused(link: str) -> None:
    with pytest.raises(HubUnreachable, match="unexpected_answer"):
        next_cursor({"Link": link}, "org/name")
