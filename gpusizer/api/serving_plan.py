"""A serving plan in answers: replicas for a rate of requests, and commands that start them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from gpusizer.api.base import (
    AnswerContext,
    AnswerModel,
    Beside,
    DerivedModel,
    Notes,
    OrNull,
    Rounded,
    at,
    derived,
)
from gpusizer.api.quality import QualityOf
from gpusizer.launch.deployment import Deployment, cheapest_deployment
from gpusizer.serving.serving_rows import TokenPrices


class TargetInfo(AnswerModel):
    """Load of all replicas together, named as the request's fields."""

    requests_per_second: float
    prompt_tokens: int
    answer_tokens: int
    ttft_ms: Annotated[float | None, derived(lambda s, _: None if s is None else s * 1000)] = at(
        "ttft_seconds"
    )
    ttft_percentile: float
    shared_prefix_tokens: int
    peak_to_mean: float
    api_usd_per_million: float | None


class BoardsInfo(AnswerModel):
    """Boards of all replicas."""

    low: int = Field(description="enough at the fast end of the speeds' bands")
    likely: int = Field(description="that the plan takes; mostly enough at the slow end, too")
    high: int | None = Field(description="enough at the slow end; null where that is never in time")


class FirstTokenInfo(AnswerModel):
    """Seconds to the first token: the mean, and the value at the percentile."""

    low: float
    likely: float
    high: float | None
    at_percentile: float | None


class ReplicasInfo(DerivedModel):
    """Replicas on boards of one GPU that meet the target."""

    gpu: str = at("gpu.slug")
    gpu_name: str = at("gpu.name")
    gpus: BoardsInfo
    replicas: int
    gpus_per_replica: int = at("boards")
    machines_per_replica: int
    tensor_parallel: int = at("estimate.split.tensor")
    pipeline_parallel: int = at("estimate.split.pipeline")
    quant: str = at("estimate.quant.slug")
    engine: str = at("estimate.engine.slug")
    quality: QualityOf = at("estimate")
    verdict: Annotated[
        Literal["fits", "tight"], derived(lambda tight, _: "tight" if tight else "fits")
    ] = at("tight")
    risky: bool = Field(description="holds at the likely speeds, not at the slow end")
    users_per_replica: float = at("users", "on average")
    most_users_per_replica: int = at("most_users")
    time_to_first_token_seconds: FirstTokenInfo
    tokens_per_second_per_user: float = at("user_tokens_per_second")
    buy_usd: float | None = at("costs.buy_usd")
    buy_is_own: bool | None
    rent_usd_per_hour: float | None = at("costs.rent_usd_per_hour")
    rent_is_own: bool | None = at("costs.rent.own", or_at="costs.rent")
    owned_usd_per_hour: Rounded = at("costs.owned_usd_per_hour")
    usd_per_million_tokens: float | None = at("costs.usd_per_million_tokens")
    usd_per_million_tokens_owned: float | None = at("costs.usd_per_million_tokens_owned")
    token_prices: TokenPrices | None = at("tokens")
    provenance: str

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        likely, low, high = record.ttft_seconds
        high_replicas, boards, costs = record.high_replicas, record.boards, record.costs
        return Beside(
            record,
            gpus={
                "low": record.low_replicas * boards,
                "likely": record.total_boards,
                "high": None if high_replicas is None else high_replicas * boards,
            },
            time_to_first_token_seconds={
                "low": low,
                "likely": likely,
                "high": high,
                "at_percentile": record.ttft_late_seconds,
            },
            buy_is_own=None if costs.buy is None else costs.buy_is_own,
        )


class ApiPriceInfo(AnswerModel):
    """US dollars that a provider asks for a million tokens of exactly this model."""

    provider: str
    usd_per_million_input: float
    usd_per_million_output: float
    usd_per_million_cached_input: float | None = Field(
        description="of a beginning that was sent before, null if not stated"
    )
    date: str = Field(description="from which the price is known to hold")
    dated: bool = Field(description="false where `date` is the day on which it was read")
    source_url: str


class OwnServersInfo(AnswerModel):
    """Servers of one's own compared with an API."""

    usd_per_month: float = Field(description="of all replicas, day and night")
    wins_from_requests_per_second: float | None = Field(
        description="from which one server costs less than the median provider; null where a"
        " server filled as far as this load fills it still costs more"
    )


class ApiInfo(AnswerModel):
    """The load by API, and on the first row's servers, bought and rented. A month has 730 hours."""

    prices: list[ApiPriceInfo] = Field(description="of every provider known, the cheapest first")
    low_usd_per_month: float = Field(description="of the load, by the cheapest provider")
    median_usd_per_month: float
    high_usd_per_month: float
    owned: OwnServersInfo | None = Field(description="null where no price is known, as `rented`")
    rented: OwnServersInfo | None


class DeployInfo(DerivedModel):
    """Commands and files that start the replicas of the first row."""

    command: OrNull = Field(description="of one replica")
    compose: OrNull = Field(description="a Compose file of all")
    kubernetes: OrNull = Field(description="a manifest of all")
    notes: Notes

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        deployment: Deployment = record
        notes = (*deployment.replica.notes, *deployment.notes)
        return Beside(deployment, command=deployment.replica.text, notes=notes)


class ServingPlanInfo(DerivedModel):
    """GPUs, replicas and users of each for a rate of requests."""

    target: TargetInfo
    rows: list[ReplicasInfo] = Field(description="the cheapest hour first")
    deploy: DeployInfo | None
    api: ApiInfo | None = Field(description="null where no provider's price is known")
    notes: Notes

    @classmethod
    def _read_from(cls, record: Any, context: AnswerContext) -> object:
        assert context.profile is not None and context.workload is not None
        deployment = cheapest_deployment(record, context.profile, context.workload)
        return Beside(record, deploy=deployment)
