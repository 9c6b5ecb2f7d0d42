"""gpusizer.hub.snapshot: a snapshot is the same after a trip through JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.hub.snapshot import SNAPSHOT_VERSION, Component, RepoSnapshot, Variant, WeightFile
from gpusizer.hub.tensors import group_tensors
from tests.builders import group, llama, snapshot
from tests.each import each

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
CONFIGS = st.dictionaries(st.text(max_size=8), JSON, max_size=4)
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


@each("field", sorted(snapshot([], {}).to_json().keys() - {"variants"}))
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


def test_copies_without_variants_are_read() -> None:
    data = snapshot([], {}).to_json()
    del data["variants"]
    assert RepoSnapshot.from_json(data).variants == ()
