"""FakeRepo: one emulated model repository, and builders of realistic ones."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any, Literal

from tests.hub_emulator.files import FakeFile, literal_file
from tests.hub_emulator.safetensors_files import (
    Tensors,
    read_header,
    tensor_bytes,
    total_bytes,
    weights_file,
)

SINGLE_FILE = "model.safetensors"
INDEX_FILE = "model.safetensors.index.json"

Files = dict[str, FakeFile]


@dataclass
class FakeRepo:
    """A model repository: its files, and its fields in the Hub's API."""

    repo_id: str
    files: Files = field(default_factory=dict)
    sha: str = ""
    gated: Literal[False, "auto", "manual"] = False
    private: bool = False
    disabled: bool = False
    tags: list[str] = field(default_factory=list)
    pipeline_tag: str | None = None
    library_name: str | None = None
    card_data: dict[str, Any] = field(default_factory=dict)
    downloads: int = 0
    likes: int = 0
    trending_score: float = 0
    last_modified: str = "2025-01-01T00:00:00.000Z"
    # other branches and tags: their files, or the commit they point to
    revisions: dict[str, Files | str] = field(default_factory=dict)
    # parameters by dtype of the API; None counts the elements of the headers
    parameters: dict[str, int] | None = None
    # files that the description leaves out of its list, as the Hub's did where its cache was short
    # (huggingface_hub pull request 3565); the tree has them
    unlisted: frozenset[str] = frozenset()
    # fields of the API's answer as they are to be sent; None leaves a field out
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sha = self.sha or commit_sha(self.repo_id)

    @property
    def object_id(self) -> str:
        """The database id that the API calls `_id`."""
        return object_id(self.repo_id)

    def at(self, revision: str) -> FakeRepo | None:
        """Return the repository at a branch, tag or commit; None when there is no such revision."""
        if revision in ("main", self.sha):
            return self
        for name, files in self.revisions.items():
            if isinstance(files, str):
                if revision == name:
                    return self.at(files)
                continue
            sha = commit_sha(f"{self.repo_id}@{name}")
            if revision in (name, sha):
                return replace(self, files=files, sha=sha, parameters=None)
        return None

    @property
    def listed(self) -> Files:
        """The files that the description lists."""
        return {path: file for path, file in self.files.items() if path not in self.unlisted}

    def weight_paths(self) -> list[str]:
        """Return the files the Hub counts parameters in: the single file, or the index's shards."""
        if SINGLE_FILE in self.files:
            return [SINGLE_FILE]
        if INDEX_FILE not in self.files:
            return []
        index = json.loads(self.files[INDEX_FILE].head_bytes())
        return list(dict.fromkeys(index["weight_map"].values()))

    def counted_parameters(self) -> dict[str, int]:
        """Return stored elements by dtype, from the headers."""
        counts: Counter[str] = Counter()
        for path in self.weight_paths():
            header = read_header(self.files[path])
            header.pop("__metadata__", None)
            for tensor in header.values():
                counts[tensor["dtype"]] += prod(tensor["shape"])
        return dict(counts)


def commit_sha(seed: str) -> str:
    """Return a commit name made from a text."""
    return hashlib.sha1(seed.encode(), usedforsecurity=False).hexdigest()


def object_id(repo_id: str) -> str:
    """Return a 24-digit database id made from a repository's name."""
    return hashlib.sha256(repo_id.encode()).hexdigest()[:24]


def single_file_repo(
    repo_id: str, tensors: Tensors, config: Mapping[str, Any] | None = None, **attributes: Any
) -> FakeRepo:
    """Return a repository with one `model.safetensors`."""
    files = {SINGLE_FILE: weights_file(tensors, {"format": "pt"})}
    return _with_config(repo_id, files, config, attributes)


def sharded_repo(
    repo_id: str,
    tensors: Tensors,
    shards: int,
    config: Mapping[str, Any] | None = None,
    **attributes: Any,
) -> FakeRepo:
    """Return a repository with its tensors split, in order, into shards of about equal bytes."""
    total = total_bytes(tensors)
    parts: list[dict[str, tuple[str, tuple[int, ...]]]] = [{} for _ in range(shards)]
    weight_map, before = {}, 0
    for name, (dtype, shape) in tensors.items():
        number = min(before * shards // max(total, 1), shards - 1)
        parts[number][name] = (dtype, shape)
        weight_map[name] = f"model-{number + 1:05}-of-{shards:05}.safetensors"
        before += tensor_bytes(dtype, shape)
    files = {
        f"model-{number:05}-of-{shards:05}.safetensors": weights_file(part, {"format": "pt"})
        for number, part in enumerate(parts, 1)
    }
    index = {"metadata": {"total_size": total}, "weight_map": dict(sorted(weight_map.items()))}
    files[INDEX_FILE] = literal_file(index)
    return _with_config(repo_id, files, config, attributes)


def _with_config(
    repo_id: str,
    files: Files,
    config: Mapping[str, Any] | None,
    attributes: Mapping[str, Any],
) -> FakeRepo:
    small = {"README.md": literal_file("---\nlicense: apache-2.0\n---\n")}
    if config is not None:
        small["config.json"] = literal_file(config)
    defaults: dict[str, Any] = {
        "card_data": {"license": "apache-2.0"},
        "pipeline_tag": "text-generation",
        "library_name": "transformers",
    }
    return FakeRepo(repo_id, small | files, **(defaults | dict(attributes)))
