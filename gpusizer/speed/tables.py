"""Calibrated constants, as `python -m bench.throughput --write` fits them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple, TypeVar

from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.speed.classes import ROOT, Classes
from gpusizer.speed.rate import RateBand

ANY_FORMAT = "any"
DENSE, MOE = "dense", "moe"
DECODE, PREFILL, SERVING = "decode", "prefill", "serving"
DECODE_TABLE = GENERATED_DIR / "speed_classes.csv"
PREFILL_TABLE = GENERATED_DIR / "prefill_classes.csv"
BAND_TABLE = GENERATED_DIR / "speed_bands.csv"
ENGINE_TABLE = DATA_DIR / "speed_engines.csv"

_UNKNOWN_BAND = RateBand(0.5, 1.6)

Key = tuple[str, str, str]  # Engine family, class of GPU, format of the weights.


@dataclass(frozen=True, slots=True)
class Pace:
    """Constants of decoding: seconds = bytes / (efficiency x bandwidth) + layers x per layer."""

    efficiency: float
    seconds_per_layer: float
    # `runs`, `sources`, `cards`: measurements of the narrowest class that was found, their
    # publishers and boards; 0 for none
    runs: int
    seconds_per_expert_layer: float = 0.0  # additional time of a layer with routed experts
    sources: int = 0
    cards: int = 0
    board: str = ""  # the board of all these measurements, "" for several or none


@dataclass(frozen=True, slots=True)
class Throughput:
    """Constants of reading prompts: the share of the GPU's 16-bit peak that is reached."""

    utilization: float
    moe_share: float  # the part of it that mixtures of experts reach
    runs: int
    sources: int = 0
    cards: int = 0
    board: str = ""


_T = TypeVar("_T", Pace, Throughput)


class Basis(NamedTuple):
    """Measurements behind a speed."""

    runs: int  # `runs`, `sources`, `cards`: measurements, their publishers and boards; 0 for none
    sources: int
    cards: int
    # "card", "generation" and "kin" for the narrowest class that has any: this board alone, several
    # of its generation or tier, others; "" for none
    measured_on: str

    @classmethod
    def from_constants(
        cls, found: tuple[str, Pace] | tuple[str, Throughput], classes: Classes
    ) -> Basis:
        """Return the basis of constants that were found among a card's classes."""
        name, constants = found
        if not constants.runs:
            return cls(0, 0, 0, "")
        own = "generation" if len(classes) > 2 and name == classes[0] else "kin"
        where = "card" if constants.board else own
        return cls(constants.runs, constants.sources, constants.cards, where)


class BoardBand(NamedTuple):
    """A band, and the one board of all its measurements, "" for several."""

    band: RateBand
    board: str = ""


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """Batching of an engine: sequences at once, and seconds each adds to a step."""

    max_sequences: int
    seconds_per_sequence: float


@cache
def decode_table() -> dict[Key, Pace]:
    """Return the constants of decoding by family, class and format."""
    return dict(read_table(DECODE_TABLE, lambda row: (_key(row), _pace(row))))


def _pace(row: TableRow) -> Pace:
    efficiency, per_layer = row.number("bandwidth_efficiency"), row.number("seconds_per_layer")
    experts = row.number("seconds_per_expert_layer")
    return Pace(efficiency, per_layer, row.integer("runs"), experts, *_stands_on(row))


def _stands_on(row: TableRow) -> tuple[int, int, str]:
    return row.integer("sources"), row.integer("cards"), row.optional("board", str) or ""


@cache
def prefill_table() -> dict[Key, Throughput]:
    """Return the constants of reading prompts by family, class and format."""
    return dict(read_table(PREFILL_TABLE, lambda row: (_key(row), _throughput(row))))


def _throughput(row: TableRow) -> Throughput:
    return Throughput(
        row.number("mfu"), row.number("moe_share"), row.integer("runs"), *_stands_on(row)
    )


@cache
def band_table() -> dict[tuple[str, str, str, str], BoardBand]:
    """Return the bands by quantity, family, class and kind of model."""
    return dict(read_table(BAND_TABLE, _keyed_band))


def _keyed_band(row: TableRow) -> tuple[tuple[str, str, str, str], BoardBand]:
    key = (
        row.text("quantity"),
        row.text("engine_family"),
        row.text("gpu_class"),
        row.one_of("kind", (DENSE, MOE)),
    )
    return key, BoardBand(
        RateBand(row.number("low"), row.number("high")), row.optional("board", str) or ""
    )


