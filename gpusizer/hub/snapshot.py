"""RepoSnapshot: the facts that the Hub states about one repository at one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

from gpusizer.core.loose_values import Arguments, JsonObject, JsonValue, StoredObject
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
Config = JsonObject

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of weights. `size_bytes` is the whole file, header included; None if unknown."""

    path: str
    size_bytes: int | None
    tensor_count: int

    def to_json(self) -> list[JsonValue]:
        return [self.path, self.size_bytes, self.tensor_count]


def _files(rows: Iterable[Sequence[Any]]) -> tuple[WeightFile, ...]:
    """Inverse of `WeightFile.to_json` for several."""
    return tuple(WeightFile(*row) for row in rows)


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
    """Totals of weights whose tensors are not known: pickles and gated files.

    Attributes:
        parameters: by safetensors dtype name.
        weight_bytes: bytes of the tensors, as near as the basis tells.
        basis: the Hub's own count, a shard index's `total_size`, or the sizes of the files.
    """

    parameters: Mapping[str, int]
    weight_bytes: int
    basis: Basis

    def to_json(self) -> list[JsonValue]:
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
    """What the Hub says of a repository.

    Attributes:
        repo_id: canonical ID as the Hub spells it (after any rename); of files of this machine
            their path.
        sha: commit read; None when it is not known (some embedded snapshots).
        base_relation: how it was made from its base models, as the Hub says it: "quantized",
            "finetune", "adapter", "merge".
        languages: of the model card, as language codes.
    """

    repo_id: str
    sha: str | None
    gated: bool = False
    license: str | None = None
    base_models: tuple[str, ...] = ()
    pipeline_tag: str | None = None
    library: str | None = None
    base_relation: str | None = None
    languages: tuple[str, ...] = ()

    @property
    def facts(self) -> Arguments:
        """These by name, for another object that has them."""
        return {item.name: getattr(self, item.name) for item in fields(RepoFacts)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RepoSnapshot(RepoFacts):
    """Facts about one repository at one commit, with a JSON round trip.

    Attributes:
        revision: branch, tag or commit that was asked for.
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
        evidence: how an embedded snapshot was checked against the Hub ("lfs", "index", …).
        card: what the author says about hardware; None where no model card was read.
        notes: what the reader of any number must know about how these facts were read.
    """

    revision: str
    source: Source
    retrieved_at: str
    format: Format
    components: tuple[Component, ...]
    extra_configs: Mapping[str, Config] = field(default_factory=dict)
    uncounted_files: tuple[WeightFile, ...] = ()
    variants: tuple[Variant, ...] = ()
    evidence: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    card: ModelCard | None = None

    def __hash__(self) -> int:
        """By its commit: what is remembered of snapshots compares the rest."""
        return hash((self.repo_id, self.sha))

    def with_source(self, source: Source) -> RepoSnapshot:
        """The same facts, marked as coming from `source`."""
        return replace(self, source=source)

    def with_notes(self, *notes: Note) -> RepoSnapshot:
        """The same facts, and what else is to know about them."""
        return replace(self, notes=(*self.notes, *notes))

    def to_json(self) -> JsonObject:
        """A JSON object; `from_json` gives back an equal snapshot."""
        data = {item.name: _plain(getattr(self, item.name)) for item in fields(self)}
        stated = {name: value for name, value in data.items() if value or name not in _LATER}
        return {"snapshot_version": SNAPSHOT_VERSION, **stated}

    @classmethod
    def from_json(cls, data: StoredObject) -> RepoSnapshot:
        """Inverse of `to_json`. Raises ValueError for another version, KeyError for a gap."""
        stored = dict(data)
        version = stored.pop("snapshot_version")
        if version != SNAPSHOT_VERSION:
            raise ValueError(f"snapshot version {version!r}")
        missing = {item.name for item in fields(cls)} - stored.keys() - _LATER - {"variants"}
        if missing:
            raise KeyError(*sorted(missing))
        return cls(**{name: _READERS.get(name, _read)(value) for name, value in stored.items()})


_LATER = frozenset({"base_relation", "languages", "notes", "card"})
"""Fields that are written where they say something: snapshots of before have none."""


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
}


Fetch = Callable[[ModelRef], RepoSnapshot]
"""Reads the repository of a model; raises ModelUnreadable."""


@runtime_checkable
class KnowingFetch(Protocol):
    """A source of snapshots that says which it knows already."""

    def __call__(self, ref: ModelRef) -> RepoSnapshot:
        """Return the snapshot of a model. Raises ModelUnreadable."""

    def known(self, ref: ModelRef) -> RepoSnapshot | None:
        """Return what a call would return now, if it would not wait for the Hub; None otherwise."""


def known(fetch: Fetch, ref: ModelRef) -> RepoSnapshot | None:
    """Return the snapshot if `fetch` knows it without waiting, None otherwise."""
    return fetch.known(ref) if isinstance(fetch, KnowingFetch) else None
