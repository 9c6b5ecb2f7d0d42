"""Snapshot of the facts that the Hub states about one repository at one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from gpusizer.core.loose_values import Arguments, JsonObject, JsonValue, StoredObject
from gpusizer.core.messages import Note
from gpusizer.hub.card_statements import ModelCard
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.published_results import PublishedResult
from gpusizer.hub.tensors import TensorGroup

SNAPSHOT_VERSION = 1
ADAPTER_COMPONENT = "adapter"

Source = Literal["hub", "cache", "snapshot", "local"]
Basis = Literal["api", "index", "files"]
Format = Literal["safetensors", "diffusers", "adapter", "gguf", "pickle"]
VariantKind = Literal["quantization", "projector", "draft"]
Config = JsonObject

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of weights."""

    path: str
    size_bytes: int | None  # whole file, header included; None if unknown
    tensor_count: int

    def to_json(self) -> list[JsonValue]:
        return [self.path, self.size_bytes, self.tensor_count]


def _files(rows: Iterable[Sequence[Any]]) -> tuple[WeightFile, ...]:
    return tuple(WeightFile(*row) for row in rows)


@dataclass(frozen=True, slots=True)
class Variant:
    """One of several versions of the model, or a file next to it, known by its size alone."""

    name: str  # quantization (`Q4_K_M`), or the file's stem if its name states none
    # a whole model, a projector for images or sound, or a small model that drafts
    kind: VariantKind
    files: tuple[WeightFile, ...]  # in order; their tensors are not counted here
    size_bytes: int | None  # sum of the files, headers included; None if one is unknown
    # The files are pieces of one file, to be joined with `cat` before loading.
    raw_pieces: bool = False

    @property
    def slug(self) -> str:
        """Name of the variant in requests."""
        return self.name.lower()

    def to_json(self) -> JsonObject:
        files = [file.to_json() for file in self.files]
        data = {"name": self.name, "kind": self.kind, "files": files, "size_bytes": self.size_bytes}
        return data | ({"raw_pieces": True} if self.raw_pieces else {})

    @classmethod
    def from_json(cls, data: StoredObject) -> Variant:
        files = _files(data["files"])
        pieces = bool(data.get("raw_pieces", False))
        return cls(data["name"], data["kind"], files, data["size_bytes"], pieces)


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of weights whose tensors are not known: pickles and gated files."""

    parameters: Mapping[str, int]  # by safetensors dtype name
    weight_bytes: int  # of the tensors, as exact as `basis` allows
    basis: Basis  # the Hub's own count, a shard index's `total_size`, or the sizes of the files

    def to_json(self) -> list[JsonValue]:
        return [dict(self.parameters), self.weight_bytes, self.basis]


@dataclass(frozen=True, slots=True)
class Component:
    """Weights that load together: a whole transformers repository, or one folder of a pipeline."""

    name: str  # folder name, or "model" for the root of the repository
    # Parsed `config.json` of that folder, or None. For a GGUF file its metadata, without long texts
    # and arrays.
    config: Config | None
    files: tuple[WeightFile, ...]  # counted weight files, in order of their paths
    tensors: tuple[TensorGroup, ...]  # groups of the tensors in those files, from their headers
    totals: Totals | None = None  # replaces `tensors` if no header was read

    def to_json(self) -> JsonObject:
        data = {
            "name": self.name,
            "config": self.config,
            "files": [file.to_json() for file in self.files],
            "tensors": [group.to_json() for group in self.tensors],
        }
        return data | ({"totals": self.totals.to_json()} if self.totals else {})

    @classmethod
    def from_json(cls, data: StoredObject) -> Component:
        return cls(
            name=data["name"],
            config=data["config"],
            files=_files(data["files"]),
            tensors=tuple(TensorGroup.from_json(item) for item in data["tensors"]),
            totals=Totals(*data["totals"]) if "totals" in data else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoFacts:
    """Facts that the Hub states about a repository."""

    repo_id: str  # canonical ID after any rename; for files of this machine their path
    sha: str | None  # commit that was read; None if unknown (some embedded snapshots)
    gated: bool = False
    license: str | None = None
    base_models: tuple[str, ...] = ()
    pipeline_tag: str | None = None
    library: str | None = None
    # relation to its base models: "quantized", "finetune", "adapter", "merge"
    base_relation: str | None = None
    languages: tuple[str, ...] = ()  # codes from the model card
    published_results: tuple[PublishedResult, ...] = ()  # of benchmarks, as the repository has them

    @property
    def facts(self) -> Arguments:
        """These facts by name, as arguments for another object that has them."""
        return {item.name: getattr(self, item.name) for item in fields(RepoFacts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoSnapshot(RepoFacts):
    """Facts about one repository at one commit, with a JSON round trip."""

    revision: str  # requested branch, tag or commit
    source: Source  # the live Hub, the disk cache, the embedded set, or files of this machine
    retrieved_at: str  # ISO 8601 time (or date) of reading
    format: Format  # storage format of the counted weights
    components: tuple[Component, ...]
    # other small JSON files that say how weights are stored, by file name (`quantize_config.json`,
    # `hf_quant_config.json`, `adapter_config.json`)
    extra_configs: Mapping[str, Config] = field(default_factory=dict)
    # weight files that repeat the counted ones in another format
    uncounted_files: tuple[WeightFile, ...] = ()
    # Quantizations of a GGUF repository from its file list, with its projectors and draft models.
    variants: tuple[Variant, ...] = ()
    # how an embedded snapshot was checked against the Hub ("lfs", "index", …)
    evidence: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()  # caveats on how these facts were read
    # statements of the author about hardware; None if no model card was read
    card: ModelCard | None = None

    def __hash__(self) -> int:
        """Hash the commit; caches of snapshots compare the rest."""
        return hash((self.repo_id, self.sha))

    def with_source(self, source: Source) -> RepoSnapshot:
        """Return a copy with another `source`."""
        return replace(self, source=source)

    def with_notes(self, *notes: Note) -> RepoSnapshot:
        """Return a copy with `notes` appended."""
        return replace(self, notes=(*self.notes, *notes))

    def to_json(self) -> JsonObject:
        """Return a JSON object that `from_json` reads back to an equal snapshot."""
        data = {item.name: _plain(getattr(self, item.name)) for item in fields(self)}
        stated = {name: value for name, value in data.items() if value or name not in _LATER}
        return {"snapshot_version": SNAPSHOT_VERSION, **stated}

    @classmethod
    def from_json(cls, data: StoredObject) -> RepoSnapshot:
        """Return the snapshot of an object of `to_json`.

        Raises ValueError for another version and KeyError for a missing field.
        """
        stored = dict(data)
        version = stored.pop("snapshot_version")
        if version != SNAPSHOT_VERSION:
            raise ValueError(f"snapshot version {version!r}")
        missing = {item.name for item in fields(cls)} - stored.keys() - _LATER - {"variants"}
        if missing:
            raise KeyError(*sorted(missing))
        return cls(**{name: _READERS.get(name, _read)(value) for name, value in stored.items()})


# Fields that are written only if set: older snapshots lack them.
_LATER = frozenset({"base_relation", "languages", "published_results", "notes", "card"})


def _plain(value: Any) -> JsonValue:
    if isinstance(value, tuple):
        return list(map(_plain, value))
    written: JsonValue = value.to_json() if hasattr(value, "to_json") else value
    return written


def _read(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _each(read: Callable[[_T], object]) -> Callable[[Iterable[_T]], object]:
    return lambda items: tuple(map(read, items))


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "components": _each(Component.from_json),
    "uncounted_files": _files,
    "variants": _each(Variant.from_json),
    "notes": _each(Note.from_json),
    "card": ModelCard.from_json,
    "published_results": _each(PublishedResult.from_json),
}


# Reads the repository of a model. Raises ModelUnreadable.
Fetch = Callable[[ModelRef], RepoSnapshot]


@runtime_checkable
class KnowingFetch(Protocol):
    """Source of snapshots that can tell whether it holds one already."""

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        """Return the snapshot of a model. Raises ModelUnreadable."""

    def known(self, ref: ModelRef) -> RepoSnapshot | None:
        """Return the snapshot if it needs no request to the Hub, None otherwise."""


def known(fetch: Fetch, ref: ModelRef) -> RepoSnapshot | None:
    """Return the snapshot if `fetch` knows it without waiting, None otherwise."""
    return fetch.known(ref) if isinstance(fetch, KnowingFetch) else None
