"""A place in a ranking in answers: the model's run on boards of a GPU, and its costs."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from gpusizer.advice.parallelism_plans import PlanKind
from gpusizer.advice.ranking import Ranked
from gpusizer.api.base import (
    AnswerContext,
    AnswerModel,
    Beside,
    Clauses,
    DerivedModel,
    NoteInfo,
    Notes,
    Number,
    OrNull,
    Rounded,
    Stated,
    VerdictWord,
    at,
    derived,
    left_out,
    said,
)
from gpusizer.api.estimate import QuantizingInfo
from gpusizer.api.prices import LoadingInfo, PlacePriceInfo
from gpusizer.api.quality import QualityOf
from gpusizer.core.messages import NoteValue
from gpusizer.fit.platforms import BoardLink, setup_of
from gpusizer.launch.benchmark import benchmark_of
from gpusizer.serving.served import LatencySummary, Limit
from gpusizer.speed import Rate
from gpusizer.usecases.published_runs import MEMORY, SETTINGS, SPEEDS, PublishedRun, runs_on
from gpusizer.usecases.quantization_job import quantization_job


class ConditionsInfo(AnswerModel):
    """Conditions of a recommendation, to serve and to train."""

    room: bool = Field(description="surely fits, with a tenth of each device to spare")
    evident: bool = Field(description="measurements stand behind the speed")
    fast_enough: bool | None
    supported: Annotated[bool, derived(lambda ended, _: ended is None)] = at("ended_support")
    on_offer: Annotated[bool, derived(lambda why, _: not why)] = at("not_on_offer")
    one_computer: Annotated[bool, derived(lambda why, _: not why)] = at("computer")


class ScoreInfo(ConditionsInfo):
    """Conditions and figures behind a recommendation (docs/recommendation.md)."""

    min_tok_s: float = at("enough", "tokens/s that each user should see")
    usd_per_hour: Rounded
    rented: bool = Field(description="`usd_per_hour` is a rent")
    usd_per_thousand_pictures: Stated[float]


class BasisInfo(AnswerModel):
    """Measured runs behind the constants of a speed."""

    provenance: Annotated[str, derived(lambda runs, _: "fitted" if runs else "assumed")] = at(
        "runs", "fitted on runs, or assumed from other hardware"
    )
    measured_runs: int = at("runs")
    sources: int
    cards: int
    measured_on: OrNull = Field(description="card, its generation or its kin")


class SpeedBasisInfo(AnswerModel):
    """Assumptions of all speeds, and the evidence for this kind of engine on this class of card."""

    users: int
    serving_users: int | None
    decode: BasisInfo = at("decode_basis")
    prefill: BasisInfo = at("prefill_basis")
    prompt_tokens: int = at("prompt")
    answer_tokens: int = at("answer")


class ServedInfo(AnswerModel):
    """Speeds of several users together, by the model of a server.

    Output is users x answer / (first token + (answer - 1) x each token).
    """

    users: float
    admitted_users: int = Field(description="at once")
    output_tokens_per_second: LatencySummary
    total_tokens_per_second: LatencySummary = Field(description="prompts too")
    ttft_seconds: LatencySummary | None
    tpot_seconds: LatencySummary
    e2e_seconds: LatencySummary | None
    limited_by: Limit = Field(description="queue: users wait for admission")


class SpeculationInfo(AnswerModel):
    """Speeds with the tokens that a draft model guesses."""

    draft_tokens: int = at("guessed", "of a round")
    acceptance_rate: float | None = at("acceptance", "that the request assumes")
    tokens_per_round: float | None
    decode_tokens_per_second: Rate | None = at("decode")
    decode_tokens_per_second_per_user: Rate | None = at("per_user")
    decode_tokens_per_second_total: Rate | None = at("total")
    speedup: float | None
    break_even_acceptance_rate: float | None = at("break_even", "from which one user gains")
    break_even_acceptance_rate_of_users: float | None = at("break_even_shared")
    provenance: str


def _no_link(link: BoardLink, _: AnswerContext) -> BoardLink | None:
    return None if link.kind == "none" else link


Link = Annotated[BoardLink | None, derived(_no_link)]


class DegreesInfo(AnswerModel):
    """Degrees of parallelism."""

    tensor: int
    pipeline: int
    data: int
    expert: int


class ParallelismInfo(DegreesInfo, DerivedModel):
    """Degrees of parallelism, and the machines that they take."""

    nodes: int = Field(description="above 1 they talk over a network")
    platform: str | None = Field(description="null where any machine with the slots does")
    interconnect: Link = Field(description="between the GPUs, null for one")

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        setup, split = setup_of(record.gpu, record.count), record.estimate.split
        return {
            "tensor": split.tensor,
            "pipeline": split.pipeline,
            "data": split.data,
            "expert": split.expert,
            "nodes": setup.nodes,
            "platform": setup.platform,
            "interconnect": setup.link,
        }


class PublishedRunInfo(DerivedModel):
    """A published run of exactly this; what its source does not state is null."""

    decode_tokens_per_second: float | None
    prefill_tokens_per_second: float | None
    serving_tokens_per_second: float | None
    weights_bytes: Number | None
    total_used_bytes: Number | None
    engine_version: str | None
    backend: str | None
    context: int | None
    prompt_tokens: int | None
    generated_tokens: int | None
    concurrency: int | None
    scenario: str | None
    gpu_as_written: str
    source_url: str
    source: str
    date: str | None
    used_in_fit: bool | None = Field(description="constants of the estimate may rest on it")

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        run: PublishedRun = record
        return {
            **dict.fromkeys((*SPEEDS, *MEMORY, *SETTINGS)),
            **run.measured,
            **run.settings,
            "gpu_as_written": run.gpu,
            "source_url": run.source_url,
            "source": run.source,
            "date": run.date or None,
            "used_in_fit": run.used_in_fit,
        }


class LargestInfo(AnswerModel):
    """Largest values that surely fit if one setting changes and the others stay as requested."""

    users: int
    context: int
    context_at_users: int | None = Field(description="tokens of each of `users`")
    users_at_context: int | None
    quant: str | None = at("quant.slug", "the most faithful one", or_at="quant")
    engine: str | None = at("engine.slug", or_at="engine")


class SuggestionInfo(NoteInfo, DerivedModel):
    """A change that makes it fit, or helps (`enough` is false) if no single one does."""

    change: dict[str, NoteValue | bool] = Field(description="request fields that make it")
    saving_bytes: int
    verdict: VerdictWord = Field(description="after the change")
    headroom_bytes: int
    enough: bool

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return Beside(record, **said(record.note, context))


class RunPlanInfo(AnswerModel):
    """A way to run a model on boards of one GPU; null if there is no such way."""

    kind: PlanKind
    nodes: int
    platform: str | None
    verdict: VerdictWord
    ram_bytes: int = Field(description="system memory that weights and cache stay in")
    notes: Notes
    headroom_bytes: int | None = at("fit.headroom_bytes", or_at="fit")
    max_context: int | None = at("longest_context")
    quant: str | None = at("fit.estimate.quant.slug", or_at="fit")
    engine: str | None = at("fit.estimate.engine.slug", or_at="fit")
    gpu: str = at("gpu.slug")
    count: int = at("boards")
    parallelism: DegreesInfo = at("split")
    interconnect: Link = at("link")
    per_gpu_bytes: int | None = at("fit.estimate.per_gpu.total.likely", or_at="fit")
    decode_tokens_per_second: Rate | None = at("decode")


class ExpectationInfo(AnswerModel):
    """A number that a command prints, and the band in which it should lie."""

    low: float = at("rate.low")
    likely: float = at("rate.likely")
    high: float = at("rate.high")
    run: int = Field(description="the command that prints it, from 1")
    printed: str = Field(description="words that stand beside it in the output")
    unit: str


class BenchmarkInfo(AnswerModel):
    """The command that measures a place, and the numbers to expect."""

    engine: str
    expected: list[ExpectationInfo]
    when_less: Notes = Field(description="what to look at when it prints less")
    notes: Notes
    command: str = at("text")


class RankedGpu(DerivedModel):
    """A place in a ranking."""

    rank: int = Field(description="from 1; 0 for an alternative that is not among the places")
    gpu: str = at("fit.gpu.slug")
    gpu_name: str = at("fit.gpu.name")
    count: int = at("fit.count", "boards")
    quant: str = at("fit.estimate.quant.slug")
    engine: str = at("fit.estimate.engine.slug")
    quality: QualityOf = at("fit.estimate")
    verdict: VerdictWord = at(
        "fit.verdict",
        "from_disk: llama.cpp reads what neither GPU nor system memory holds again for every token;"
        " not_supported: no engine runs the model there, and `reasons` say why",
    )
    headroom_bytes: int | None = at("fit.headroom_bytes", "on the fullest GPU, likely")
    per_gpu_bytes: int = at("fit.config.fullest_gpu_bytes", "on the fullest GPU")
    usable_bytes: int = at("fit.gpu.device_free_bytes", "of each GPU")
    max_context: int | None = at("longest_context", "tokens of one user that surely fit")
    max_concurrency: Number | None = at(
        "most_users", "users at once of the context asked for who surely fit"
    )
    decode_tokens_per_second: Rate | None = at("speeds.decode", "of one user", or_at="decode")
    decode_tokens_per_second_per_user: Rate | None = at("speeds.per_user", or_at="speeds")
    decode_tokens_per_second_total: Rate | None = at("speeds.total", or_at="speeds")
    prefill_tokens_per_second: Rate | None = at("speeds.prefill", "of one prompt", or_at="prefill")
    time_to_first_token_seconds: Rate | None = at("speeds.first_token", or_at="speeds")
    serving_tokens_per_second: Rate | None = at("speeds.serving", or_at="speeds")
    speed_basis: SpeedBasisInfo | None = at("speeds")
    read_tokens_per_second: Stated[Rate] = at("read", "of embedding and reranking models")
    audio_seconds_per_second: Stated[Rate] = at("heard", "of recognisers")
    picture_seconds: Stated[Rate] = at("drawn", "of a picture or clip")
    served: Stated[ServedInfo] = Field(description="for several users")
    speculation: Stated[SpeculationInfo]
    parallelism: ParallelismInfo = at("fit")
    price: PlacePriceInfo
    power_watts: float | None
    loading: LoadingInfo | None = at("load_times")
    score: ScoreInfo
    why: Clauses
    reasons: Notes
    largest: Stated[LargestInfo] = Field(description="of GPUs that were named, like `plans`")
    advice: Stated[list[SuggestionInfo]]
    plans: Stated[list[RunPlanInfo]]

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return place_source(record)


def place_source(place: Ranked, **more: object) -> Beside:
    """Return the source of a place in a ranking."""
    price: object = place.costs
    if place.drawn is not None:
        price = Beside(price, of_pictures=place.costs.usd_per_thousand_pictures)
    named = {} if place.largest is not None else {"advice": None, "plans": None}
    return Beside(place, price=price, **named, **more)


class MeasuredGpu(RankedGpu):
    """A place in a ranking, with measurements to check it by."""

    measured: list[PublishedRunInfo] = Field(description="published runs of exactly this")
    benchmark: BenchmarkInfo | None = left_out(
        "of GPUs that were named the command that measures them"
    )
    quantizing: QuantizingInfo | None = left_out(
        "of GPUs that were named what making this quantization takes"
    )

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        place: Ranked = record
        profile, workload = context.profile, context.workload
        assert profile is not None and workload is not None
        more: dict[str, object] = {"measured": runs_on(profile, place.fit)}
        if place.largest is not None:
            more["benchmark"] = benchmark_of(profile, place, workload)
            more["quantizing"] = quantization_job(profile, place.fit.estimate, place.fit.gpu)
        return place_source(place, **more)


class AlternativeGpu(RankedGpu):
    """A place that is the best of a kind."""

    kind: str = Field(
        description="cheapest, fastest or rent; at_once: boards that serve all users at once,"
        " where the place serves them in turns"
    )
    is_first: bool = Field(description="the first place is the best of this kind, too")
    break_even_months_of_first: float | None = Field(
        description="after which buying the first place has cost less than renting this one"
    )

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        return place_source(
            record.item,
            kind=record.kind,
            is_first=record.is_first,
            why=record.why,
            break_even_months_of_first=record.break_even_months,
        )
