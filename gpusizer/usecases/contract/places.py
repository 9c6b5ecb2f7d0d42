"""How a model runs: its memory at a quantization, a place in a ranking, a machine, a server."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

# Before Python 3.12 pydantic reads no other TypedDict.
from typing_extensions import TypedDict

from gpusizer.core.messages import NoteValue
from gpusizer.fit.platforms import BoardLink
from gpusizer.serving.replicas import ServingTarget
from gpusizer.serving.served import Served
from gpusizer.serving.serving_rows import TokenPrices
from gpusizer.usecases.contract.objects import (
    BandJson,
    FieldsOf,
    LoadingJson,
    NoteJson,
    PlacePriceJson,
    QualityJson,
    Written,
    of,
)
from gpusizer.usecases.published_runs import MEMORY, SPEEDS

VerdictWord = Literal["fits", "tight", "offload", "from_disk", "does_not_fit", "not_supported"]
NOTES = of(list[NoteJson], "notes")


class AmountsJson(TypedDict):
    weights_bytes: int
    kv_cache_bytes: int
    activations_bytes: int
    overhead_bytes: int
    outside_budget_bytes: int
    total_bytes: int


_AMOUNTS = of(int, *AmountsJson.__annotations__)
DraftJson = Annotated[
    Written,
    FieldsOf(
        _AMOUNTS,
        of(str, "quant"),
        of(bool, "native"),
        of(int, "file_bytes", "gpus"),
        of(AmountsJson, "per_gpu"),
        of(dict[str, str], "provenance"),
    ),
]
CapacityJson = Annotated[
    Written,
    FieldsOf(
        of(int | None, "kv_cache_pool_bytes", "kv_cache_pool_tokens", "max_context"),
        of(float | None, "max_concurrency"),
    ),
]
QuantizingJson = Annotated[
    Written,
    FieldsOf(
        of(str, "method", "tool", "quant"),
        of(int | None, "samples", "sequence_length"),
        of(int | None, "gpu_bytes", "gpu_low_bytes", "gpu_high_bytes"),
        of(int | None, "ram_bytes", "ram_low_bytes", "ram_high_bytes"),
        of(int | None, "disk_bytes", "download_bytes", "intermediate_bytes", "file_bytes"),
        of(VerdictWord | None, "gpu_verdict"),
        of(str | None, "provenance", "command", "language"),
        NOTES,
    ),
]


class EstimateJson(AmountsJson):
    bits_per_weight: float
    needs_original_weights: bool
    file_bytes: int
    projector_bytes: int
    host_bytes: int
    native: bool
    kv_dtype: str
    quant: str
    quant_name: str
    engine: str
    engine_version: str
    kv_cache_bytes_per_token: int
    low_bytes: int
    high_bytes: int
    gpus: int
    per_gpu: AmountsJson
    provenance: dict[str, str]
    draft: NotRequired[DraftJson]
    capacity: NotRequired[CapacityJson]
    verdict: NotRequired[VerdictWord]
    headroom_bytes: NotRequired[int | None]
    quality: QualityJson
    quantizing: QuantizingJson | None


CONDITIONS = {
    **of(bool, "room", "evident", "supported", "on_offer", "one_computer"),
    **of(bool | None, "fast_enough"),
    **of(float, "min_tok_s"),
}
ScoreJson = Annotated[
    Written,
    FieldsOf(
        CONDITIONS,
        of(float | None, "usd_per_hour"),
        of(bool, "rented"),
        of(NotRequired[float], "usd_per_thousand_pictures"),
    ),
]
_Runs = Annotated[
    Written,
    FieldsOf(
        of(str, "provenance"),
        of(int, "measured_runs", "sources", "cards"),
        of(str | None, "measured_on"),
    ),
]
SpeedBasisJson = Annotated[
    Written,
    FieldsOf(
        of(int, "users", "prompt_tokens", "answer_tokens"),
        of(int | None, "serving_users"),
        of(_Runs, "decode", "prefill"),
    ),
]
_Degrees = of(int, "tensor", "pipeline", "data", "expert")
_Setup = {
    **of(int, "nodes"),
    **of(str | None, "platform"),
    **of(Annotated[Written, FieldsOf(BoardLink)] | None, "interconnect"),
}
PublishedRunJson = Annotated[
    Written,
    FieldsOf(
        of(float | None, *SPEEDS, *MEMORY),
        of(str | None, "engine_version", "backend", "scenario", "date"),
        of(int | None, "context", "prompt_tokens", "generated_tokens", "concurrency"),
        of(str, "gpu_as_written", "source_url", "source"),
        of(bool | None, "used_in_fit"),
    ),
]
LargestJson = Annotated[
    Written,
    FieldsOf(
        of(int, "users", "context"),
        of(int | None, "context_at_users", "users_at_context"),
        of(str | None, "quant", "engine"),
    ),
]


class SuggestionJson(NoteJson):
    change: dict[str, NoteValue | bool]
    saving_bytes: int
    verdict: VerdictWord
    headroom_bytes: int
    enough: bool


RunPlanJson = Annotated[
    Written,
    FieldsOf(
        _Setup,
        of(str, "kind", "gpu"),
        of(VerdictWord, "verdict"),
        of(int, "ram_bytes", "count"),
        of(int | None, "headroom_bytes", "max_context", "per_gpu_bytes"),
        of(str | None, "quant", "engine"),
        of(Annotated[Written, FieldsOf(_Degrees)], "parallelism"),
        of(BandJson | None, "decode_tokens_per_second"),
        NOTES,
    ),
]


class ExpectationJson(BandJson):
    run: int
    printed: str
    unit: str


BenchmarkJson = Annotated[
    Written,
    FieldsOf(
        of(str, "engine", "command"),
        of(list[ExpectationJson], "expected"),
        of(list[NoteJson], "when_less"),
        NOTES,
    ),
]
_DECODE = "decode_tokens_per_second"
_DECODES = (_DECODE, f"{_DECODE}_per_user", f"{_DECODE}_total")
_BREAK_EVEN = "break_even_acceptance_rate"
SpeculationJson = Annotated[
    Written,
    FieldsOf(
        of(int, "draft_tokens"),
        of(BandJson | None, *_DECODES),
        of(float | None, "acceptance_rate", "tokens_per_round", "speedup"),
        of(float | None, _BREAK_EVEN, f"{_BREAK_EVEN}_of_users"),
        of(str, "provenance"),
    ),
]


class PlaceJson(TypedDict):
    """An entry of a ranking."""

    rank: int
    power_watts: float | None
    score: ScoreJson
    reasons: list[NoteJson]
    headroom_bytes: int | None
    max_context: int | None
    quant: str
    engine: str
    gpu: str
    gpu_name: str
    count: int
    quality: QualityJson
    verdict: VerdictWord
    per_gpu_bytes: int
    usable_bytes: int
    max_concurrency: float | None
    decode_tokens_per_second: BandJson | None
    decode_tokens_per_second_per_user: BandJson | None
    decode_tokens_per_second_total: BandJson | None
    prefill_tokens_per_second: BandJson | None
    time_to_first_token_seconds: BandJson | None
    serving_tokens_per_second: BandJson | None
    speed_basis: SpeedBasisJson | None
    read_tokens_per_second: NotRequired[BandJson]
    audio_seconds_per_second: NotRequired[BandJson]
    picture_seconds: NotRequired[BandJson]
    served: NotRequired[Annotated[Written, FieldsOf(Served)]]
    speculation: NotRequired[SpeculationJson]
    parallelism: Annotated[Written, FieldsOf(_Degrees, _Setup)]
    price: PlacePriceJson
    loading: LoadingJson | None
    why: str
    largest: NotRequired[LargestJson]
    advice: NotRequired[list[SuggestionJson]]
    plans: NotRequired[list[RunPlanJson]]


class EvidentPlaceJson(PlaceJson):
    """A place with what it can be checked by; the commands only where the GPUs were named."""

    measured: list[PublishedRunJson]
    benchmark: NotRequired[BenchmarkJson | None]
    quantizing: NotRequired[QuantizingJson | None]


class AlternativeJson(PlaceJson):
    kind: str
    is_first: bool
    break_even_months_of_first: float | None


_RUNNING = {
    **of(VerdictWord, "verdict"),
    **of(str, "quant", "engine"),
    **of(QualityJson, "quality"),
    **of(BandJson | None, _DECODE),
}
SiblingJson = Annotated[
    Written,
    FieldsOf(
        _RUNNING,
        of(str, "repo_id", "gpu_name"),
        of(int, "parameters", "active_parameters", "count", "headroom_bytes"),
    ),
]
_MACHINE = {**of(list[str], "gpus"), **of(str, "backend"), **of(int | None, "ram_bytes")}
MachineJson = Annotated[Written, FieldsOf(_MACHINE)]
_HELD = {
    **of(NotRequired[int], "layers", "weights_bytes", "kv_cache_bytes", "activations_bytes"),
    **of(NotRequired[int], "overhead_bytes", "total_bytes", "low_bytes", "high_bytes"),
    **of(NotRequired[bool], "output"),
    **of(NotRequired[int | None], "headroom_bytes"),
    **of(NotRequired[VerdictWord | None], "verdict"),
}
"""What a device or the system memory of a machine holds."""
DeviceJson = Annotated[
    Written, FieldsOf(_HELD, of(str, "gpu"), of(int, "memory_bytes", "free_bytes"))
]
RamJson = Annotated[
    Written, FieldsOf(_HELD, of(int | None, "installed_bytes"), of(int, "reserved_bytes"))
]
DiskJson = Annotated[
    Written,
    FieldsOf(
        of(int, "resident_bytes", "missing_bytes", "bytes_per_token"),
        of(float, "bytes_per_second"),
        of(float | None, "most_tokens_per_second"),
        of(str, "provenance"),
    ),
]
RigJson = Annotated[
    Written,
    FieldsOf(
        _MACHINE,
        _RUNNING,
        of(bool, "native"),
        of(list[DeviceJson], "devices"),
        of(RamJson | None, "ram"),
        of(int | None, "gpu_layers", "of_layers", "max_context"),
        of(DiskJson | None, "disk"),
        of(list[float] | None, "tensor_split"),
        of(int, "n_cpu_moe"),
        of(list[str], "flags"),
        NOTES,
    ),
]
ReplicasJson = Annotated[
    Written,
    FieldsOf(
        of(int, "replicas", "machines_per_replica", "gpus_per_replica", "most_users_per_replica"),
        of(bool, "risky"),
        of(int, "tensor_parallel", "pipeline_parallel"),
        of(float | None, "buy_usd", "rent_usd_per_hour", "owned_usd_per_hour"),
        of(float | None, "usd_per_million_tokens", "usd_per_million_tokens_owned"),
        of(str, "gpu", "gpu_name", "quant", "engine", "provenance"),
        of(Annotated[Written, FieldsOf(of(int, "low", "likely"), of(int | None, "high"))], "gpus"),
        of(QualityJson, "quality"),
        of(VerdictWord, "verdict"),
        of(float, "users_per_replica", "tokens_per_second_per_user"),
        of(
            Annotated[
                Written,
                FieldsOf(of(float, "low", "likely"), of(float | None, "high", "at_percentile")),
            ],
            "time_to_first_token_seconds",
        ),
        of(bool | None, "buy_is_own", "rent_is_own"),
        of(Annotated[Written, FieldsOf(TokenPrices)] | None, "token_prices"),
    ),
]
DeployJson = Annotated[Written, FieldsOf(of(str | None, "command", "compose", "kubernetes"), NOTES)]
TargetJson = Annotated[
    Written, FieldsOf(ServingTarget, of(float | None, "ttft_ms"), without=("ttft_seconds",))
]
ServingPlanJson = Annotated[
    Written,
    FieldsOf(
        of(TargetJson, "target"),
        of(list[ReplicasJson], "rows"),
        of(DeployJson | None, "deploy"),
        NOTES,
    ),
]
