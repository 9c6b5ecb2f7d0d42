"""The answers to the five questions, and the object that says why there is none."""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

# Before Python 3.12 pydantic reads no other TypedDict.
from typing_extensions import TypedDict

from gpusizer.core.messages import NoteValue
from gpusizer.hub.card_statements import EngineCommand, Kind, ListedQuantization, ModelCardStatement
from gpusizer.hub.listed_models import QuantizedRepo
from gpusizer.memory.workload import Workload
from gpusizer.quality.boards import Group, WorkPurpose
from gpusizer.training.ladder import Most
from gpusizer.training.plan import TrainingPlan
from gpusizer.usecases.contract.objects import (
    AssumptionsJson,
    BandJson,
    BoughtJson,
    ConclusionJson,
    FieldsOf,
    GpuJson,
    ModelJson,
    NoteJson,
    QualityJson,
    Written,
    of,
)
from gpusizer.usecases.contract.places import (
    CONDITIONS,
    AlternativeJson,
    DiskJson,
    EstimateJson,
    EvidentPlaceJson,
    MachineJson,
    RigJson,
    ServingPlanJson,
    SiblingJson,
    VerdictWord,
)

FiltersJson = Annotated[
    Written,
    FieldsOf(
        of(NotRequired[list[str]], "vendor", "segment", "software", "status"),
        of(NotRequired[bool], "rentable"),
        of(NotRequired[float], "max_usd", "max_usd_per_hour", "max_watts"),
    ),
]
_ASKED = {
    **of(str, "model", "revision", "rank_by"),
    **of(int | None, "gpu_count"),
    **of(float | None, "min_tok_s"),
    **of(int, "top"),
    **of(list[str], "gpu"),
}
WorkloadJson = Annotated[Written, FieldsOf(Workload)]
SizeWorkloadJson = Annotated[
    Written,
    FieldsOf(
        Workload,
        _ASKED,
        of(str, "max_loss"),
        of(list[str], "quant"),
        of(str | None, "rig"),
        of(FiltersJson, "filters"),
        of(AssumptionsJson, "costs"),
    ),
]


class DraftModelJson(ModelJson):
    method: str


QuantizedRepoJson = Annotated[
    Written, FieldsOf(QuantizedRepo, of(str, "format"), without=("form",))
]
StatementJson = Annotated[
    Written,
    FieldsOf(
        ModelCardStatement,
        EngineCommand,
        ListedQuantization,
        of(Kind, "kind"),
        of(str, "text"),
        of(int, "line"),
        of(float | None, "vram_gb"),
        of(int | None, "count", "tensor_parallel", "context"),
        of(str | None, "gpu", "engine", "kv_dtype", "quant", "verdict"),
        of(bool | None, "is_requirement"),
        of(NoteJson | None, "reason"),
        without=("quote", "command", "listed"),
        stated_only=None,
    ),
]
ModelCardJson = Annotated[Written, FieldsOf(of(str, "url"), of(list[StatementJson], "statements"))]


class SizeAnswer(TypedDict):
    answer: ConclusionJson
    schema_version: int
    model: ModelJson
    workload: SizeWorkloadJson
    estimates: list[EstimateJson]
    ranking: list[EvidentPlaceJson]
    alternatives: list[AlternativeJson]
    sibling: SiblingJson | None
    notes: list[NoteJson]
    draft_model: NotRequired[DraftModelJson]
    rig: NotRequired[RigJson]
    quantized_repos: NotRequired[list[QuantizedRepoJson]]
    serving_plan: NotRequired[ServingPlanJson]
    model_card: NotRequired[ModelCardJson | None]


BytesPerParameterJson = Annotated[
    Written,
    FieldsOf(
        of(float, "weights", "gradients", "optimizer", "masters", "total"),
        of(float | None, "frozen"),
    ),
]
TrainingMemoryJson = Annotated[
    Written,
    FieldsOf(
        of(int, "weights_bytes", "gradients_bytes", "optimizer_bytes", "activations_bytes"),
        of(int, "logits_bytes", "buffers_bytes", "reserve_bytes", "context_bytes"),
        of(int, "total_bytes", "low_bytes", "high_bytes", "reclaimable_bytes"),
        of(int, "allocated_bytes", "allocated_low_bytes", "allocated_high_bytes"),
        of(int, "reserved_bytes", "reserved_low_bytes", "reserved_high_bytes"),
        of(int, "loading_bytes", "loading_low_bytes", "loading_high_bytes"),
        of(int, "needed_bytes", "needed_low_bytes", "needed_high_bytes"),
    ),
]


