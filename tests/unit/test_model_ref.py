"""Texts that people paste, and the model that each names."""

from __future__ import annotations

import subprocess
import sys

import pytest
from huggingface_hub.errors import HFValidationError
from huggingface_hub.utils import parse_hf_uri, validate_repo_id
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.errors import InvalidModelId, InvalidRequest
from gpusizer.hub.model_ref import ModelRef, check_revision, is_repo_id, parse_model_ref

ACCEPTED = {
    "org/name": ModelRef("org/name"),
    "gpt2": ModelRef("gpt2"),
    "Qwen/Qwen2.5-0.5B_x": ModelRef("Qwen/Qwen2.5-0.5B_x"),
    "  'org/name'\n": ModelRef("org/name"),
    '"org/name"': ModelRef("org/name"),
    "org/name/": ModelRef("org/name"),
    "org/name@v1.0": ModelRef("org/name", "v1.0"),
    "gpt2@main": ModelRef("gpt2", "main"),
    "org/name@refs/pr/7": ModelRef("org/name", "refs/pr/7"),
    "org/name:Q4_K_M": ModelRef("org/name", tag="Q4_K_M"),
    "hf.co/org/name:Q4_K_M": ModelRef("org/name", tag="Q4_K_M"),
    "models/org/name": ModelRef("org/name"),
    "huggingface.co/org/name": ModelRef("org/name"),
    "https://huggingface.co/org/name": ModelRef("org/name"),
    "http://hf.co/org/name?library=transformers#usage": ModelRef("org/name"),
    "HTTPS://HuggingFace.co/org/name": ModelRef("org/name"),
    "https://www.huggingface.co/gpt2": ModelRef("gpt2"),
    "https://hf-mirror.com/org/name/tree/main": ModelRef("org/name", "main"),
    "https://huggingface.co/models/org/name": ModelRef("org/name"),
    "https://huggingface.co/api/models/org/name": ModelRef("org/name"),
    "https://huggingface.co/gpt2/tree/main": ModelRef("gpt2", "main"),
    "https://huggingface.co/org/name/tree/v2/sub/folder": ModelRef("org/name", "v2"),
    "https://huggingface.co/org/name/tree/refs%2Fpr%2F1": ModelRef("org/name", "refs/pr/1"),
    "https://huggingface.co/org/name/blob/refs/pr/1/a.gguf": ModelRef(
        "org/name", "refs/pr/1", "a.gguf"
    ),
    "https://huggingface.co/org/name/blob/main/sub/a%20b.gguf": InvalidModelId,
    "https://huggingface.co/org/name/blob/main/sub/a.gguf": ModelRef(
        "org/name", "main", "sub/a.gguf"
    ),
    "https://huggingface.co/org/name/resolve/main/a.gguf?download=true": ModelRef(
        "org/name", "main", "a.gguf"
    ),
    "https://huggingface.co/org/name/commit/0123abcd": ModelRef("org/name", "0123abcd"),
    "https://huggingface.co/org/name/discussions/3": ModelRef("org/name"),
    "hf://org/name@v2": ModelRef("org/name", "v2"),
    "org/name/a.gguf": ModelRef("org/name", file="a.gguf"),
    "org/name@v2/sub/A.GGUF": ModelRef("org/name", "v2", "sub/A.GGUF"),
    "https://huggingface.co/org/name?show_file_info=sub%2Fa.gguf": ModelRef(
        "org/name", file="sub/a.gguf"
    ),
    "https://huggingface.co/org/name/tree/v2?not-for-all=1&show_file_info=a.safetensors": ModelRef(
        "org/name", "v2", "a.safetensors"
    ),
    "https://huggingface.co/org/name?show_file_info=model.safetensors.index.json": ModelRef(
        "org/name"
    ),
    "https://huggingface.co/org/name/blob/main/a.gguf?show_file_info=b.gguf": ModelRef(
        "org/name", "main", "a.gguf"
    ),
    "hf://gpt2": ModelRef("gpt2"),
    "hf://models/org/name@refs/pr/7": ModelRef("org/name", "refs/pr/7"),
    "hf://org/name@refs/heads/main": ModelRef("org/name", "refs/heads/main"),
    "hf://org/name@feature%2Fx/a.gguf": ModelRef("org/name", "feature/x", "a.gguf"),
    "hf://org/name/sub/a.gguf": ModelRef("org/name", None, "sub/a.gguf"),
    "hf://org/name@refs%2Fpr%2F1/a.gguf": ModelRef("org/name", "refs/pr/1", "a.gguf"),
    "hf://org/name@100%25/a%25.gguf": ModelRef("org/name", "100%", "a%.gguf"),
}

