"""Plan: how hard and how long the scenarios load the servers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Plan:
    """What the command was told.

    Attributes:
        visitors: who ask at the same time.
        seconds: of each measurement of speed.
        rounds: how often measurements of speed alternate.
        popular: models that the visitors of a warm server ask about, by Zipf's law.
        distinct: models that are asked about once each, and in the soak at least once.
        soak_calls: of the soak.
        redis_variable: setting of the application that takes the address of Redis.
        others: addresses of replicas that run already, instead of two that are started.
    """

    visitors: int = 200
    seconds: float = 10.0
    rounds: int = 1
    popular: int = 50
    distinct: int = 2_000
    soak_calls: int = 4_000
    redis_variable: str = "GPUSIZER_CACHE_URL"
    others: tuple[str, ...] = ()
