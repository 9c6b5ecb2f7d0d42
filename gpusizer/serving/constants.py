"""Constants of servers, as `python -m bench.serving --write` fits them on published runs."""

# A constant is a product of factors: one for all servers, and one for each of the classes of a
# server (its engine, the generation of the engine's release, its card, its arithmetic, its link) if
# runs need one.

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from gpusizer.core.paths import GENERATED_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.serving.facts import ServerFacts
from gpusizer.speed.classes import ROOT
from gpusizer.speed.rate import RateBand
from gpusizer.speed.tables import GENERATIONS

CONSTANT_TABLE = GENERATED_DIR / "serving_constants.csv"

Key = tuple[str, str]  # A constant, and the class of one of its factors.
_Classes = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Constants:
    """Differences between data sheets and measured servers."""

    # share of the bandwidth at which weights are read
    reading: float
    # share of `reading` at which routed experts are read
    experts: float
    # share of the bandwidth at which caches are read
    cache: float
    # share of the peak that products of many tokens reach
    products: float
    # share of the 16-bit peak that attention over prompts reaches
    attention: float
    # share of the link's rate that all-reduces reach
    traffic: float
    # seconds, latency of one all-reduce
    reduce_seconds: float
    # seconds of the host and of launches, per step and per layer of a step
    step_seconds: float
    layer_seconds: float
    # seconds of the scheduler, for each sequence of a step
    sequence_seconds: float
    # seconds of the server's front, which sends each token during the next step
    stream_seconds: float
    # seconds before a prompt is scheduled and after its first token; a user's next prompt follows
    # the end of an answer after the same time
    request_seconds: float
    # seconds of launching the kernels of a layer one by one
    launch_seconds: float


NAMES = tuple(Constants.__dataclass_fields__)
SHARES = frozenset({"reading", "experts", "cache", "products", "attention", "traffic"})

# Classes of engines' releases, by the generation of their hosts.
GENERATION_CLASSES = {name: f"{name} generation" for name in GENERATIONS}


def classes_of(facts: ServerFacts) -> dict[str, tuple[str, ...]]:
    """Return the classes of the factors of each constant of this server, the widest first."""
    kind = "experts" if facts.is_moe else "dense"
    memory = tuple(reversed(facts.memory_classes[:-1]))
    compute = tuple(reversed(facts.compute_classes[:-1]))
    engine = facts.engine if facts.scheduler.order == "mixed" else f"{facts.engine} prompts first"
    generation = GENERATION_CLASSES.get(facts.generation, "")
    classes: dict[str, tuple[str, ...]] = {
        "reading": (*memory, facts.arithmetic),
        "experts": (facts.arithmetic,),
        "cache": memory,
        "products": (*compute, facts.arithmetic, kind, engine),
        "attention": (compute[0] if compute else "",),
        "traffic": (facts.link,),
        "reduce_seconds": (facts.link, engine, generation),
        "step_seconds": (engine, generation),
        "layer_seconds": (engine, generation, kind, "eager" if facts.eager else "graphs"),
        "sequence_seconds": (engine, generation),
        "stream_seconds": (engine, generation),
        "request_seconds": (engine, generation),
        "launch_seconds": (engine, generation, kind),
    }
    return {name: (ROOT, *filter(None, of_name)) for name, of_name in classes.items()}


def constants_of(facts: ServerFacts, factors: Mapping[Key, float] | None = None) -> Constants:
    """Return the constants of a server; shares are at most one."""
    classes = tuple(classes_of(facts).items())
    return _in_use(classes) if factors is None else _product(classes, factors)


@lru_cache(maxsize=1024)
def _in_use(classes: _Classes) -> Constants:
    # cached: a ranking has hundreds of servers alike
    return _product(classes, factor_table())


def _product(classes: _Classes, factors: Mapping[Key, float]) -> Constants:
    return Constants(**{name: _value(name, each, factors) for name, each in classes})


def _value(name: str, classes: Iterable[str], table: Mapping[Key, float]) -> float:
    value = math.prod(table.get((name, each), 1.0) for each in classes)
    return min(1.0, value) if name in SHARES else value


@cache
def factor_table() -> dict[Key, float]:
    """Return the factors by constant and class."""
    return dict(read_table(CONSTANT_TABLE, _factor))


def _factor(row: TableRow) -> tuple[Key, float]:
    return (row.one_of("constant", NAMES), row.text("class")), row.number("factor")


BAND_TABLE = GENERATED_DIR / "serving_bands.csv"
RATE, EACH, FIRST = "served_rate", "served_each", "served_first"
EVERY = "every"
_FEW = 4


def regime_of(users: float | None, requests_per_second: float | None, admitted: int) -> str:
    """Return "random" for random arrivals, else "few", "many" or a "queue" of users."""
    if requests_per_second is not None or users is None:
        return "random"
    if users > admitted:
        return "queue"
    return "few" if users <= _FEW else "many"


def serving_band(quantity: str, regime: str) -> RateBand:
    """Return measured over predicted values, of that load or of every one."""
    table = _bands()
    return table.get((quantity, regime)) or table[quantity, EVERY]


@cache
def _bands() -> dict[tuple[str, str], RateBand]:
    return dict(read_table(BAND_TABLE, _band_row))


def _band_row(row: TableRow) -> tuple[tuple[str, str], RateBand]:
    key = row.one_of("quantity", (RATE, EACH, FIRST)), row.text("regime")
    return key, RateBand(row.number("low"), row.number("high"))