class TrainingEstimateJson(TypedDict):
    method: str
    precision: str
    optimizer: str
    sharding: str
    gpus: int
    asked: bool
    base: str | None
    trainable_parameters: int
    bytes_per_parameter: BytesPerParameterJson
    total_bytes: int
    low_bytes: int
    high_bytes: int
    per_gpu: TrainingMemoryJson
    peak_phase: str
    host_bytes: int
    nvme_bytes: int
    provenance: dict[str, str]
    optimizer_source: str


class RungJson(NoteJson):
    saving_bytes: int
    total_bytes: int
    fits: bool | None
    saving_alone_bytes: int


TrainingScoreJson = Annotated[
    Written,
    FieldsOf(
        CONDITIONS,
        of(bool | None, "trains"),
        of(bool, "linked", "measured"),
        of(float | None, "usd", "most_usd"),
    ),
]
TrainingDegreesJson = Annotated[Written, FieldsOf(of(int, "data", "tensor", "pipeline", "context"))]
RolloutJson = Annotated[
    Written,
    FieldsOf(of(int, "engine_bytes", "weights_bytes", "generation_bytes", "update_bytes")),
]


class TrainingPriceJson(BoughtJson):
    usd: float | None
    energy_usd: float | None
    rent_usd_per_hour: float | None
    as_of: str | None


class TrainingPlaceJson(TypedDict):
    rank: int
    score: TrainingScoreJson
    reasons: list[NoteJson]
    count: int
    verdict: VerdictWord
    headroom_bytes: int
    method: str
    framework: str
    sharding: str
    hours: float | None
    energy_kwh: float | None
    gpu: str
    gpu_name: str
    parallelism: TrainingDegreesJson
    per_gpu: TrainingMemoryJson
    host_bytes: int
    nvme_bytes: int
    tokens_per_second: BandJson | None
    price: TrainingPriceJson
    power_watts: float | None
    why: str
    largest: NotRequired[Annotated[Written, FieldsOf(Most)]]
    rollout: NotRequired[RolloutJson]


class TrainingAlternativeJson(TrainingPlaceJson):
    kind: str
    is_first: bool


TrainWorkloadJson = Annotated[
    Written,
    FieldsOf(
        TrainingPlan,
        _ASKED,
        of(Literal["train"], "task"),
        of(int, "dataset_tokens"),
        of(float, "epochs", "usd_per_kwh"),
        without=("gpus",),
    ),
]


class TrainAnswer(TypedDict):
    answer: ConclusionJson
    schema_version: int
    model: ModelJson
    workload: TrainWorkloadJson
    estimates: list[TrainingEstimateJson]
    ladder: list[RungJson]
    ranking: list[TrainingPlaceJson]
    alternatives: list[TrainingAlternativeJson]
    cheapest: list[TrainingPlaceJson]
    notes: list[NoteJson]


class ComparedGpuJson(GpuJson):
    count: int | None
    fit: EvidentPlaceJson | None


class CompareAnswer(TypedDict):
    answer: ConclusionJson
    schema_version: int
    model: ModelJson | None
    workload: WorkloadJson | None
    sibling: SiblingJson | None
    gpus: list[ComparedGpuJson]


class GpusAnswer(TypedDict):
    schema_version: int
    count: int
    gpus: list[GpuJson]
    notes: list[NoteJson]


class RepositoryJson(TypedDict):
    """A repository that runs on what was asked about, and how much it is used."""

    repo_id: str
    pipeline_tag: str | None
    parameters: int
    active_parameters: int
    license: str | None
    gated: bool
    task: str
    verdict: VerdictWord
    how: str
    kind: str
    quant: str
    quant_name: str
    native: bool
    engine: str
    engine_name: str
    created: str | None
    downloads: int | None
    likes: int | None
    trending_score: float | None
    use_as_of: str | None
    use_source: str | None


