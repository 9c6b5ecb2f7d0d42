"""fetch_snapshot on GGUF repositories: the facts, the files and the number of requests."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from gpusizer.core.errors import LimitsExceeded, MalformedRepo, RepoFileNotFound
from gpusizer.core.messages import Note
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import build_profile
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    literal_file,
    llama_repo,
    safetensors_file,
    sparse_file,
)
from tests.hub_emulator.gguf_files import entry, gguf_file, gguf_header
from tests.hub_emulator.gguf_models import (
    USUAL_LABELS,
    gguf_repo,
    gguf_shards,
    llama_metadata,
    llama_tensors,
    raw_pieces,
)
from tests.scrapers.conftest import AMPLE, Fetch


def read_files(hub: HubEmulator) -> set[str]:
    """Return the GGUF files that were read, in part at least."""
    paths = [request.path for request in hub.requests_to("hub") if "/resolve/" in request.path]
    return {path.split("/", 5)[-1] for path in paths if path.endswith(".gguf")}


def test_twenty_five_quantizations(hub: HubEmulator, fetch: Fetch) -> None:
    repo = hub.add(gguf_repo("org/name"))
    snapshot = fetch()
    assert snapshot.format == "gguf"
    sizes = {f"model-{variant.name}.gguf": variant.size_bytes for variant in snapshot.variants}
    assert sizes == {path: file.size for path, file in repo.files.items()}
    assert {variant.kind for variant in snapshot.variants} == {"quantization"}
    (component,) = snapshot.components
    (file,) = component.files
    q4_k_m_file = repo.files["model-Q4_K_M.gguf"]
    assert (file.path, file.size_bytes) == ("model-Q4_K_M.gguf", q4_k_m_file.size)
    assert component.config is not None
    assert component.config["llama.attention.head_count_kv"] == 2
    assert component.config["tokenizer.ggml.tokens.length"] == 1024
    assert snapshot.uncounted_files == ()
    assert RepoSnapshot.from_json(json.loads(json.dumps(snapshot.to_json()))) == snapshot


def test_cost_of_twenty_five_quantizations(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(gguf_repo("org/name", vocab=32_000, merges=0))  # a header of 0.7 MB
    fetch()
    assert len(USUAL_LABELS) == 25
    assert read_files(hub) == {"model-Q4_K_M.gguf"}
    listing = (request for request in hub.requests if request.path.startswith("/api/"))
    assert sum(request.body_bytes_sent for request in listing) < 10_000
    # description, the header and its redirect
    assert len(hub.requests) == 3
    assert sum(request.body_bytes_sent for request in hub.requests) < 800_000


@pytest.mark.parametrize(("pre", "reads"), [("llama-bpe", 2), ("other", 3)])
def test_a_large_vocabulary_takes_a_read_more(
    hub: HubEmulator, fetch: Fetch, pre: str, reads: int
) -> None:
    """The start of the file is read, then the rest of the header, after one redirect."""
    hub.add(gguf_repo("org/name-GGUF", ["Q4_K_M"], vocab=128_256, merges=280_147, pre=pre))
    fetch("org/name-GGUF")
    assert len(hub.requests_to("cdn")) == reads
    assert len(hub.requests) == reads + 2
    assert sum(request.body_bytes_sent for request in hub.requests) < 8_500_000


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("org/name", "model-Q4_K_M.gguf"),
        ("org/name:Q5_K_M", "model-Q5_K_M.gguf"),
        ("hf.co/org/name:iq4_xs", "model-IQ4_XS.gguf"),
        ("org/name:latest", "model-Q4_K_M.gguf"),
        ("https://huggingface.co/org/name/blob/main/model-Q8_0.gguf", "model-Q8_0.gguf"),
    ],
)
def test_choice(hub: HubEmulator, fetch: Fetch, text: str, path: str) -> None:
    hub.add(gguf_repo("org/name"))
    snapshot = fetch(text)
    assert [file.path for file in snapshot.components[0].files] == [path]
    assert read_files(hub) == {path}
    assert len(snapshot.variants) == 25


@pytest.mark.parametrize(
    ("text", "path", "suggestion"),
    [
        ("org/name:Q7_K", "Q7_K", "Q6_K"),
        ("org/name:foo", "foo", "BF16"),
        ("hf.co/org/name/blob/main/model-Q4_K.gguf", "model-Q4_K.gguf", "model-Q4_K_M.gguf"),
    ],
)
def test_a_missing_file_or_quantization_gets_suggestions(
    hub: HubEmulator, fetch: Fetch, text: str, path: str, suggestion: str
) -> None:
    hub.add(gguf_repo("org/name"))
    with pytest.raises(RepoFileNotFound) as caught:
        fetch(text)
    assert caught.value.fields["file"] == path
    suggestions = caught.value.fields["suggestions"]
    assert isinstance(suggestions, list)
    assert suggestion in suggestions
    assert len(suggestions) <= 8


def test_shards_are_read_together(hub: HubEmulator, fetch: Fetch) -> None:
    tensors = llama_tensors("Q8_0")
    files = gguf_shards("Q8_0/model-Q8_0", llama_metadata(), tensors, 3)
    hub.add(FakeRepo("org/name", files))
    snapshot = fetch()
    (component,) = snapshot.components
    assert component.config is not None
    assert component.config["llama.block_count"] == 2
    assert sum(file.tensor_count for file in component.files) == len(tensors)
    assert snapshot.variants[0].size_bytes == sum(file.size for file in files.values())
    assert [file.path for file in component.files] == list(files)
    from_second_piece = list(files)[1]
    by_file = fetch(f"https://huggingface.co/org/name/blob/main/{from_second_piece}")
    assert by_file.components == snapshot.components


def test_a_missing_shard(hub: HubEmulator, fetch: Fetch) -> None:
    files = gguf_shards("m-Q8_0", llama_metadata(), llama_tensors("Q8_0"), 3)
    del files["m-Q8_0-00002-of-00003.gguf"]
    hub.add(FakeRepo("org/name", files))
    for text in ("org/name", "hf.co/org/name/blob/main/m-Q8_0-00001-of-00003.gguf"):
        with pytest.raises(MalformedRepo, match="missing_shard"):
            fetch(text)


def test_shards_that_disagree(hub: HubEmulator, fetch: Fetch) -> None:
    metadata, tensors = llama_metadata(), llama_tensors("Q8_0")
    two = gguf_shards("m", metadata, tensors, 2)
    alone = {"m-Q8_0.gguf": two["m-00001-of-00002.gguf"]}
    hub.add(FakeRepo("org/name", alone))
    with pytest.raises(MalformedRepo, match="missing_shard"):
        fetch()
    same = gguf_file(metadata, tensors)
    hub.add(FakeRepo("org/name", {"m-00001-of-00002.gguf": same, "m-00002-of-00002.gguf": same}))
    with pytest.raises(MalformedRepo, match="duplicate_tensor"):
        fetch()


PIECES = {
    "letters": ("m.Q8_0.gguf-split-a", "m.Q8_0.gguf-split-b", "m.Q8_0.gguf-split-c"),
    "counted": ("m.Q8_0.gguf.part1of3", "m.Q8_0.gguf.part2of3", "m.Q8_0.gguf.part3of3"),
    "two letters": ("m.Q8_0.gguf.part-aa", "m.Q8_0.gguf.part-ab", "m.Q8_0.gguf.part-ac"),
}


@pytest.mark.parametrize("names", PIECES.values(), ids=PIECES)
def test_raw_pieces_are_one_quantization(
    hub: HubEmulator, fetch: Fetch, names: tuple[str, ...]
) -> None:
    tensors = llama_tensors("Q8_0")
    whole_file = gguf_file(llama_metadata(), tensors)
    hub.add(FakeRepo("org/name", raw_pieces(names, whole_file)))
    snapshot = fetch()
    (variant,), (component,) = snapshot.variants, snapshot.components
    assert (variant.name, variant.size_bytes, variant.raw_pieces) == ("Q8_0", whole_file.size, True)
    assert [file.path for file in variant.files] == list(names)
    assert [file.tensor_count for file in component.files] == [len(tensors), 0, 0]
    assert sum(file.size_bytes or 0 for file in component.files) == whole_file.size
    assert component.config is not None
    assert component.config["llama.block_count"] == 2
    assert RepoSnapshot.from_json(json.loads(json.dumps(snapshot.to_json()))) == snapshot
    notes = [note for note in build_profile(snapshot).caveats if note.code == "gguf_raw_pieces"]
    assert notes == [Note("gguf_raw_pieces", names="Q8_0")]
    from_second_piece = fetch(f"https://huggingface.co/org/name/blob/main/{names[1]}")
    assert from_second_piece.components == snapshot.components
    assert fetch("org/name:Q8_0").components == snapshot.components


def test_a_header_longer_than_its_first_piece(hub: HubEmulator, fetch: Fetch) -> None:
    tensors = llama_tensors("Q8_0")
    whole_file = gguf_file(llama_metadata(), tensors)
    ends = [*range(0, 4097, 512), whole_file.size]
    files = {
        f"m.Q8_0.gguf.part{number}of9": literal_file(whole_file.read(start, stop), lfs=True)
        for number, (start, stop) in enumerate(pairwise(ends), start=1)
    }
    hub.add(FakeRepo("org/name", files))
    assert sum(file.tensor_count for file in fetch().components[0].files) == len(tensors)


@pytest.mark.parametrize(("names", "missing"), [*zip(PIECES.values(), range(3), strict=True)])
def test_a_missing_piece(
    hub: HubEmulator, fetch: Fetch, names: tuple[str, ...], missing: int
) -> None:
    """Names without a count do not show a missing last piece; tensors beyond the sum do."""
    files = raw_pieces(names, gguf_file(llama_metadata(), llama_tensors("Q8_0")))
    del files[names[missing]]
    hub.add(FakeRepo("org/name", files))
    for text in ("org/name", f"hf.co/org/name/blob/main/{next(iter(files))}"):
        with pytest.raises(MalformedRepo, match="missing_shard"):
            fetch(text)


def test_counted_pieces_that_are_too_short(hub: HubEmulator, fetch: Fetch) -> None:
    files = raw_pieces(PIECES["counted"], gguf_file(llama_metadata(), llama_tensors("Q8_0")))
    last_piece = PIECES["counted"][2]
    files[last_piece] = literal_file(files[last_piece].read(0, 1000), lfs=True)
    hub.add(FakeRepo("org/name", files))
    with pytest.raises(MalformedRepo, match="beyond_end"):
        fetch()


def test_pieces_beside_whole_files(hub: HubEmulator, fetch: Fetch) -> None:
    whole_file = gguf_file(llama_metadata(), llama_tensors("Q8_0"))
    hub.add(gguf_repo("org/name", ["Q4_K_M"], files=raw_pieces(PIECES["letters"], whole_file)))
    snapshot = fetch()
    first_variant = snapshot.variants[0]
    assert (first_variant.name, first_variant.size_bytes, first_variant.raw_pieces) == (
        "Q8_0",
        whole_file.size,
        True,
    )
    assert [file.path for file in snapshot.components[0].files] == ["model-Q4_K_M.gguf"]
    assert snapshot.uncounted_files == ()
    (component,) = fetch("org/name:q8_0").components
    assert [file.path for file in component.files] == list(PIECES["letters"])


def test_projectors_drafts_and_other_files(hub: HubEmulator, fetch: Fetch) -> None:
    other_files = {
        "mmproj-F16.gguf": sparse_file(3000),
        "model-draft-Q4_0.gguf": sparse_file(2000),
        "imatrix.gguf": sparse_file(1000),
        "imatrix.dat": sparse_file(1000),
        "pytorch_model.bin": sparse_file(5000),
    }
    hub.add(gguf_repo("org/name", ["Q4_K_M"], files=other_files))
    snapshot = fetch()
    other_variants = [(v.name, v.kind, v.size_bytes) for v in snapshot.variants[1:]]
    assert other_variants == [("F16", "projector", 3000), ("Q4_0", "draft", 2000)]
    assert [file.path for file in snapshot.uncounted_files] == ["pytorch_model.bin"]


def test_safetensors_come_first_unless_gguf_is_requested(hub: HubEmulator, fetch: Fetch) -> None:
    repo = llama_repo("org/name")
    extra = {"model-Q8_0.gguf": gguf_file(llama_metadata(), llama_tensors("Q8_0"))}
    hub.add(replace(repo, files=repo.files | extra))
    assert fetch().format == "safetensors"
    gguf_snapshot = fetch("org/name:Q8_0")
    assert (gguf_snapshot.format, gguf_snapshot.variants[0].name) == ("gguf", "Q8_0")
    assert [file.path for file in gguf_snapshot.uncounted_files] == ["model.safetensors"]


def test_a_tag_is_ignored_without_gguf_files(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(FakeRepo("org/name", {"model.safetensors": safetensors_file({"a": ("F32", (2,))})}))
    assert fetch("org/name:Q8_0").format == "safetensors"


def test_a_header_without_end_is_cut_off(hub: HubEmulator, fetch: Fetch) -> None:
    endless = gguf_header([entry("tokenizer.ggml.tokens", "x")])[:-13]
    endless += b"\x09\0\0\0\x08\0\0\0" + (10**8).to_bytes(8, "little")
    hub.add(FakeRepo("org/name", {"m.gguf": sparse_file(10**12, endless)}))
    limits = replace(AMPLE, gguf_header_bytes=10**6)
    with pytest.raises(LimitsExceeded, match="gguf_header_bytes"):
        fetch(limits=limits)
    assert sum(request.body_bytes_sent for request in hub.requests) < 1_500_000


def test_endless_file_lists(hub: HubEmulator, fetch: Fetch) -> None:
    clutter = {f"m{number:04}.gguf": sparse_file(2000) for number in range(500)}
    hub.add(gguf_repo("org/name", ["Q4_K_M"], files=clutter))
    with pytest.raises(LimitsExceeded, match="gguf_variants"):
        fetch()


def odd_tensors(count: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return tensors of a llama, and `count` with patterns of their own."""
    return llama_tensors() | {f"blk.0.x{n}.weight": ("F32", (4,)) for n in range(count)}


@pytest.mark.parametrize(("count", "is_read"), [(900, True), (1_000, False)])
def test_groups_of_tensors_are_limited(
    hub: HubEmulator, fetch: Fetch, count: int, is_read: bool
) -> None:
    file = gguf_file(llama_metadata(), odd_tensors(count))
    hub.add(FakeRepo("org/name", {"model-Q4_K_M.gguf": file}))
    if is_read:
        assert count < len(fetch().components[0].tensors) <= 1_000
        return
    with pytest.raises(LimitsExceeded) as caught:
        fetch()
    assert caught.value.fields == {"repo_id": "org/name", "limit": "tensor_groups", "allowed": 1000}
