"""Constants of servers, as `python -m bench.serving --write` fits them on published runs.

A constant is a product of factors: one for all servers, and one for each of the classes that a
server belongs to (its engine, the generation of the engine's release, its card, its arithmetic, its
link) where runs ask for one.
"""

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

Key = tuple[str, str]
"""A constant, and the class that a factor of it is for."""
_Classes = tuple[tuple[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Constants:
    """What data sheets do not say.

    Attributes:
        reading: share of the bandwidth at which weights are read.
        experts: share of that at which routed experts are read.
        cache: share of the bandwidth at which caches are read.
        products: share of the peak that products of many tokens reach.
        attention: share of the 16-bit peak that attention over prompts reaches.
        traffic: share of the link's rate that all-reduces reach.
        reduce_seconds: latency of one all-reduce.
        step_seconds, layer_seconds: of the host and of launches, in each step, and in each layer
            of it.
        sequence_seconds: of the scheduler, for each sequence of a step.
        stream_seconds: of the server's front, which sends each token beside the next step.
        request_seconds: before a prompt is scheduled and after its first token; a user whose answer
            has ended is back with the next prompt after as long.
        launch_seconds: in which the host launches the kernels of a layer one by one.
    """

    reading: float
    experts: float
    cache: float
    products: float
    attention: float
    traffic: float
    reduce_seconds: float
    step_seconds: float
    layer_seconds: float
    sequence_seconds: float
    stream_seconds: float
    request_seconds: float
    launch_seconds: float


NAMES = tuple(Constants.__dataclass_fields__)
SHARES = frozenset({"reading", "experts", "cache", "products", "attention", "traffic"})
GENERATION_CLASSES = {name: f"{name} generation" for name in GENERATIONS}
"""Classes of engines' releases, by the generation of their hosts."""


def classes_of(facts: ServerFacts) -> dict[str, tuple[str, ...]]:
    """The classes whose factors make up each constant of this server, the widest first."""
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
    """The constants of a server; shares are at most one."""
    classes = tuple(classes_of(facts).items())
    return _in_use(classes) if factors is None else _product(classes, factors)


@lru_cache(maxsize=1024)
def _in_use(classes: _Classes) -> Constants:
    """The constants of servers alike, of which a ranking has hundreds."""
    return _product(classes, factor_table())


def _product(classes: _Classes, factors: Mapping[Key, float]) -> Constants:
    return Constants(**{name: _value(name, each, factors) for name, each in classes})


def _value(name: str, classes: Iterable[str], table: Mapping[Key, float]) -> float:
    value = math.prod(table.get((name, each), 1.0) for each in classes)
    return min(1.0, value) if name in SHARES else value


@cache
def factor_table() -> dict[Key, float]:
    """Factors by constant and class."""
    return dict(read_table(CONSTANT_TABLE, _factor))


def _factor(row: TableRow) -> tuple[Key, float]:
    return (row.one_of("constant", NAMES), row.text("class")), row.number("factor")


BAND_TABLE = GENERATED_DIR / "serving_bands.csv"
RATE, EACH, FIRST = "served_rate", "served_each", "served_first"
EVERY = "every"
_FEW = 4


def regime_of(users: float | None, requests_per_second: float | None, admitted: int) -> str:
    """What a load is like: "random" arrivals, "few" users, a "queue" of more than are admitted,
    or "many"."""
    if requests_per_second is not None or users is None:
        return "random"
    if users > admitted:
        return "queue"
    return "few" if users <= _FEW else "many"


def serving_band(quantity: str, regime: str) -> RateBand:
    """Measured over predicted, of that load or of every one."""
    table = _bands()
    return table.get((quantity, regime)) or table[quantity, EVERY]


@cache
def _bands() -> dict[tuple[str, str], RateBand]:
    return dict(read_table(BAND_TABLE, _band_row))


def _band_row(row: TableRow) -> tuple[tuple[str, str], RateBand]:
    key = row.one_of("quantity", (RATE, EACH, FIRST)), row.text("regime")
    return key, RateBand(row.number("low"), row.number("high"))
