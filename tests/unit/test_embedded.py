"""The snapshots that ship with gpusizer."""

from __future__ import annotations

import json
from pathlib import Path

from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.hub.model_ref import is_repo_id
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import build_profile
from scrapers.embedded import INDEX_FILE, EmbeddedSnapshots
from tests.each import each

FOLDER = SNAPSHOTS_DIR
EMBEDDED = EmbeddedSnapshots(FOLDER)
WELL_KNOWN = [
    *("deepseek-ai/DeepSeek-R1", "deepseek-ai/DeepSeek-V3", "meta-llama/Llama-3.1-8B"),
    *("meta-llama/Llama-3.3-70B-Instruct", "Qwen/Qwen3-8B", "Qwen/Qwen2.5-7B-Instruct"),
    *("google/gemma-3-27b-it", "mistralai/Mixtral-8x7B-Instruct-v0.1", "microsoft/phi-4"),
    *("openai/gpt-oss-120b", "openai/gpt-oss-20b", "openai-community/gpt2"),
    *("black-forest-labs/FLUX.1-dev", "openai/whisper-large-v3", "bigscience/bloom"),
]


def embedded(repo_id: str) -> RepoSnapshot:
    """A snapshot that has to be there."""
    snapshot = EMBEDDED.get(repo_id)
    assert snapshot is not None
    return snapshot


@each("repo_id", EMBEDDED.ids())
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


def test_size_on_disk() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2_000_000


def test_ids_are_sorted() -> None:
    assert list(EMBEDDED.ids()) == sorted(EMBEDDED.ids(), key=str.casefold)
    assert set(WELL_KNOWN) <= set(EMBEDDED.ids())


def test_embedded_models_are_found_by_former_ids_in_any_case() -> None:
    assert embedded("DEEPSEEK-AI/deepseek-r1").repo_id == "deepseek-ai/DeepSeek-R1"
    assert embedded("gpt2").repo_id == "openai-community/gpt2"
    assert embedded("bert-base-uncased").repo_id == "google-bert/bert-base-uncased"
    assert EMBEDDED.get("nobody/nothing") is None


def test_a_missing_folder_has_no_snapshots(tmp_path: Path) -> None:
    empty = EmbeddedSnapshots(tmp_path / "none")
    assert empty.ids() == ()
    assert empty.get("gpt2") is None
