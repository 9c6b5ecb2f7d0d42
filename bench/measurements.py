"""Rows of `data/measurements` (its README describes them), and the models they were measured on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gpusizer.core.paths import DATA_DIR, GENERATED_DIR, SNAPSHOTS_DIR
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import ModelProfile, build_profile
from scrapers.cache.stored import EmbeddedSnapshots

FOLDER = DATA_DIR / "measurements"

# table of each kind of row
FILES = {
    "serving": "serving.jsonl",
    "llama_cpp": "llama_cpp.jsonl",
    "gguf_size": "gguf_sizes.jsonl",
    "pipeline": "pipelines.jsonl",
    "quantizing": "quantizing.jsonl",
    "quality": "quality.jsonl",
    "serving_load": "serving_load.jsonl",
    "throughput": "throughput.jsonl",
    "training": "training.jsonl",
}

# kinds whose rows name the model for the request
PROFILED = frozenset(FILES) - {"gguf_size", "pipeline", "quantizing", "quality"}
TABLES = tuple(FOLDER / FILES[kind] for kind in ("serving", "llama_cpp", "gguf_size", "pipeline"))

TRAINING = FOLDER / "training.jsonl"  # peaks of training runs, in bytes

SPEEDS = FOLDER / "throughput.jsonl"  # measured speeds, in tokens per second

SERVING_LOAD = FOLDER / "serving_load.jsonl"  # servers under load, which `bench.serving` reads

ALL_TABLES = (*TABLES, TRAINING, SPEEDS)

# embedded models of gpusizer, and models that only measurements need
SNAPSHOT_FOLDERS = (SNAPSHOTS_DIR, GENERATED_DIR / "measured_models")

Row = Mapping[str, Any]


def load(paths: Iterable[Path] = TABLES) -> list[Row]:
    """Read all rows; `kind` says what a row measures. Raises ValueError for malformed JSON."""
    rows: list[Row] = []
    for path in paths:
        rows += [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return rows


@cache
def _snapshot_folders() -> tuple[EmbeddedSnapshots, ...]:
    return tuple(EmbeddedSnapshots(folder) for folder in SNAPSHOT_FOLDERS)


def known_ids() -> tuple[str, ...]:
    """Return the IDs that a measurement can name as its profile."""
    return tuple(repo_id for snapshots in _snapshot_folders() for repo_id in snapshots.ids())


def load_snapshot(repo_id: str) -> RepoSnapshot:
    """Return the snapshot of a measured model. Raises KeyError for an unknown ID."""
    for snapshots in _snapshot_folders():
        snapshot = snapshots.get(repo_id)
        if snapshot is not None:
            return snapshot
    raise KeyError(repo_id)


@cache
def load_profile(repo_id: str) -> ModelProfile:
    """Return the profile of a measured model. Raises KeyError for an unknown ID."""
    return build_profile(load_snapshot(repo_id))
