"""Calibrated constants, as `python -m bench.throughput --write` fits them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.fit.speed.classes import ROOT, Classes
from gpusizer.fit.speed.rate import RateBand

ANY_FORMAT = "any"
DENSE, MOE = "dense", "moe"
DECODE, PREFILL, SERVING = "decode", "prefill", "serving"
DECODE_TABLE = GENERATED_DIR / "speed_classes.csv"
PREFILL_TABLE = GENERATED_DIR / "prefill_classes.csv"
BAND_TABLE = GENERATED_DIR / "speed_bands.csv"
ENGINE_TABLE = DATA_DIR / "speed_engines.csv"

_UNKNOWN_BAND = RateBand(0.5, 1.6)

_T = TypeVar("_T")

Key = tuple[str, str, str]
"""Engine family, class of GPU, format of the weights."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Constants of decoding: seconds = bytes / (efficiency x bandwidth) + layers x per layer.

    Attributes:
        seconds_per_expert_layer: what a layer with routed experts takes more.
        runs, sources: measurements of the narrowest class that was found, and of how many
            publishers; 0 for none.
    """

    efficiency: float
    seconds_per_layer: float
    runs: int
    seconds_per_expert_layer: float = 0.0
    sources: int = 0


@dataclass(frozen=True, slots=True)
class Throughput:
    """Constants of reading prompts: the share of the GPU's 16-bit peak that is reached.

    `moe_share`: what of it is left for mixtures of experts; `runs` and `sources` as for decoding.
    """

    utilization: float
    moe_share: float
    runs: int
    sources: int = 0


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """How an engine batches: sequences at once, and seconds each adds to a step."""

    max_sequences: int
    seconds_per_sequence: float


@cache
def decode_table() -> dict[Key, Pace]:
    """Constants of decoding by family, class and format."""
    return dict(read_table(DECODE_TABLE, lambda row: (_key(row), _pace(row))))


def _pace(row: TableRow) -> Pace:
    efficiency, per_layer = row.number("bandwidth_efficiency"), row.number("seconds_per_layer")
    experts = row.number("seconds_per_expert_layer")
    return Pace(efficiency, per_layer, row.integer("runs"), experts, row.integer("sources"))


@cache
def prefill_table() -> dict[Key, Throughput]:
    """Constants of reading prompts by family, class and format."""
    return dict(read_table(PREFILL_TABLE, lambda row: (_key(row), _throughput(row))))


def _throughput(row: TableRow) -> Throughput:
    runs, sources = row.integer("runs"), row.integer("sources")
    return Throughput(row.number("mfu"), row.number("moe_share"), runs, sources)


@cache
def band_table() -> dict[tuple[str, str, str, str], RateBand]:
    """Bands by quantity, family, class and kind of model."""
    return dict(read_table(BAND_TABLE, _keyed_band))


def _keyed_band(row: TableRow) -> tuple[tuple[str, str, str, str], RateBand]:
    key = (
        row.text("quantity"),
        row.text("engine_family"),
        row.text("gpu_class"),
        row.one_of("kind", (DENSE, MOE)),
    )
    return key, RateBand(row.number("low"), row.number("high"))


@cache
def _engines() -> dict[str, EngineLimits]:
    return dict(read_table(ENGINE_TABLE, lambda row: (row.text("engine"), _limits(row))))


def _limits(row: TableRow) -> EngineLimits:
    return EngineLimits(row.integer("max_sequences"), row.number("seconds_per_sequence"))


def engine_limits(engine: str) -> EngineLimits:
    """How an engine batches. Raises KeyError for one without a row."""
    return _engines()[engine]


def _key(row: TableRow) -> Key:
    return row.text("engine_family"), row.text("gpu_class"), row.text("format")


def find(table: dict[Key, _T], family: str, classes: Classes, weight_format: str) -> _T:
    """The constants of the narrowest class that has any; there are some for `ROOT`."""
    for gpu_class in classes:
        for kind in (weight_format, ANY_FORMAT):
            constants = table.get((family, gpu_class, kind))
            if constants is not None:
                return constants
    return table[(family, ROOT, ANY_FORMAT)]


def band(quantity: str, family: str, classes: Classes, *, moe: bool) -> RateBand:
    """How far measurements lie from predictions, for the narrowest class with enough of them."""
    table = band_table()
    kinds = (MOE, DENSE) if moe else (DENSE,)
    for kind in kinds:
        for gpu_class in classes:
            band_of_class = table.get((quantity, family, gpu_class, kind))
            if band_of_class is not None:
                return band_of_class
    return _UNKNOWN_BAND


def has_own_band(quantity: str, family: str, classes: Classes) -> bool:
    """Whether a band was measured on one of the classes, other than the widest."""
    table = band_table()
    for name in classes:
        is_there = (quantity, family, name, DENSE) in table or (
            quantity,
            family,
            name,
            MOE,
        ) in table
        if is_there and name != ROOT:
            return True
    return False
