"""Snapshots: those that ship with gpusizer, their JSON and the memory they take."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import is_repo_id
from gpusizer.hub.snapshot import SNAPSHOT_VERSION, Component, RepoSnapshot, Variant, WeightFile
from gpusizer.hub.tensors import group_tensors
from gpusizer.model.profile import build_profile
from scrapers.cache.single_flight import memory_bytes
from scrapers.cache.stored import INDEX_FILE, EmbeddedSnapshots
from tests.any_json import any_json
from tests.builders import group, llama, snapshot

FOLDER = SNAPSHOTS_DIR
EMBEDDED = EmbeddedSnapshots(FOLDER)


def embedded(repo_id: str) -> RepoSnapshot:
    """Return a snapshot that has to be there."""
    snapshot = EMBEDDED.get(repo_id)
    assert snapshot is not None
    return snapshot


@pytest.mark.parametrize("repo_id", EMBEDDED.ids())
def test_snapshot_can_be_profiled(repo_id: str) -> None:
    snapshot = embedded(repo_id)
    assert snapshot.repo_id == repo_id
    assert snapshot.source == "snapshot"
    assert snapshot.evidence
    profile = build_profile(snapshot)
    assert profile.parameters > 0
    assert profile.tensor_count == sum(
        file.tensor_count for component in snapshot.components for file in component.files
    )
    # No file is smaller than the tensors and the length of the header in it.
    sizes = [file.size_bytes or 0 for part in snapshot.components for file in part.files]
    assert sum(sizes) > profile.weight_bytes + 8 * len(sizes)
    assert RepoSnapshot.from_json(json.loads(json.dumps(snapshot.to_json()))) == snapshot


def test_index_names_every_file_once() -> None:
    index = json.loads((FOLDER / INDEX_FILE).read_text("utf-8"))
    files = list(index["models"].values())
    assert {path.name for path in FOLDER.iterdir()} == {*files, INDEX_FILE}
    assert len(set(files)) == len(files) >= 100
    assert len({repo_id.casefold() for repo_id in index["models"]}) == len(files)
    assert all(map(is_repo_id, [*index["models"], *index["aliases"]]))
    assert set(index["aliases"].values()) <= set(index["models"])
    assert not set(index["aliases"]) & set(index["models"])


def test_embedded_models_are_found_by_former_ids_in_any_case() -> None:
    assert embedded("DEEPSEEK-AI/deepseek-r1").repo_id == "deepseek-ai/DeepSeek-R1"
    assert embedded("gpt2").repo_id == "openai-community/gpt2"
    assert embedded("bert-base-uncased").repo_id == "google-bert/bert-base-uncased"
    assert EMBEDDED.get("nobody/nothing") is None


def test_a_missing_folder_has_no_snapshots(tmp_path: Path) -> None:
    empty = EmbeddedSnapshots(tmp_path / "none")
    assert empty.ids() == ()
    assert empty.get("gpt2") is None


CONFIGS = st.dictionaries(st.text(max_size=8), any_json(nan=False), max_size=4)
SIZES = st.none() | st.integers(0, 2**60)
FILES = st.lists(
    st.builds(WeightFile, st.text(max_size=12), SIZES, st.integers(0, 10**6)), max_size=3
).map(tuple)
GROUPS = st.dictionaries(
    st.text("ab.0123{}", min_size=1, max_size=8),
    st.tuples(st.sampled_from(["BF16", "U8", "F4"]), st.lists(st.integers(0, 9), max_size=3)),
    max_size=6,
).map(lambda entries: group_tensors([(n, d, tuple(s)) for n, (d, s) in entries.items()]))
COMPONENTS = st.lists(
    st.builds(Component, st.text(max_size=8), st.none() | CONFIGS, FILES, GROUPS), max_size=3
).map(tuple)
TEXTS = st.lists(st.text(max_size=8), max_size=2).map(tuple)
OPTIONAL = st.none() | st.text(max_size=8)
SNAPSHOTS = st.builds(
    RepoSnapshot,
    repo_id=st.text(max_size=12),
    revision=st.text(max_size=12),
    sha=OPTIONAL,
    source=st.sampled_from(["hub", "cache", "snapshot"]),
    retrieved_at=st.text(max_size=12),
    format=st.sampled_from(["safetensors", "diffusers", "adapter", "gguf", "pickle"]),
    components=COMPONENTS,
    gated=st.booleans(),
    extra_configs=st.dictionaries(st.text(max_size=8), CONFIGS, max_size=2),
    uncounted_files=FILES,
    license=OPTIONAL,
    base_models=TEXTS,
    pipeline_tag=OPTIONAL,
    library=OPTIONAL,
    evidence=TEXTS,
)


@given(SNAPSHOTS)
def test_snapshots_survive_json(original: RepoSnapshot) -> None:
    assert RepoSnapshot.from_json(json.loads(json.dumps(original.to_json()))) == original


def with_change(change: dict[str, Any]) -> dict[str, Any]:
    return {**snapshot([group("w", (2, 3))], {}).to_json(), **change}


@pytest.mark.parametrize("version", [0, SNAPSHOT_VERSION + 1, None, "1"])
def test_another_version_is_refused(version: Any) -> None:
    with pytest.raises(ValueError, match="snapshot version"):
        RepoSnapshot.from_json(with_change({"snapshot_version": version}))


@pytest.mark.parametrize("field", sorted(snapshot([], {}).to_json().keys() - {"variants"}))
def test_a_missing_field_is_an_error(field: str) -> None:
    data = with_change({})
    del data[field]
    with pytest.raises(KeyError):
        RepoSnapshot.from_json(data)


def test_with_source_changes_the_source_alone() -> None:
    live = llama()
    cached = live.with_source("cache")
    assert (live.source, cached.source) == ("hub", "cache")
    assert cached.with_source("hub") == live


def test_variants_survive_a_trip_through_json() -> None:
    parts = (WeightFile("a-1.gguf", 3, 0), WeightFile("a-2.gguf", None, 0))
    before = snapshot([], {}, variants=(Variant("Q4_K_M", "quantization", parts, None),))
    assert RepoSnapshot.from_json(json.loads(json.dumps(before.to_json()))) == before


@pytest.mark.parametrize("model", ["deepseek-ai/DeepSeek-R1", "meta-llama/Meta-Llama-3-70B"])
def test_a_snapshot_takes_about_what_is_said(model: str) -> None:
    embedded = EmbeddedSnapshots(Settings().snapshots_folder)
    embedded.get(model)
    tracemalloc.start()
    try:
        gc.collect()
        before_bytes = tracemalloc.get_traced_memory()[0]
        snapshot = embedded.get(model)
        gc.collect()
        taken_bytes = tracemalloc.get_traced_memory()[0] - before_bytes
    finally:
        tracemalloc.stop()
    assert 0.7 * taken_bytes < memory_bytes(snapshot) < 2 * taken_bytes


def test_what_two_places_hold_counts_once() -> None:
    text = "x" * 10_000
    assert memory_bytes([text, text]) < 1.1 * memory_bytes([text])
