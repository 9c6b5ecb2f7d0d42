"""RepoSnapshot: the facts that the Hub states about one repository at one commit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from gpusizer.core.messages import Note
from gpusizer.hub.card_statements import ModelCard
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.tensors import TensorGroup

SNAPSHOT_VERSION = 1
ADAPTER_COMPONENT = "adapter"

Source = Literal["hub", "cache", "snapshot", "local"]
Basis = Literal["api", "index", "files"]
Format = Literal["safetensors", "diffusers", "adapter", "gguf", "pickle"]
VariantKind = Literal["quantization", "projector", "draft"]
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
class Variant:
    """One of several versions of the model, or a file beside it, known by its size alone.

    Attributes:
        name: quantization (`Q4_K_M`), or the file's stem where its name says none.
        kind: a whole model, a projector for images or sound, or a small model that drafts.
        files: its files in order; their tensors are not counted here.
        size_bytes: of the files together, headers included; None where one is not known.
        raw_pieces: the files are parts of one, to be joined with `cat` before anything loads it.
    """

    name: str
    kind: VariantKind
    files: tuple[WeightFile, ...]
    size_bytes: int | None
    raw_pieces: bool = False

    @property
    def slug(self) -> str:
        """How requests name it."""
        return self.name.lower()

    def to_json(self) -> dict[str, Any]:
        files = [file.to_json() for file in self.files]
        data = {"name": self.name, "kind": self.kind, "files": files, "size_bytes": self.size_bytes}
        return data | ({"raw_pieces": True} if self.raw_pieces else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Variant:
        files = tuple(WeightFile(*item) for item in data["files"])
        pieces = bool(data.get("raw_pieces", False))
        return cls(data["name"], data["kind"], files, data["size_bytes"], pieces)


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of weights whose tensors are not known: pickles and gated files.

    Attributes:
        parameters: by safetensors dtype name.
        weight_bytes: bytes of the tensors, as near as the basis tells.
        basis: the Hub's own count, a shard index's `total_size`, or the sizes of the files.
    """

    parameters: Mapping[str, int]
    weight_bytes: int
    basis: Basis

    def to_json(self) -> list[Any]:
        return [dict(self.parameters), self.weight_bytes, self.basis]


@dataclass(frozen=True, slots=True)
class Component:
    """Weights that load together: the whole of a transformers repo, or one folder of a pipeline.

    Attributes:
        name: folder name, or "model" for the root of the repository.
        config: parsed `config.json` of that folder, or None when there is none. Of a GGUF
            file its metadata, without long texts and arrays.
        files: weight files counted, in order of their paths.
        tensors: groups of the tensors in those files, from their headers.
        totals: what stands in for the tensors where no header was read.
    """

    name: str
    config: Config | None
    files: tuple[WeightFile, ...]
    tensors: tuple[TensorGroup, ...]
    totals: Totals | None = None

    def to_json(self) -> dict[str, Any]:
        data = {
            "name": self.name,
            "config": self.config,
            "files": [file.to_json() for file in self.files],
            "tensors": [group.to_json() for group in self.tensors],
        }
        return data | ({"totals": self.totals.to_json()} if self.totals else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Component:
        return cls(
            name=data["name"],
            config=data["config"],
            files=tuple(WeightFile(*item) for item in data["files"]),
            tensors=tuple(TensorGroup.from_json(item) for item in data["tensors"]),
            totals=Totals(*data["totals"]) if "totals" in data else None,
        )


@dataclass(frozen=True, slots=True)
class RepoSnapshot:
    """Facts about one repository at one commit, with a JSON round trip.

    Attributes:
        repo_id: canonical ID as the Hub spells it (after any rename); of files of this machine
            their path.
        revision: branch, tag or commit that was asked for.
        sha: commit read; None when it is not known (some embedded snapshots).
        source: where this copy came from: the live Hub, the disk cache, the embedded set, or the
            files of this machine.
        retrieved_at: ISO 8601 time (or date) of reading.
        format: how the counted weights are stored.
        components: the weights.
        extra_configs: other small JSON files that say how weights are stored, by file name
            (`quantize_config.json`, `hf_quant_config.json`, `adapter_config.json`).
        uncounted_files: weight files that repeat the counted ones in another format.
        variants: quantizations of a GGUF repository, from its file list, and the projectors
            and draft models beside them.
        base_relation: how it was made from its base models, as the Hub says it: "quantized",
            "finetune", "adapter", "merge".
        languages: of the model card, as language codes.
        evidence: how an embedded snapshot was checked against the Hub ("lfs", "index", …).
        card: what the author says about hardware; None where no model card was read.
        notes: what the reader of any number must know about how these facts were read.
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
    variants: tuple[Variant, ...] = ()
    license: str | None = None
    base_models: tuple[str, ...] = ()
    pipeline_tag: str | None = None
    library: str | None = None
    evidence: tuple[str, ...] = ()
    base_relation: str | None = None
    languages: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    card: ModelCard | None = None

    def with_source(self, source: Source) -> RepoSnapshot:
        """The same facts, marked as coming from `source`."""
        return replace(self, source=source)

    def with_notes(self, *notes: Note) -> RepoSnapshot:
        """The same facts, and what else is to know about them."""
        return replace(self, notes=(*self.notes, *notes))

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `from_json` gives back an equal snapshot."""
        data = {
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
            "variants": [variant.to_json() for variant in self.variants],
            "components": [component.to_json() for component in self.components],
        }
        extra = {
            "base_relation": self.base_relation,
            "languages": list(self.languages),
            "notes": [note.to_json() for note in self.notes],
            "card": self.card.to_json() if self.card else None,
        }
        return data | {name: value for name, value in extra.items() if value}

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
            # Copies written before GGUF was read have none.
            variants=tuple(Variant.from_json(item) for item in data.get("variants", ())),
            components=tuple(Component.from_json(item) for item in data["components"]),
            base_relation=data.get("base_relation"),
            languages=tuple(data.get("languages", ())),
            notes=tuple(Note.from_json(item) for item in data.get("notes", ())),
            card=ModelCard.from_json(data["card"]) if data.get("card") else None,
        )


Fetch = Callable[[ModelRef], RepoSnapshot]
"""Reads the repository of a model; raises ModelUnreadable."""
