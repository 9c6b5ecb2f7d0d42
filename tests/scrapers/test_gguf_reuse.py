"""Another quantization of a GGUF repository just read: little is read, and nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpusizer.core.errors import ModelUnreadable
from gpusizer.hub.model_ref import parse_model_ref
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.fetcher import Fetcher
from scrapers.gguf_tokenizer import TokenizerSection
from tests.hub_emulator import FakeRepo, HubEmulator, gguf_file, gguf_repo
from tests.hub_emulator.files import FakeFile
from tests.hub_emulator.gguf_files import numbers, texts, tokenizer
from tests.hub_emulator.gguf_models import llama_metadata, llama_tensors
from tests.scrapers.conftest import Fetch, settings_of

TOKENS, MERGES = 100_000, 150_000
MOST_BYTES = 200_000
BEHIND = {
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.chat_template": "{% for message in messages %}" * 200,
    "general.quantization_version": 2,
}
IMATRIX = {"quantize.imatrix.file": "x" * 90, "quantize.imatrix.entries_count": 224}
TOKENIZER = tokenizer(TOKENS, MERGES)


def quantized_file(
    kind: str = "Q8_0",
    lists: Mapping[str, Any] = TOKENIZER,
    behind: Mapping[str, Any] = BEHIND,
    **metadata: Any,
) -> FakeFile:
    """A file of that type."""
    return gguf_file({**llama_metadata(**metadata), **lists, **behind}, llama_tensors(kind))


def repo(**files: FakeFile) -> FakeRepo:
    """`Q4_K_M` as usual, and others by their names."""
    files_by_name = {f"m-{label}.gguf": file for label, file in files.items()}
    return FakeRepo("org/name", {"m-Q4_K_M.gguf": quantized_file("Q4_K"), **files_by_name})


def bytes_sent(hub: HubEmulator) -> int:
    return sum(request.body_bytes_sent for request in hub.requests)


def comparable(snapshot: RepoSnapshot) -> RepoSnapshot:
    return replace(snapshot, retrieved_at="")


OTHERS: dict[str, FakeFile] = {
    "another type": quantized_file("Q8_0"),
    "behind the lists another length": quantized_file(behind=BEHIND | IMATRIX),
    "before the lists another length": quantized_file(arch="llamas"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_another_quantization_costs_little(
    hub: HubEmulator, fetch: Fetch, other: str, tmp_path: Path
) -> None:
    hub.add(repo(Q8_0=OTHERS[other]))
    expected = fetch("org/name:Q8_0")
    assert bytes_sent(hub) > 1_000_000
    settings = settings_of(hub, cache_folder=tmp_path)
    Fetcher(settings)(parse_model_ref("org/name"))
    # The same process, and one that has nothing but the cache on disk.
    for read in (Fetcher(settings), Fetcher(settings)):
        hub.reset_log()
        snapshot_read = read(parse_model_ref("org/name/m-Q8_0.gguf"))
        assert snapshot_read.components == expected.components
        assert bytes_sent(hub) < MOST_BYTES
        for path in tmp_path.glob("snapshot-*"):
            path.unlink()


def more_tokens() -> dict[str, Any]:
    return tokenizer(TOKENS + 1, MERGES)


def longer_tokens() -> dict[str, Any]:
    """As many, one character more in each."""
    words = texts(f"tok{number:05}" for number in range(TOKENS))
    return TOKENIZER | {"tokenizer.ggml.tokens": words}


def moved_byte() -> dict[str, Any]:
    """As long altogether: what one list has more, the other has less."""
    words = [f"tok{number:04}" for number in range(TOKENS)]
    pairs = [f"tok {number:06}" for number in range(MERGES)]
    words[-1], pairs[-1] = words[-1] + "x", pairs[-1][:-1]
    return TOKENIZER | {
        "tokenizer.ggml.tokens": texts(words),
        "tokenizer.ggml.merges": texts(pairs),
    }


def other_types() -> dict[str, Any]:
    return TOKENIZER | {"tokenizer.ggml.token_type": numbers([1.0] * TOKENS, "f32")}


def no_merges() -> dict[str, Any]:
    return {key: value for key, value in TOKENIZER.items() if not key.endswith("merges")}


def another_order() -> dict[str, Any]:
    keys = [key for key in TOKENIZER if key != "tokenizer.ggml.token_type"]
    return {key: TOKENIZER[key] for key in (*keys, "tokenizer.ggml.token_type")}


def a_fact_between() -> dict[str, Any]:
    """An entry in the middle that counts."""
    snapshot_read: dict[str, Any] = {}
    for key, value in TOKENIZER.items():
        if key.endswith("merges"):
            snapshot_read["llama.attention.sliding_window"] = 512
        snapshot_read[key] = value
    return snapshot_read


@pytest.mark.parametrize(
    "lists",
    [
        *(more_tokens, longer_tokens, moved_byte, other_types, no_merges, another_order),
        *(a_fact_between, dict),
    ],
)
def test_another_tokenizer_is_read_whole(hub: HubEmulator, fetch: Fetch, lists: Any) -> None:
    """A header that differs from the known lists in any byte is read whole."""
    hub.add(repo(Q8_0=quantized_file(lists=lists())))
    expected = fetch("org/name:Q8_0")
    fetch("org/name")
    snapshot_read = fetch("org/name:Q8_0")
    assert comparable(snapshot_read) == comparable(expected)
    config = snapshot_read.components[0].config
    assert config is not None
    assert ("llama.attention.sliding_window" in config) is (lists is a_fact_between)


@pytest.mark.parametrize("cut", [1, 40, 10_000])
def test_a_file_that_is_wrong_is_as_wrong(hub: HubEmulator, fetch: Fetch, cut: int) -> None:
    whole_file = quantized_file()
    hub.add(repo(Q8_0=replace(whole_file, size=whole_file.size - 50_000 * cut)))
    fetch("org/name")
    with pytest.raises(ModelUnreadable, match=r"beyond_end|truncated"):
        fetch("org/name:Q8_0")


def test_reads_with_a_visitors_token_are_not_cached(hub: HubEmulator, fetch: Fetch) -> None:
    hub.options.valid_tokens = {"hf_x": ("org/name",)}
    hub.add(replace(repo(Q8_0=quantized_file()), private=True))
    for tag in ("", ":Q8_0"):
        hub.reset_log()
        fetch(f"org/name{tag}", token="hf_x")
        assert bytes_sent(hub) > 1_000_000


def test_small_tokenizers_too(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(gguf_repo("org/name", ["Q4_K_M", "Q8_0", "Q6_K"]))
    for label in ("Q4_K_M", "Q8_0", "Q6_K"):
        assert fetch(f"org/name:{label}").components[0].tensors


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        [1, 2, 3, [], -1],
        [1, 2, 3, [[1, "zz"]], 4],
        [1, 2, 90, [[40, "00" * 25], [1, "00" * 25]], 4],
    ],
)
def test_malformed_tokenizer_sections_are_refused(data: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        TokenizerSection.from_json(data)
    section = TokenizerSection(3, 4, 90, ((1, b"x" * 30), (40, b"y" * 25)), 6)
    assert TokenizerSection.from_json(section.to_json()) == section
