"""RepoSnapshot: what the Hub said about one repository at one commit. Facts only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gpusizer.tensors import TensorGroup

SNAPSHOT_VERSION = 1

Source = Literal["hub", "cache", "snapshot"]
Format = Literal["safetensors", "diffusers", "adapter", "gguf", "pickle"]
Config = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of weights. `size_bytes` is the whole file, header included; None if unknown."""

    path: str
    size_bytes: int | None
    tensor_count: int

    def to_json(self) -> list[Any]:
        return [self.path, self.size_bytes, self.tensor_count]


@dataclass(frozen=True, slots=True)
class Component:
    """Weights that load together: the whole of a transformers repo, or one folder of a pipeline.

    Attributes:
        name: folder name, or "model" for the root of the repository.
        config: parsed `config.json` of that folder, or None when there is none.
        files: weight files counted, in order of their paths.
        tensors: groups of the tensors in those files, from their headers.
    """

    name: str
    config: Config | None
    files: tuple[WeightFile, ...]
    tensors: tuple[TensorGroup, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "config": self.config,
            "files": [file.to_json() for file in self.files],
            "tensors": [group.to_json() for group in self.tensors],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Component:
        return cls(
            name=data["name"],
            config=data["config"],
            files=tuple(WeightFile(*item) for item in data["files"]),
            tensors=tuple(TensorGroup.from_json(item) for item in data["tensors"]),
        )


@dataclass(frozen=True, slots=True)
class RepoSnapshot:
    """Facts about one repository at one commit, with a JSON round trip.

    Attributes:
        repo_id: canonical ID as the Hub spells it (after any rename).
        revision: branch, tag or commit that was asked for.
        sha: commit read; None when it is not known (some embedded snapshots).
        source: where this copy came from: the live Hub, the disk cache, the embedded set.
        retrieved_at: ISO 8601 time (or date) of reading.
        format: how the counted weights are stored.
        components: the weights.
        extra_configs: other small JSON files that say how weights are stored, by file name
            (`quantize_config.json`, `hf_quant_config.json`, `adapter_config.json`).
        uncounted_files: weight files that repeat the counted ones in another format.
        evidence: how an embedded snapshot was checked against the Hub ("lfs", "index", …).
    """

    repo_id: str
    revision: str
    sha: str | None
    source: Source
    retrieved_at: str
    format: Format
    components: tuple[Component, ...]
    gated: bool = False
    extra_configs: Mapping[str, Config] = field(default_factory=dict)
    uncounted_files: tuple[WeightFile, ...] = ()
    license: str | None = None
    base_models: tuple[str, ...] = ()
    pipeline_tag: str | None = None
    library: str | None = None
    evidence: tuple[str, ...] = ()

    def with_source(self, source: Source) -> RepoSnapshot:
        """The same facts, marked as coming from `source`."""
        return replace(self, source=source)

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `from_json` gives back an equal snapshot."""
        return {
            "snapshot_version": SNAPSHOT_VERSION,
            "repo_id": self.repo_id,
            "revision": self.revision,
            "sha": self.sha,
            "source": self.source,
            "retrieved_at": self.retrieved_at,
            "format": self.format,
            "gated": self.gated,
            "license": self.license,
            "base_models": list(self.base_models),
            "pipeline_tag": self.pipeline_tag,
            "library": self.library,
            "evidence": list(self.evidence),
            "extra_configs": dict(self.extra_configs),
            "uncounted_files": [file.to_json() for file in self.uncounted_files],
            "components": [component.to_json() for component in self.components],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> RepoSnapshot:
        """Inverse of `to_json`. Raises ValueError for another version, KeyError for a gap."""
        if data["snapshot_version"] != SNAPSHOT_VERSION:
            raise ValueError(f"snapshot version {data['snapshot_version']!r}")
        return cls(
            repo_id=data["repo_id"],
            revision=data["revision"],
            sha=data["sha"],
            source=data["source"],
            retrieved_at=data["retrieved_at"],
            format=data["format"],
            gated=data["gated"],
            license=data["license"],
            base_models=tuple(data["base_models"]),
            pipeline_tag=data["pipeline_tag"],
            library=data["library"],
            evidence=tuple(data["evidence"]),
            extra_configs=data["extra_configs"],
            uncounted_files=tuple(WeightFile(*item) for item in data["uncounted_files"]),
            components=tuple(Component.from_json(item) for item in data["components"]),
        )
