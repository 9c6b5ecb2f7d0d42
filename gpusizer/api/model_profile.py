"""A model in answers: facts from the Hub, its weights and its architecture."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from gpusizer.api.base import (
    AnswerContext,
    AnswerModel,
    Beside,
    DerivedModel,
    Notes,
    Stated,
    at,
    derived,
)
from gpusizer.api.published_result import PublishedResultInfo
from gpusizer.model.architecture import Confidence
from gpusizer.model.architecture.layer_kinds import LayerWord
from gpusizer.model.architecture.rotary import Rotary
from gpusizer.model.profile import DraftMethod


class ComponentInfo(AnswerModel):
    """A part of a pipeline."""

    name: str
    parameters: int
    weight_bytes: int


class VariantInfo(AnswerModel):
    """One of several quantizations of a GGUF repository."""

    name: str
    slug: str = Field(description="how requests name it")
    size_bytes: int | None = Field(description="of its files, headers included")
    files: Annotated[int, derived(lambda files, _: len(files))]


class StoredQuantizationInfo(AnswerModel):
    """Quantization of a checkpoint."""

    method: str
    bits: int | None
    group_size: int | None
    kv_dtype: Annotated[str | None, derived(lambda tool, _: "fp8" if tool else None)] = at(
        "fp8_cache", "type of the KV cache, where the checkpoint names one"
    )


class LayerInfo(DerivedModel):
    """Equal layers in sequence, by the parts of a sequence that each keeps."""

    attention: LayerWord
    count: int
    key_width: int
    value_width: int
    kv_heads: int
    window: Stated[int] = Field(description="tokens that a sliding layer attends to")
    state_elements: int
    conv_elements: int
    wide_state: bool
    rope_width: int
    head_keys: int
    head_values: int
    indexer_width: int
    compress_ratio: int

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        sizes = {name: 0 for name in cls.model_fields if name not in ("window", "attention")}
        alike = {**sizes, "kv_heads": 1, "wide_state": False}
        return {
            **alike,
            "attention": record.layer.name,
            "count": record.count,
            **record.layer.facts(),
        }


class ArchitectureInfo(AnswerModel):
    """The language model. A field is null if neither configuration nor tensors state it."""

    model_type: str
    layers: int
    hidden_size: int | None
    intermediate_size: int | None
    vocab_size: int | None
    attention_heads: int | None
    kv_heads: int | None
    head_dim: int | None
    max_context: int | None
    experts: int | None = Field(description="routed experts of a layer")
    experts_per_token: int | None
    tied_embeddings: bool
    generates: bool = Field(description="writes text token by token, which needs a KV cache")
    layer_plan: list[LayerInfo] = Field(
        description="caches in the order in which a token meets them, equal neighbours merged"
    )
    expert_width: int | None
    rotary: list[Rotary]
    recovered: list[str] = Field(description="read off the shapes of tensors")
    defaulted: list[str] = Field(description="taken from defaults of the model's class")
    claimed_layers: Stated[int] = Field(
        description="layers by the configuration, where the tensors hold fewer"
    )
    reads: Literal["text", "other"]
    unknown_parts: list[str] = Field(description="what memory depends on and is not known")
    confidence: Confidence = Field(
        description="known by the configuration, by_tensors in part, or with unknown_parts"
    )


class ModelInfo(AnswerModel):
    """A model at one commit."""

    repo_id: str
    revision: str
    sha: str | None
    source: Literal["hub", "cache", "snapshot", "local"]
    retrieved_at: str
    gated: bool
    format: Literal["safetensors", "diffusers", "adapter", "gguf", "pickle"]
    parameters: int = Field(
        description="logical and unique ones: packed weights count unpacked, a tied matrix that is"
        " stored twice once, buffers of masks, rotary angles and position IDs not at all"
    )
    active_parameters: int = Field(description="read for each generated token")
    stored_parameters_by_dtype: dict[str, int] = Field(description="elements as they are stored")
    weight_bytes: int = Field(description="of all tensors in the files")
    tensor_count: int
    file_count: int
    quantization: StoredQuantizationInfo | None = Field(description="null for a plain checkpoint")
    architecture: ArchitectureInfo | None
    max_context: int | None = Field(description="tokens")
    kv_cache_bytes_per_token: int | None = Field(
        description="of a 16-bit cache, of all layers that grow with the context"
    )
    license: str | None
    base_models: list[str]
    base_relation: str | None
    languages: list[str]
    weights_basis: str = Field(description="headers: every tensor was read")
    pipeline_tag: str | None
    library: str | None
    caveats: Notes = Field(description="what the reader must know")
    published_results: Annotated[
        Stated[list[PublishedResultInfo]], derived(lambda results, _: results or None)
    ] = Field(description="of benchmarks, where the repository has any")
    components: list[ComponentInfo] = Field(description="the parts of a pipeline")
    variants: list[VariantInfo]


class DraftModelInfo(ModelInfo, DerivedModel):
    """A second model that guesses tokens."""

    method: DraftMethod

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return Beside(record.profile, method=record.method)