REFUSED = {
    "": "empty",
    " \t\n": "empty",
    "''": "empty",
    "a" * 97: "too_long",
    "org/" + "a" * 97: "too_long",
    "x" * 5000: "too_long",
    "org/name@" + "r" * 201: "too_long",
    "a b/c": "characters",
    "org / name": "characters",
    "org\\name": "characters",
    "org/na\x00me": "characters",
    "org/na\u202eme": "characters",
    "org/name?x": "characters",
    "модель/x": "characters",
    "<script>alert(1)</script>": "characters",
    "org/name@a..b": "characters",
    "https://huggingface.co/org/na%00me": "characters",
    "https://huggingface.co/org/na%5Cme": "characters",
    "https://huggingface.co/datasets/org/name": "dataset",
    "hf.co/datasets/squad": "dataset",
    "datasets/org/name": "dataset",
    "https://huggingface.co/spaces/org/name": "space",
    "spaces/org/name": "space",
    "hf://datasets/org/name/data.csv": "dataset",
    "hf://spaces/org/name": "space",
    "https://example.org/org/name": "other_host",
    "github.com/org/name": "other_host",
    "https://huggingface.co@example.org/org/name": "other_host",
    "https://huggingface.co.example.org/org/name": "other_host",
    "https://huggingface.co:8443/org/name": "other_host",
    "ftp://huggingface.co/org/name": "other_host",
    "file:///etc/passwd": "other_host",
    "http://[::1]/org/name": "other_host",
    "https://huggingface.co/": "shape",
    "https://huggingface.co/collections/org/name": "shape",
    "../name": "shape",
    "org/..": "shape",
    "org/na..me": "shape",
    "org/na--me": "shape",
    "-org/name": "shape",
    "org/name.": "shape",
    "org/name.git": "shape",
    "org//name": "shape",
    "a/b/c": "shape",
    "org/name@": "shape",
    "org/name@v1/a.txt": "shape",
    "/home/name/model.safetensors": "shape",
    "https://huggingface.co/org/name?show_file_info=../a.gguf": "shape",
    "org.git/name": "shape",
    "hf://org/name@v1/../a.gguf": "shape",
    "hf://org/name//a.gguf": "shape",
    "https://huggingface.co/org/name/blob/main/../../x": "shape",
    "https://huggingface.co/org/name/blob/main/%2e%2e/x": "shape",
}


@pytest.mark.parametrize("text", [text for text, ref in ACCEPTED.items() if ref != InvalidModelId])
def test_accepted(text: str) -> None:
    assert parse_model_ref(text) == ACCEPTED[text]


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(InvalidModelId) as caught:
        parse_model_ref(text)
    assert caught.value.fields["reason"] == REFUSED[text]


def test_echoed_value_is_short_and_printable() -> None:
    with pytest.raises(InvalidModelId) as caught:
        parse_model_ref("\x1b[31m" + "x" * 9000)
    value = str(caught.value.fields["value"])
    assert value.isprintable()
    assert len(value) == 120


@pytest.mark.parametrize("revision", ["main", "v1.0", "refs/pr/1", "0" * 40, "feature/x"])
def test_revision_accepted(revision: str) -> None:
    assert check_revision(revision) == revision


@pytest.mark.parametrize("revision", ["", "a..b", "a b", "a\x00", "/a", "a/", "a//b", "a:b", "^a"])
def test_revision_refused(revision: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_revision(revision)
    assert caught.value.fields["reason"] == "revision_characters"


@given(st.text())
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        ref = parse_model_ref(text)
    except InvalidModelId:
        return
    assert is_repo_id(ref.repo_id)
    assert parse_model_ref(ref.repo_id) == ModelRef(ref.repo_id)


PART = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_]{0,20}", fullmatch=True)


@given(PART, PART, st.sampled_from(["main", "v1", "refs/pr/3"]))
def test_every_spelling_means_the_same(owner: str, name: str, revision: str) -> None:
    if owner in ("datasets", "spaces", "models") or name in ("tree", "blob"):
        return
    repo_id = f"{owner}/{name}"
    expected = ModelRef(repo_id, revision)
    for text in (f"{repo_id}@{revision}", f"https://hf.co/{repo_id}/tree/{revision}"):
        assert parse_model_ref(text) == expected


@given(st.text("aZ0_.-@é", min_size=1, max_size=8) | PART.map(lambda part: part + ".git"))
def test_a_part_is_what_huggingface_hub_takes_for_one(part: str) -> None:
    try:
        validate_repo_id(part)
    except HFValidationError:
        assert not is_repo_id(part)
    else:
        assert is_repo_id(part)


@pytest.mark.parametrize("revision", [None, "v1", "refs/pr/7", "refs/convert/parquet"])
@pytest.mark.parametrize("file", ["", "a.json", "sub/a.gguf", "refs/pr/7", "a@b.gguf"])
def test_a_uri_means_what_huggingface_hub_reads(revision: str | None, file: str) -> None:
    uri = f"hf://org/name{f'@{revision}' if revision else ''}{f'/{file}' if file else ''}"
    known = parse_hf_uri(uri)
    ref = parse_model_ref(uri)
    assert (ref.repo_id, ref.revision) == (known.id, known.revision)
    assert ref.file == (known.path_in_repo or None)


# A program that exits as soon as any code looks up a host or connects.
_NO_NETWORK = """
import os, sys
sys.addaudithook(lambda event, _: event in (
    "socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"
) and os._exit(9))
"""


def test_importing_and_parsing_touch_no_network() -> None:
    parse = (
        "from gpusizer.hub.model_ref import parse_model_ref; parse_model_ref('hf://org/name@v1/f')"
    )
    assert subprocess.run([sys.executable, "-c", _NO_NETWORK + parse], check=False).returncode == 0
    look_up = "import socket; socket.getaddrinfo('127.0.0.1', 9)"
    guard = subprocess.run([sys.executable, "-c", _NO_NETWORK + look_up], check=False)
    assert guard.returncode == 9