@cache
def _engines() -> dict[str, EngineLimits]:
    return dict(read_table(ENGINE_TABLE, lambda row: (row.text("engine"), _limits(row))))


def _limits(row: TableRow) -> EngineLimits:
    return EngineLimits(row.integer("max_sequences"), row.number("seconds_per_sequence"))


def engine_limits(engine: str) -> EngineLimits:
    """Return the batching limits of an engine. Raise KeyError for one without a row."""
    return _engines()[engine]


def _key(row: TableRow) -> Key:
    return row.text("engine_family"), row.text("gpu_class"), row.text("format")


def find(
    table: dict[Key, _T], family: str, classes: Classes, weight_format: str, board: str
) -> tuple[str, _T]:
    """Return the narrowest class with constants for a board, and these; `ROOT` has some."""
    # One board's constants apply to it alone: others of its class have those of their kin.
    for gpu_class in classes:
        for kind in (weight_format, ANY_FORMAT):
            constants = table.get((family, gpu_class, kind))
            if constants is not None and constants.board in ("", board):
                return gpu_class, constants
    return ROOT, table[(family, ROOT, ANY_FORMAT)]


def band(quantity: str, family: str, classes: Classes, board: str, *, moe: bool) -> RateBand:
    """Return the band of measured over predicted speed for the narrowest class with one."""
    # from measurements on several boards or on this one
    table = band_table()
    kinds = (MOE, DENSE) if moe else (DENSE,)
    for kind in kinds:
        for gpu_class in classes:
            found = table.get((quantity, family, gpu_class, kind))
            if found is not None and found.board in ("", board):
                return found.band
    return _UNKNOWN_BAND


def has_own_band(quantity: str, family: str, classes: Classes, board: str) -> bool:
    """Return whether a band was measured on one of the classes, other than the widest."""
    names, kinds, table = [name for name in classes if name != ROOT], (DENSE, MOE), band_table()
    found = (table.get((quantity, family, name, kind)) for name in names for kind in kinds)
    return any(each is not None and each.board in ("", board) for each in found)


HOST_TABLE = DATA_DIR / "speed_hosts.csv"
# Cache is read at this share of the speed of weights if no row states another. Chosen by
# leave-one-out error over 0.5 to 0.9 (`python -m bench.throughput`): long-context runs on Llama-3
# and Qwen3.
CACHE_EFFICIENCY = 0.8

_RELEASE = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")

Release = tuple[int, int, int]


GENERATIONS = ("first", "second", "third")


@dataclass(frozen=True, slots=True)
class Host:
    """Time of the host in a step of a serving engine's release."""

    # Before schedulers ran ahead of the GPU, a step waited for the host. The host of local engines
    # is part of their time per layer.
    # one of GENERATIONS: a Python scheduler between the steps, one in its own process, one that
    # works ahead of the GPU. "" without a row.
    generation: str
    seconds: float  # time of a step in which the GPU waits for the host
    cache_efficiency: float  # speed at which attention reads the cache, over that of weights


_NO_HOST = Host("", 0.0, CACHE_EFFICIENCY)


@lru_cache(maxsize=256)
def release_of(version: str | None) -> Release | None:
    """Return the release that a version names; None for the newest.

    >>> release_of("SGLang 0.4.6.post1"), release_of(None)
    ((0, 4, 6), None)
    """
    named = _RELEASE.search(version or "")
    return None if named is None else (int(named[1]), int(named[2]), int(named[3] or 0))


@lru_cache(maxsize=256)
def host_of(engine: str, version: str | None) -> Host:
    """Return the host of an engine's release; of the newest without a version."""
    releases = [(since, host) for name, since, host in _eras() if name == engine]
    if not releases:
        return _NO_HOST
    release = release_of(version)
    if release is None:
        return releases[-1][1]
    return next((host for since, host in reversed(releases) if since <= release), releases[0][1])


@cache
def _eras() -> tuple[tuple[str, Release, Host], ...]:
    # the oldest release of an engine first
    return read_table(HOST_TABLE, _era)


def _era(row: TableRow) -> tuple[str, Release, Host]:
    major, minor, patch = map(int, row.text("since").split("."))
    generation = row.one_of("generation", GENERATIONS)
    host = Host(generation, row.number("host_seconds"), row.number("cache_efficiency"))
    return row.text("engine"), (major, minor, patch), host
