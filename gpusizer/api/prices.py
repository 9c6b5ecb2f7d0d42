"""Prices in answers: of one board, of all boards of a place, and the assumptions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from gpusizer.api.base import (
    AnswerModel,
    NoteInfo,
    OrEmpty,
    Rounded,
    all_said,
    at,
    derived,
)
from gpusizer.gpus.costs import CostAssumptions
from gpusizer.gpus.gpu import Condition, PriceBasis


class LoadingInfo(AnswerModel):
    """Minutes to read weights from a disk and over a network."""

    stored_bytes: int
    disk_minutes: float = Field(description="from the disk into memory, at each start")
    download_minutes: float = Field(description="from the Hub, once for each machine")
    provenance: str


class BoughtInfo(AnswerModel):
    """The price to buy of all boards of a place, and its evidence."""

    buy_usd: float | None = Field(description="median of `buy_providers`, for the boards together")
    buy_as_of: str | None
    buy_is_old: bool | None = Field(description="dated more than a year ago")
    buy_basis: PriceBasis | None = at("buy.basis", or_at="buy")
    buy_source: str | None = at("buy.source", or_at="buy")
    buy_condition: Condition | None = at("buy.condition", "null for a price of launch", or_at="buy")
    buy_low_usd: float | None
    buy_high_usd: float | None
    buy_providers: OrEmpty = at("buy.providers", or_at="buy")
    buy_addresses: OrEmpty = at("buy.addresses", "where the figures are published", or_at="buy")
    similar_usd: float | None = Field(
        description="an estimate by `similar_gpus` where no price is known; no order goes by it"
    )
    similar_low_usd: float | None
    similar_high_usd: float | None
    similar_gpus: OrEmpty = at("similar.providers", or_at="similar")


class PlacePriceInfo(BoughtInfo):
    """Prices of all boards together; null if no known source has one."""

    rent_low_usd_per_hour: Annotated[float | None, derived(lambda rented, _: rented("low_usd"))] = (
        at("rented")
    )
    rent_high_usd_per_hour: Annotated[
        float | None, derived(lambda rented, _: rented("high_usd"))
    ] = at("rented")
    rent_spot_usd_per_hour: Annotated[
        float | None, derived(lambda rented, _: rented("spot_usd"))
    ] = at("rented")
    rent_marketplace_usd_per_hour: Annotated[
        float | None, derived(lambda rented, _: rented("marketplace_usd"))
    ] = at("rented")
    rent_usd_per_hour: float | None = Field(description="median of `rent_providers`")
    usd_per_million_tokens: float | None = Field(description="generated on rented boards")
    usd_per_million_tokens_owned: float | None
    break_even_months: float | None = Field(
        description="after which buying has cost less than renting"
    )
    cheaper: Literal["own", "rent"] | None = Field(description="over the time of the write-off")
    running_watts: float | None
    power_supply_watts: int | None
    electricity_usd_per_month: float | None
    assumptions: CostAssumptions
    as_of: str | None = Field(description="date of the rent, else of the price to buy")
    rent_providers: OrEmpty = at("rent.providers", or_at="rent")
    rent_label_exact: bool | None = at("rent.exact", or_at="rent")
    rent_is_own: bool | None = at("rent.own", or_at="rent")
    rent_as_of: str | None = at("rent.as_of", or_at="rent")
    owned_usd_per_hour: Rounded
    tokens_per_second: Rounded
    usd_per_million_tokens_users: int | None = at("users", "that keep the boards busy meanwhile")
    usd_per_thousand_pictures: float | None = at(
        "of_pictures", "pictures or clips, where their time is known", default=None
    )
    caveats: Annotated[
        list[NoteInfo], derived(lambda notes, context: all_said(notes(), context))
    ] = at("notes")


class TrainingPriceInfo(BoughtInfo):
    """The price of a training's boards and of its run."""

    usd: float | None = Field(description="rent of the run")
    energy_usd: float | None
    rent_usd_per_hour: float | None
    as_of: str | None = at("rent.as_of", or_at="rent")
