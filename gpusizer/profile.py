"""RepoSnapshot -> ModelProfile: what the model is, as far as memory and speed care."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpusizer.architecture import (
    Architecture,
    architecture_of_config,
    resolve_architecture,
    resolve_gguf,
)
from gpusizer.architecture.config import class_defaults
from gpusizer.architecture.mistral_params import PARAMS, config_of_params
from gpusizer.caveats import caveats
from gpusizer.errors import NoWeights
from gpusizer.gguf_facts import ggml_quantization, projector, variant_read
from gpusizer.notes import Note
from gpusizer.packing import StoredQuantization, spare_biases
from gpusizer.quantization import detect_quantization, quantization_of_tensors
from gpusizer.roles import Kind, Part
from gpusizer.snapshot import ADAPTER_COMPONENT, Component, Config, RepoSnapshot, Variant
from gpusizer.totals import estimated_groups
from gpusizer.weights import WeightGroup, mark_tied_output, split_mtp_layers, weight_groups

if TYPE_CHECKING:  # few models are pipelines
    from gpusizer.pipeline_shape import PipelineShape

HEADERS = "headers"
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
        base_relation: how it was made from `base_models`: "quantized", "finetune", …
        languages: language codes of the model card.
        weights_basis: "headers" when every tensor was read; else the weakest of what stands
            in for them: "api", "index" or "files".
        caveats: what a reader of the numbers must know.
        variants: quantizations of a GGUF repository, largest first.
        variant: name of the one that was read; None for other files and formats.
        pipeline: steps of a diffusers pipeline, None for other models.
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
    variants: tuple[Variant, ...] = ()
    variant: str | None = None
    base_relation: str | None = None
    languages: tuple[str, ...] = ()
    weights_basis: str = HEADERS
    pipeline: PipelineShape | None = None

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
        data["languages"] = list(self.languages)
        data["caveats"] = [note.to_json() for note in self.caveats]
        data["variants"] = [variant.to_json() for variant in self.variants]
        data["pipeline"] = self.pipeline.to_json() if self.pipeline else None
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
        values["languages"] = tuple(data["languages"])
        values["caveats"] = tuple(Note.from_json(item) for item in data["caveats"])
        values["variants"] = tuple(Variant.from_json(item) for item in data["variants"])
        if shape := data.get("pipeline"):
            pipelines = import_module("gpusizer.pipeline_shape")
            values["pipeline"] = pipelines.PipelineShape.from_json(shape)
        return cls(**values)


def build_profile(snapshot: RepoSnapshot) -> ModelProfile:
    """Profile a repository from its facts. Pure; never touches the network.

    Raises NoWeights for a snapshot without a single tensor or total.
    """
    if not any(component.tensors or component.totals for component in snapshot.components):
        raise NoWeights(repo_id=snapshot.repo_id, formats=[snapshot.format])
    main = snapshot.components[0]
    config = main.config or config_of_params(snapshot.extra_configs.get(PARAMS))
    # Totals have no tensors to read an architecture off.
    known = architecture_of_config(config) if main.totals else None
    groups, quantization = _classified(snapshot, config, known)
    architecture = known if main.totals else _architecture(snapshot, config, groups)
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
        base_relation=snapshot.base_relation,
        languages=snapshot.languages,
        license=snapshot.license,
        base_models=snapshot.base_models,
        pipeline_tag=snapshot.pipeline_tag,
        library=snapshot.library,
        weights_basis=_basis(snapshot),
        caveats=caveats(snapshot, groups, architecture, quantization),
        variants=tuple(v for v in snapshot.variants if v.kind == "quantization"),
        variant=_variant_name(snapshot),
        pipeline=_pipeline(snapshot),
    )


def _pipeline(snapshot: RepoSnapshot) -> PipelineShape | None:
    if snapshot.format != "diffusers":
        return None
    shape: PipelineShape = import_module("gpusizer.pipeline_reading").pipeline_shape(snapshot)
    return shape


def _variant_name(snapshot: RepoSnapshot) -> str | None:
    read = variant_read(snapshot)
    return read.name if read is not None and read.kind == "quantization" else None


def _architecture(
    snapshot: RepoSnapshot, config: Config | None, groups: tuple[WeightGroup, ...]
) -> Architecture | None:
    """The language model's; a pipeline has layers of its own kind, and no cache of text."""
    if snapshot.format == "diffusers":
        return None
    resolve = resolve_gguf if snapshot.format == "gguf" else resolve_architecture
    return resolve(config, groups)


def _classified(
    snapshot: RepoSnapshot, config: Config | None, known: Architecture | None
) -> tuple[tuple[WeightGroup, ...], StoredQuantization | None]:
    """Every tensor with its purpose, and how the checkpoint is quantized.

    GGUF files say that in the types of their tensors, whose shapes are never packed.
    """
    main, is_gguf = snapshot.components[0], snapshot.format == "gguf"
    packing = None
    if not is_gguf:
        packing = detect_quantization(config, snapshot.extra_configs)
        packing = packing or quantization_of_tensors(main.tensors)
    groups: list[WeightGroup] = []
    for component in snapshot.components:
        if component.totals is not None:
            of_main = known if component is main else None
            groups += estimated_groups(component.name, component.totals, of_main)
        found = weight_groups(component.name, component.tensors, packing)
        adapter = component.name == ADAPTER_COMPONENT
        groups += [replace(g, part=Part.ADAPTER) for g in found] if adapter else found
    classified = tuple(groups)
    return classified, ggml_quantization(_native_dtype(classified)) if is_gguf else packing


def _basis(snapshot: RepoSnapshot) -> str:
    bases = {component.totals.basis for component in snapshot.components if component.totals}
    return next((basis for basis in ("files", "index", "api") if basis in bases), HEADERS)


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
        for dtype, count in (component.totals.parameters if component.totals else {}).items():
            totals[dtype] = totals.get(dtype, 0) + count
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
    """Folders of a pipeline, or the parts (text, vision, …) of a single model.

    A GGUF model's projector is a file of its own, known by its size alone.
    """
    several = len(snapshot.components) > 1 and snapshot.format != "adapter"
    sizes: dict[str, list[int]] = {}
    for group in groups:
        name = group.component if several else _PART_NAMES[group.part]
        entry = sizes.setdefault(name, [0, 0])
        entry[0] += group.parameters
        entry[1] += group.stored_bytes
    beside = projector(snapshot)
    if beside is not None and beside != variant_read(snapshot):
        sizes.setdefault(_PART_NAMES[Part.PROJECTOR], [0, 0])[1] += beside.size_bytes or 0
    return tuple(ComponentSize(name, *entry) for name, entry in sizes.items())


_PART_NAMES = {
    Part.TEXT: "transformer",
    Part.VISION: "vision",
    Part.AUDIO: "audio",
    Part.PROJECTOR: "projector",
    Part.MTP: "multi_token_prediction",
    Part.ENCODER: "encoder",
    Part.ADAPTER: ADAPTER_COMPONENT,
}
