"""ModelProfile: the facts of a repository that memory and speed depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from gpusizer.core.errors import NoWeights
from gpusizer.core.loose_values import JsonValue, list_in, object_in
from gpusizer.core.messages import Note
from gpusizer.hub.snapshot import ADAPTER_COMPONENT, Config, RepoFacts, RepoSnapshot, Variant
from gpusizer.model.architecture import (
    Architecture,
    architecture_of_config,
    resolve_architecture,
    resolve_gguf,
)
from gpusizer.model.architecture.config import PARAMS, config_of_params
from gpusizer.model.architecture.stack import stack_name
from gpusizer.model.attended_inputs import attended_picture_bytes
from gpusizer.model.caveats import caveats
from gpusizer.model.doubts import doubts
from gpusizer.model.gguf_facts import ggml_quantization, projector, variant_read
from gpusizer.model.packing import StoredQuantization
from gpusizer.model.padding import without_padding
from gpusizer.model.pipeline_reading import pipeline_shape
from gpusizer.model.pipeline_shape import PipelineShape
from gpusizer.model.quantization import (
    detect_quantization,
    names_a_conversion,
    quantization_of_tensors,
)
from gpusizer.model.synthetic_weights import estimated_groups
from gpusizer.model.tensor_roles import Kind, Part
from gpusizer.model.vision_tokens import PictureRule, picture_rule
from gpusizer.model.weights import (
    WeightGroup,
    mark_experts,
    mark_tied_output,
    split_mtp_layers,
    weight_groups,
)

HEADERS = "headers"
_LANGUAGE_PARTS = ("text_config", "llm_config")  # of a configuration with several senses
_KV_CACHE_BYTES = 2  # contract: kv_cache_bytes_per_token is for a 16-bit cache


@dataclass(frozen=True, slots=True)
class ComponentSize:
    """Unique parameters and stored bytes of a component."""

    name: str
    parameters: int
    weight_bytes: int


# EAGLE guesses token by token, DFlash a block in one pass.
# Draft method: a model alone ("draft_model"), or one that reads the target's hidden states.
DraftMethod = Literal["draft_model", "eagle", "eagle3", "dflash"]


@dataclass(frozen=True, slots=True)
class DraftModel:
    """A second model on the same GPUs that guesses tokens, `block_tokens` at once if configured."""

    profile: ModelProfile
    method: DraftMethod
    block_tokens: int | None = None

    @property
    def guesses_at_once(self) -> bool:
        """Whether one pass guesses all tokens of a round."""
        return self.method == "dflash"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile(RepoFacts):
    """A model's weights by purpose, its architecture and how it is stored."""

    revision: str
    source: str
    retrieved_at: str
    format: str
    # unique logical parameters: packed weights unpacked, a tied matrix once, without masks, rotary
    # tables or position ids
    parameters: int
    # parameters read for one generated token
    active_parameters: int
    # elements as stored in the files
    stored_parameters_by_dtype: Mapping[str, int]
    # tensor bytes in the files
    weight_bytes: int
    tensor_count: int
    file_count: int
    # dtype of most parameters
    native_dtype: str
    components: tuple[ComponentSize, ...]
    # None for a plain checkpoint
    quantization: StoredQuantization | None
    # None if there is no language-model configuration
    architecture: Architecture | None
    groups: tuple[WeightGroup, ...]
    caveats: tuple[Note, ...]
    # quantizations of a GGUF repository, largest first
    variants: tuple[Variant, ...] = ()
    # name of the variant that was read; None for other files and formats
    variant: str | None = None
    # "headers" if every tensor was read, else its weakest substitute: "api", "index" or "files"
    weights_basis: str = HEADERS
    # steps of a diffusers pipeline, None for other models
    pipeline: PipelineShape | None = None
    # tokens that a picture takes in a prompt; None if no rule is known
    picture_rule: PictureRule | None = None
    # keys and values of a picture read by cross-attention, in 16 bits; None for other models
    attended_picture_bytes: int | None = None
    # classes and model types that the configuration names, the model's before its language part's
    model_classes: tuple[str, ...] = ()
    model_types: tuple[str, ...] = ()
    # draft model of the request, or None
    draft: DraftModel | None = None

    def __hash__(self) -> int:
        # Caches of profiles compare the other fields.
        return hash((self.repo_id, self.sha, self.variant))

    @property
    def doubts(self) -> tuple[Note, ...]:
        """Notes on unknown parts of the model; its caveats include them."""
        return doubts(self.architecture, self.pipeline)

    @property
    def is_quantized_copy(self) -> bool:
        """Whether its weights were quantized from others, by its model card or its name."""
        derived = self.base_relation == "quantized" or names_a_conversion(self.repo_id)
        return self.quantization is not None and derived

    @property
    def max_context(self) -> int | None:
        """Longest sequence the configuration allows, in tokens."""
        return self.architecture.max_context if self.architecture else None

    @property
    def kv_cache_bytes_per_token(self) -> int:
        """Bytes of a 16-bit cache per token over all layers that grow; 0 for encoders."""
        if self.architecture is None or not self.architecture.generates:
            return 0
        return self.architecture.growing_elements_per_token * _KV_CACHE_BYTES