FamilyJson = Annotated[
    Written,
    FieldsOf(
        of(str, "name"),
        of(int, "repositories"),
        of(str | None, "created"),
        of(int | None, "downloads", "likes", "trending_place"),
    ),
]


class BoardScoreJson(TypedDict):
    """What a model reaches on a board, and the share of the board's other open models below."""

    board: str
    score: float
    low: float | None
    high: float | None
    setting: str
    share: float | None


class ScoresJson(TypedDict):
    """What the boards of a purpose say of a model."""

    group: Group
    runs_well: bool
    leading: BoardScoreJson | None
    second: BoardScoreJson | None
    maker: BoardScoreJson | None
    boards_disagree: bool | None
    at_full_precision: bool


class ListedFamilyJson(RepositoryJson):
    rank: int
    context: int
    headroom_bytes: int | None
    max_context: int | None
    max_concurrency: float | None
    decode_tokens_per_second: BandJson | None
    prefill_tokens_per_second: BandJson | None
    quality: QualityJson
    choice: list[NoteJson]
    scores: ScoresJson | None
    read_tokens_per_second: NotRequired[BandJson]
    audio_seconds_per_second: NotRequired[BandJson]
    picture_seconds: NotRequired[BandJson]
    per_gpu_bytes: int
    family: FamilyJson
    copies: list[RepositoryJson]
    ram_bytes: NotRequired[int]
    disk: NotRequired[DiskJson | None]
    flags: NotRequired[list[str]]


UseJson = Annotated[Written, FieldsOf(of(bool, "live"), of(str | None, "as_of", "source"))]


class TrendingJson(TypedDict):
    repo_id: str
    pipeline_tag: str | None
    parameters: int | None
    license: str | None
    gated: bool
    created: str | None
    downloads: int | None
    likes: int | None
    trending_score: float | None
    task: str | None


UnreadJson = Annotated[
    Written, FieldsOf(of(str, "repo_id", "code"), of(dict[str, NoteValue], "fields"))
]
ModelsWorkloadJson = Annotated[
    Written,
    FieldsOf(
        Workload,
        of(str, "max_loss"),
        of(bool, "fold", "from_disk"),
        of(int, "top"),
        of(list[str], "quant"),
        of(str | None, "model_task"),
        of(list[str] | None, "license"),
        of(str | None, "purpose"),
    ),
]


class BoardJson(TypedDict):
    """A published table of scores, of one version."""

    board: str
    version: str
    unit: str
    higher_is_better: bool
    setting: str
    by_maker: bool
    source_url: str
    date: str
    terms: str
    models: int


class PickJson(TypedDict):
    repo_id: str
    reason: NoteJson


class PurposeJson(TypedDict):
    """The boards of a purpose, null where there is none, and up to three models to pick from."""

    name: WorkPurpose
    leading: BoardJson | None
    second: BoardJson | None
    makers: BoardJson | None
    picks: list[PickJson]


class ModelsAnswer(TypedDict):
    answer: ConclusionJson
    schema_version: int
    gpu: str | None
    gpu_name: str | None
    count: int | None
    rig: MachineJson | None
    workload: ModelsWorkloadJson
    order: str
    purpose: PurposeJson | None
    use: UseJson
    considered: int
    found: int
    families: int
    by_task: dict[str, dict[str, int | str]]
    models: list[ListedFamilyJson]
    trending: list[TrendingJson]
    unread: list[UnreadJson]
    notes: list[NoteJson]


class ErrorJson(TypedDict):
    code: str
    message: str


class ErrorAnswer(TypedDict):
    schema_version: int
    error: ErrorJson


ANSWERS = {
    "size": SizeAnswer,
    "train": TrainAnswer,
    "compare": CompareAnswer,
    "models-for": ModelsAnswer,
    "gpus": GpusAnswer,
}
"""By the question's name."""
AnyForm = SizeAnswer | TrainAnswer | CompareAnswer | ModelsAnswer | GpusAnswer | ErrorAnswer
