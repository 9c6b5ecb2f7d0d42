"""RepoSnapshot -> ModelProfile: what the model is, as far as memory and speed care."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from gpusizer.architecture import Architecture, resolve_architecture
from gpusizer.architecture.config import class_defaults
from gpusizer.errors import NoWeights
from gpusizer.notes import Note
from gpusizer.packing import StoredQuantization, spare_biases
from gpusizer.quantization import detect_quantization
from gpusizer.roles import Kind, Part
from gpusizer.snapshot import Component, RepoSnapshot
from gpusizer.weights import WeightGroup, mark_tied_output, split_mtp_layers, weight_groups

# Reading a checkpoint as another width than it is stored in is worth a word from this ratio on.
_KV_CACHE_BYTES = 2  # contract: kv_cache_bytes_per_token is for a 16-bit cache


@dataclass(frozen=True, slots=True)
class ComponentSize:
    """One line of the component list: unique parameters and stored bytes."""

    name: str
    parameters: int
    weight_bytes: int


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """A model's weights by purpose, its architecture and how it is stored.

    Attributes:
        parameters: unique logical parameters (packed weights unpacked, a tied matrix once,
            no masks, rotary tables or position ids).
        active_parameters: parameters read for one generated token.
        stored_parameters_by_dtype: elements as they are in the files.
        weight_bytes: tensor bytes in the files.
        native_dtype: dtype most parameters are stored in.
        quantization: how the checkpoint is quantized, None for a plain one.
        architecture: None where there is no language-model configuration.
        groups: every stored tensor, classified.
        caveats: what a reader of the numbers must know.
    """

    repo_id: str
    revision: str
    sha: str | None
    source: str
    retrieved_at: str
    gated: bool
    format: str
    parameters: int
    active_parameters: int
    stored_parameters_by_dtype: Mapping[str, int]
    weight_bytes: int
    tensor_count: int
    file_count: int
    native_dtype: str
    components: tuple[ComponentSize, ...]
    quantization: StoredQuantization | None
    architecture: Architecture | None
    groups: tuple[WeightGroup, ...]
    license: str | None
    base_models: tuple[str, ...]
    pipeline_tag: str | None
    library: str | None
    caveats: tuple[Note, ...]

    @property
    def max_context(self) -> int | None:
        """Longest sequence the configuration allows, in tokens."""
        return self.architecture.max_context if self.architecture else None

    @property
    def kv_cache_bytes_per_token(self) -> int:
        """16-bit cache of one token over all layers that grow with context; 0 for encoders."""
        if self.architecture is None or not self.architecture.generates:
            return 0
        return self.architecture.growing_elements_per_token * _KV_CACHE_BYTES

    def to_json(self) -> dict[str, Any]:
        """JSON object; `from_json` is the inverse."""
        data = {name: getattr(self, name) for name in self.__slots__}
        data["stored_parameters_by_dtype"] = dict(self.stored_parameters_by_dtype)
        data["components"] = [asdict(component) for component in self.components]
        data["quantization"] = self.quantization.to_json() if self.quantization else None
        data["architecture"] = self.architecture.to_json() if self.architecture else None
        data["groups"] = [group.to_json() for group in self.groups]
        data["base_models"] = list(self.base_models)
        data["caveats"] = [note.to_json() for note in self.caveats]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ModelProfile:
        """Inverse of `to_json`."""
        values = dict(data)
        values["components"] = tuple(ComponentSize(**item) for item in data["components"])
        quantization, architecture = data["quantization"], data["architecture"]
        values["quantization"] = StoredQuantization(**quantization) if quantization else None
        values["architecture"] = Architecture.from_json(architecture) if architecture else None
        values["groups"] = tuple(WeightGroup.from_json(item) for item in data["groups"])
        values["base_models"] = tuple(data["base_models"])
        values["caveats"] = tuple(Note.from_json(item) for item in data["caveats"])
        return cls(**values)


def build_profile(snapshot: RepoSnapshot) -> ModelProfile:
    """Profile a repository from its facts. Pure; never touches the network.

    Raises NoWeights for a snapshot without a single tensor.
    """
    if not any(component.tensors for component in snapshot.components):
        raise NoWeights(repo_id=snapshot.repo_id, formats=[snapshot.format])
    main = snapshot.components[0]
    quantization = detect_quantization(main.config, snapshot.extra_configs)
    groups = _classified(snapshot, quantization)
    architecture = resolve_architecture(main.config, groups)
    if architecture is not None:
        groups = split_mtp_layers(groups, architecture.layers)
        if architecture.tied_embeddings:
            groups = mark_tied_output(groups)
    groups = _without_spare_biases(groups, main, quantization)
    return ModelProfile(
        repo_id=snapshot.repo_id,
        revision=snapshot.revision,
        sha=snapshot.sha,
        source=snapshot.source,
        retrieved_at=snapshot.retrieved_at,
        gated=snapshot.gated,
        format=snapshot.format,
        parameters=sum(group.parameters for group in groups),
        active_parameters=_active_parameters(groups, architecture),
        stored_parameters_by_dtype=_elements_by_dtype(snapshot),
        weight_bytes=sum(group.stored_bytes for group in groups),
        tensor_count=sum(t.count for c in snapshot.components for t in c.tensors),
        file_count=sum(len(component.files) for component in snapshot.components),
        native_dtype=_native_dtype(groups),
        components=_component_sizes(snapshot, groups),
        quantization=quantization,
        architecture=architecture,
        groups=groups,
        license=snapshot.license,
        base_models=snapshot.base_models,
        pipeline_tag=snapshot.pipeline_tag,
        library=snapshot.library,
        caveats=_caveats(snapshot, groups, architecture, quantization),
    )


def _classified(
    snapshot: RepoSnapshot, quantization: StoredQuantization | None
) -> tuple[WeightGroup, ...]:
    return tuple(
        group
        for component in snapshot.components
        for group in weight_groups(component.name, component.tensors, quantization)
    )


def _without_spare_biases(
    groups: tuple[WeightGroup, ...], main: Component, quantization: StoredQuantization | None
) -> tuple[WeightGroup, ...]:
    if quantization is None or main.config is None:
        return groups
    defaults = class_defaults().get(str(main.config.get("model_type")), {})
    real = defaults.get("linear_biases")
    return tuple(
        replace(g, kind=Kind.QUANT_AUX) if spare_biases(g.pattern, quantization.method, real) else g
        for g in groups
    )


def _elements_by_dtype(snapshot: RepoSnapshot) -> dict[str, int]:
    totals: dict[str, int] = {}
    for component in snapshot.components:
        for tensor in component.tensors:
            totals[tensor.dtype] = totals.get(tensor.dtype, 0) + tensor.elements
    return totals


def _native_dtype(groups: tuple[WeightGroup, ...]) -> str:
    parameters: dict[str, int] = {}
    for group in groups:
        parameters[group.dtype] = parameters.get(group.dtype, 0) + group.parameters
    return max(parameters, key=lambda dtype: parameters[dtype])


def _active_parameters(groups: tuple[WeightGroup, ...], architecture: Architecture | None) -> int:
    """All parameters, but only the chosen share of routed experts and no draft layers."""
    share = Fraction(1)
    if architecture and architecture.experts and architecture.experts_per_token:
        share = min(share, Fraction(architecture.experts_per_token, architecture.experts))
    experts = sum(g.parameters for g in groups if g.kind is Kind.EXPERT and g.part is not Part.MTP)
    others = sum(
        g.parameters for g in groups if g.kind is not Kind.EXPERT and g.part is not Part.MTP
    )
    return others + int(experts * share)


def _component_sizes(
    snapshot: RepoSnapshot, groups: tuple[WeightGroup, ...]
) -> tuple[ComponentSize, ...]:
    """Folders of a pipeline, or the parts (text, vision, …) of a single model."""
    several = len(snapshot.components) > 1
    sizes: dict[str, list[int]] = {}
    for group in groups:
        name = group.component if several else _PART_NAMES[group.part]
        entry = sizes.setdefault(name, [0, 0])
        entry[0] += group.parameters
        entry[1] += group.stored_bytes
    return tuple(ComponentSize(name, *entry) for name, entry in sizes.items())


_PART_NAMES = {
    Part.TEXT: "transformer",
    Part.VISION: "vision",
    Part.AUDIO: "audio",
    Part.PROJECTOR: "projector",
    Part.MTP: "multi_token_prediction",
    Part.ENCODER: "encoder",
}


def _caveats(
    snapshot: RepoSnapshot,
    groups: tuple[WeightGroup, ...],
    architecture: Architecture | None,
    quantization: StoredQuantization | None,
) -> tuple[Note, ...]:
    notes: list[Note] = []
    if snapshot.source == "snapshot":
        notes.append(Note("embedded_snapshot", date=snapshot.retrieved_at[:10]))
    if snapshot.source == "cache":
        notes.append(Note("stale_cache", date=snapshot.retrieved_at[:10]))
    draft = sum(g.parameters for g in groups if g.part is Part.MTP)
    if draft:
        notes.append(Note("mtp_layers_counted", parameters=draft))
    if any(g.duplicate for g in groups):
        notes.append(Note("tied_matrix_stored_twice"))
    if quantization is not None:
        if quantization.bits is None:
            notes.append(Note("quantization_width_unknown", method=quantization.method))
        else:
            notes.append(
                Note("already_quantized", method=quantization.method, bits=quantization.bits)
            )
    if architecture is None:
        notes.append(Note("architecture_unknown"))
    else:
        for code, facts in (
            ("recovered_from_tensors", architecture.recovered),
            ("class_defaults_used", architecture.defaulted),
        ):
            if facts:
                notes.append(Note(code, facts=", ".join(facts)))
    for file in snapshot.uncounted_files[:1]:
        notes.append(
            Note("other_copies_not_counted", path=file.path, count=len(snapshot.uncounted_files))
        )
    return tuple(notes)