@lru_cache(maxsize=32)
def build_profile(snapshot: RepoSnapshot) -> ModelProfile:
    """Build a repository's profile without network access. Raise NoWeights if it has no tensors."""
    if not any(component.tensors or component.totals for component in snapshot.components):
        raise NoWeights(repo_id=snapshot.repo_id, formats=[snapshot.format])
    main = snapshot.components[0]
    config = main.config or config_of_params(snapshot.extra_configs.get(PARAMS))
    # Totals have no tensors to read an architecture off.
    by_config = architecture_of_config(config, snapshot.pipeline_tag) if main.totals else None
    groups, quantization = _classified(snapshot, config, by_config)
    architecture = by_config if main.totals else _architecture(snapshot, config, groups)
    if architecture is not None:
        stack = stack_name(groups, architecture.layers, architecture.hidden_size)
        if architecture.generates:  # drafts guess what it writes
            groups = split_mtp_layers(groups, architecture.layers, stack)
        groups = mark_experts(groups, architecture.experts)
        if architecture.tied_embeddings:
            groups = mark_tied_output(groups)
    if quantization is not None:
        groups = without_padding(groups, main.config, quantization.method)
    whole = object_in(config)
    parts = [whole, *(object_in(whole.get(part)) for part in _LANGUAGE_PARTS)]
    pipeline = pipeline_shape(snapshot) if snapshot.format == "diffusers" else None
    return ModelProfile(
        **snapshot.facts,
        revision=snapshot.revision,
        source=snapshot.source,
        retrieved_at=snapshot.retrieved_at,
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
        weights_basis=_basis(snapshot),
        caveats=caveats(snapshot, groups, architecture, quantization, pipeline),
        variants=tuple(v for v in snapshot.variants if v.kind == "quantization"),
        variant=_variant_name(snapshot),
        pipeline=pipeline,
        picture_rule=picture_rule(config),
        attended_picture_bytes=attended_picture_bytes(config),
        model_classes=_texts(part.get("architectures") for part in parts),
        model_types=_texts([part.get("model_type")] for part in parts),
    )


def _texts(lists: Iterable[JsonValue]) -> tuple[str, ...]:
    # The first of each list.
    firsts = (value for values in lists for value in list_in(values)[:1])
    return tuple(value for value in firsts if isinstance(value, str))


def _variant_name(snapshot: RepoSnapshot) -> str | None:
    read = variant_read(snapshot)
    return read.name if read is not None and read.kind == "quantization" else None


def _architecture(
    snapshot: RepoSnapshot, config: Config | None, groups: tuple[WeightGroup, ...]
) -> Architecture | None:
    # a pipeline has no cache of text
    if snapshot.format == "diffusers":
        return None
    if snapshot.format == "gguf":
        return resolve_gguf(config, groups)
    return resolve_architecture(config, groups, snapshot.pipeline_tag)


def _classified(
    snapshot: RepoSnapshot, config: Config | None, by_config: Architecture | None
) -> tuple[tuple[WeightGroup, ...], StoredQuantization | None]:
    # In GGUF files, tensor types state the quantization, and shapes are never packed.
    main, is_gguf = snapshot.components[0], snapshot.format == "gguf"
    packing = None
    if not is_gguf:
        packing = detect_quantization(config, snapshot.extra_configs)
        packing = packing or quantization_of_tensors(main.tensors)
    groups: list[WeightGroup] = []
    for component in snapshot.components:
        if component.totals is not None:
            of_main = by_config if component is main else None
            groups += estimated_groups(component.name, component.totals, of_main)
        component_groups = weight_groups(component.name, component.tensors, packing)
        adapter = component.name == ADAPTER_COMPONENT
        groups += (
            [replace(g, part=Part.ADAPTER) for g in component_groups]
            if adapter
            else component_groups
        )
    classified = tuple(groups)
    return classified, ggml_quantization(_native_dtype(classified)) if is_gguf else packing


def _basis(snapshot: RepoSnapshot) -> str:
    bases = {component.totals.basis for component in snapshot.components if component.totals}
    return next((basis for basis in ("files", "index", "api") if basis in bases), HEADERS)


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
    # all parameters, with the chosen share of routed experts and without draft layers
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
    # Folders of a pipeline, or the parts (text, vision, …) of a single model. A GGUF model's
    # projector is a separate file, known by its size alone.
    several = len(snapshot.components) > 1 and snapshot.format != "adapter"
    sizes: dict[str, list[int]] = {}
    for group in groups:
        name = group.component if several else _PART_NAMES[group.part]
        entry = sizes.setdefault(name, [0, 0])
        entry[0] += group.parameters
        entry[1] += group.stored_bytes
    projector_file = projector(snapshot)
    if projector_file is not None and projector_file != variant_read(snapshot):
        sizes.setdefault(_PART_NAMES[Part.PROJECTOR], [0, 0])[1] += projector_file.size_bytes or 0
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
