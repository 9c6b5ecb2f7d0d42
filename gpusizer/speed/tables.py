"""Calibrated constants, as `python -m bench.throughput --write` fits them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from gpusizer.paths import DATA_DIR
from gpusizer.speed.classes import ROOT, Classes
from gpusizer.speed.rate import Band

ANY_FORMAT = "any"
DENSE, MOE = "dense", "moe"
DECODE, PREFILL, SERVING = "decode", "prefill", "serving"
DECODE_TABLE = DATA_DIR / "speed_classes.csv"
PREFILL_TABLE = DATA_DIR / "prefill_classes.csv"
BAND_TABLE = DATA_DIR / "speed_bands.csv"
ENGINE_TABLE = DATA_DIR / "speed_engines.csv"

_UNKNOWN_BAND = Band(0.5, 1.6)

_T = TypeVar("_T")

Key = tuple[str, str, str]
"""Engine family, class of GPU, format of the weights."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Constants of decoding: seconds = bytes / (efficiency x bandwidth) + layers x per layer.

    `runs`: measurements of the narrowest class that was found; 0 for none.
    """

    efficiency: float
    seconds_per_layer: float
    runs: int


@dataclass(frozen=True, slots=True)
class Throughput:
    """Constants of reading prompts: the share of the GPU's 16-bit peak that is reached.

    `moe_share`: what of it is left for mixtures of experts.
    """

    utilization: float
    moe_share: float
    runs: int


@dataclass(frozen=True, slots=True)
class EngineLimits:
    """How an engine batches: sequences at once, and seconds each adds to a step."""

    max_sequences: int
    seconds_per_sequence: float


@cache
def decode_table() -> dict[Key, Pace]:
    """Constants of decoding by family, class and format."""
    return {
        _key(row): Pace(
            float(row["bandwidth_efficiency"]), float(row["seconds_per_layer"]), int(row["runs"])
        )
        for row in _rows(DECODE_TABLE)
    }


@cache
def prefill_table() -> dict[Key, Throughput]:
    """Constants of reading prompts by family, class and format."""
    return {
        _key(row): Throughput(float(row["mfu"]), float(row["moe_share"]), int(row["runs"]))
        for row in _rows(PREFILL_TABLE)
    }


@cache
def _bands() -> dict[tuple[str, str, str, str], Band]:
    return {
        (row["quantity"], row["engine_family"], row["gpu_class"], row["kind"]): Band(
            float(row["low"]), float(row["high"])
        )
        for row in _rows(BAND_TABLE)
    }


@cache
def _engines() -> dict[str, EngineLimits]:
    return {
        row["engine"]: EngineLimits(int(row["max_sequences"]), float(row["seconds_per_sequence"]))
        for row in _rows(ENGINE_TABLE)
    }


def engine_limits(engine: str) -> EngineLimits:
    """How an engine batches. Raises KeyError for one without a row."""
    return _engines()[engine]


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _key(row: dict[str, str]) -> Key:
    return row["engine_family"], row["gpu_class"], row["format"]


def find(table: dict[Key, _T], family: str, classes: Classes, weight_format: str) -> _T:
    """The constants of the narrowest class that has any; there are some for `ROOT`."""
    for gpu_class in classes:
        for kind in (weight_format, ANY_FORMAT):
            found = table.get((family, gpu_class, kind))
            if found is not None:
                return found
    return table[(family, ROOT, ANY_FORMAT)]


def band(quantity: str, family: str, classes: Classes, *, moe: bool) -> Band:
    """How far measurements lie from predictions, for the narrowest class with enough of them."""
    table = _bands()
    kinds = (MOE, DENSE) if moe else (DENSE,)
    for kind in kinds:
        for gpu_class in classes:
            found = table.get((quantity, family, gpu_class, kind))
            if found is not None:
                return found
    return _UNKNOWN_BAND
