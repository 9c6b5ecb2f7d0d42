"""What stands in several answers: notes, models, prices, GPUs. docs/contract.md says what it means.

An object that a dataclass is written as, field by field, is described by that: `FieldsOf`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Literal, NotRequired, get_args, get_origin, get_type_hints

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

# Before Python 3.12 pydantic reads no other TypedDict.
from typing_extensions import TypedDict

from gpusizer.core.messages import NoteValue
from gpusizer.gpus.costs import CostAssumptions, LoadTimes, RentalQuote
from gpusizer.gpus.gpu import Price
from gpusizer.gpus.purpose import Criterion, Purpose
from gpusizer.model.architecture import Architecture, Confidence
from gpusizer.model.architecture.layer_kinds import LayerWord

Written = Mapping[str, object]
"""An object that Python reads only after it has narrowed it."""


class FieldsOf:
    """Says of an object that it has the fields of dataclasses, `without` some, and those named by
    type (`of`).

    `stated_only` are those that it has only where they say something; None is for all of
    dataclasses.
    """

    def __init__(
        self,
        *parts: type | Mapping[str, object],
        without: tuple[str, ...] = (),
        stated_only: tuple[str, ...] | None = (),
    ) -> None:
        self._kinds = [part for part in parts if isinstance(part, type)]
        self._others = {k: v for part in parts if isinstance(part, dict) for k, v in part.items()}
        self._without, self._stated_only = without, stated_only

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        hints: dict[str, object] = {}
        for kind in self._kinds:
            of_kind = get_type_hints(kind, include_extras=True)
            names = [field.name for field in fields(kind) if field.name not in self._without]
            hints |= {name: of_kind[name] for name in names}
        hints |= self._others
        some = hints.keys() - self._others if self._stated_only is None else self._stated_only
        form: dict[str, core_schema.TypedDictField] = {}
        for name, hint in hints.items():
            left_out = get_origin(hint) is NotRequired
            stated: object = get_args(hint)[0] if left_out else hint
            form[name] = core_schema.typed_dict_field(
                handler.generate_schema(stated), required=not left_out and name not in some
            )
        return core_schema.typed_dict_schema(form, extra_behavior="forbid")

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """For OpenAPI: programs have to expect that fields are added."""
        described = handler(schema)
        described.pop("additionalProperties", None)
        return described


def of(kind: object, *names: str) -> dict[str, object]:
    """Fields of one type."""
    return dict.fromkeys(names, kind)


class NoteJson(TypedDict):
    code: str
    message: str
    fields: NotRequired[dict[str, NoteValue]]


class ConclusionJson(TypedDict):
    sentence: str
    kind: Literal["need", "fit", "compare", "load", "models", "train"]
    weighed: list[NoteJson]
    facts: dict[str, NoteValue | None]


class BandJson(TypedDict):
    low: float
    likely: float
    high: float


class QualitySourceJson(TypedDict):
    name: str
    url: str | None
    date: str | None


class QualityJson(TypedDict):
    word: Literal["none", "very_small", "small", "noticeable", "large", "broken"]
    basis: Literal["native", "measured", "measured_model", "estimated", "class"]
    rows: int
    source: QualitySourceJson | None
    picture_distance: float | None
    caveats: list[NoteJson]
    label: str
    message: str
    perplexity_increase: BandJson | None
    tokens_changed: float | None


class ComponentJson(TypedDict):
    name: str
    parameters: int
    weight_bytes: int


class VariantJson(TypedDict):
    name: str
    slug: str
    size_bytes: int | None
    files: int


QuantizationJson = Annotated[
    Written,
    FieldsOf(of(str, "method"), of(float | None, "bits", "group_size"), of(str | None, "kv_dtype")),
]


class LayerJson(TypedDict):
    attention: LayerWord
    count: int
    key_width: int
    value_width: int
    kv_heads: int
    window: NotRequired[int]
    state_elements: int
    conv_elements: int
    wide_state: bool
    rope_width: int
    head_keys: int
    head_values: int
    indexer_width: int
    compress_ratio: int


ArchitectureJson = Annotated[
    Written,
    FieldsOf(
        Architecture,
        of(list[LayerJson], "layer_plan"),
        of(Confidence, "confidence"),
        stated_only=("claimed_layers",),
    ),
]


class ModelJson(TypedDict):
    repo_id: str
    revision: str
    sha: str | None
    source: Literal["hub", "cache", "snapshot", "local"]
    retrieved_at: str
    gated: bool
    format: Literal["safetensors", "diffusers", "adapter", "gguf", "pickle"]
    parameters: int
    active_parameters: int
    stored_parameters_by_dtype: dict[str, int]
    weight_bytes: int
    tensor_count: int
    file_count: int
    quantization: QuantizationJson | None
    architecture: ArchitectureJson | None
    max_context: int | None
    kv_cache_bytes_per_token: int | None
    license: str | None
    base_models: list[str]
    base_relation: str | None
    languages: list[str]
    weights_basis: str
    pipeline_tag: str | None
    library: str | None
    caveats: list[NoteJson]
    components: list[ComponentJson]
    variants: list[VariantJson]


class BoughtJson(TypedDict):
    """The price to buy of all boards of a place, with what it stands on."""

    buy_usd: float | None
    buy_as_of: str | None
    buy_is_old: bool | None
    buy_basis: str | None
    buy_source: str | None
    buy_condition: str | None
    buy_low_usd: float | None
    buy_high_usd: float | None
    buy_providers: list[str]
    buy_addresses: list[str]
    similar_usd: float | None
    similar_low_usd: float | None
    similar_high_usd: float | None
    similar_gpus: list[str]


AssumptionsJson = Annotated[Written, FieldsOf(CostAssumptions)]
LoadingJson = Annotated[Written, FieldsOf(LoadTimes, of(str, "provenance"))]


class PlacePriceJson(BoughtJson):
    rent_low_usd_per_hour: float | None
    rent_high_usd_per_hour: float | None
    rent_spot_usd_per_hour: float | None
    rent_marketplace_usd_per_hour: float | None
    rent_usd_per_hour: float | None
    usd_per_million_tokens: float | None
    usd_per_million_tokens_owned: float | None
    break_even_months: float | None
    cheaper: str | None
    running_watts: float | None
    power_supply_watts: int | None
    electricity_usd_per_month: float | None
    assumptions: AssumptionsJson
    as_of: str | None
    rent_providers: list[str]
    rent_label_exact: bool | None
    rent_is_own: bool | None
    rent_as_of: str | None
    owned_usd_per_hour: float | None
    tokens_per_second: float | None
    usd_per_million_tokens_users: int | None
    usd_per_thousand_pictures: NotRequired[float | None]
    caveats: list[NoteJson]


PriceJson = Annotated[Written, FieldsOf(Price)]
RentalJson = Annotated[Written, FieldsOf(RentalQuote)]
CriterionJson = Annotated[Written, FieldsOf(Criterion, of(bool | None, "met"))]
PurposeJson = Annotated[
    Written, FieldsOf(Purpose, of(list[CriterionJson], "criteria"), of(str, "message"))
]


class GpuJson(TypedDict):
    slug: str
    name: str
    aliases: list[str]
    vendor: str
    segment: str
    architecture: str
    release_year: int | None
    status: str
    form_factor: str
    software: str
    memory_type: str
    unified_memory: bool
    ecc: str
    devices_per_board: int
    nvlink: bool | None
    interconnect_domain: int | None
    multi_gpu_note: str
    bf16_support: bool
    fp8_support: bool
    fp4_support: bool
    int8_support: bool
    flash_attention_2: str
    power_watts: float | None
    confidence: str
    sources: str
    notes: str
    statements: list[NoteJson]
    memory_gb: float
    memory_usable_bytes: int
    memory_usable_basis: str
    memory_usable_note: str
    device_memory_usable_bytes: int
    device_memory_free_bytes: int | None
    street_price: PriceJson | None
    launch_price: PriceJson | None
    launch_price_note: str
    rent_price_per_hour: PriceJson | None
    similar_price: PriceJson | None
    memory_bandwidth_gb_per_s: float | None
    pcie_gb_per_s: float | None
    nvlink_gb_per_s: float | None
    interconnect_gb_per_s: float | None
    fp32_tflops: float | None
    fp16_tflops: float | None
    fp16_tensor_tflops_dense: float | None
    fp16_tensor_tflops_dense_fp16_accumulate: float | None
    bf16_tflops_dense: float | None
    tf32_tflops_dense: float | None
    int8_tops_dense: float | None
    fp8_tflops_dense: float | None
    fp4_tflops_dense: float | None
    compute_capability: str | None
    interconnect: str | None
    memory_torch_bytes: int
    memory_torch_basis: str
    memory_torch_note: str
    purpose: PurposeJson
    rental: RentalJson | None
