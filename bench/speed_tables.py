"""Writes the constants and bands that `gpusizer.fit.speed` reads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from bench.errors import between_tails
from bench.speed_fit import Sample, chosen
from bench.speed_scores import Prediction, Scores
from gpusizer.fit.speed.classes import ROOT
from gpusizer.fit.speed.rate import RateBand
from gpusizer.fit.speed.tables import (
    ANY_FORMAT,
    BAND_TABLE,
    DECODE,
    DECODE_TABLE,
    MOE,
    PREFILL,
    PREFILL_TABLE,
    SERVING,
    Key,
    Pace,
    Throughput,
    decode_table,
    prefill_table,
)

_T = TypeVar("_T")
_MOST_MEASURED = "llama.cpp"

CAUTION = (0.75, 1.3)
"""Hardware nobody measured gets less of the bandwidth or the peak, and more time per layer."""
FEWEST = 6
"""Rows from which a class has a band of its own."""
_TAIL = 0.07
_NARROWEST = {DECODE: 0.10, PREFILL: 0.15, SERVING: 0.35}
"""Totals of servers were measured on few engines, and one of them sets the constants."""
_NARROWEST_MOE = {DECODE: 0.20, PREFILL: 0.30, SERVING: 0.40}
"""Kernels of mixtures of experts change from one version to the next."""
_WIDEST_UNMEASURED = (0.5, 1.6)

# Reading prompts under serving engines: no published figure names prompt and time apart.
_ASSUMED_PREFILL = (
    (SERVING, "nvidia_hbm", 0.50, "max-load tables of TensorRT-LLM (perf-overview.md)"),
    (SERVING, "nvidia_pro", 0.40, "the same on RTX PRO 6000"),
    (SERVING, "nvidia_geforce", 0.70, "llama.cpp's share on GeForce, less its integer kernels"),
    (SERVING, ROOT, 0.25, "half of what NVIDIA's cards reach"),
    ("transformers", ROOT, 0.30, "two thirds of serving engines' share"),
)
_ASSUMED_MOE_SHARE = 0.6


def write_tables(scores: Scores) -> list[str]:
    """Write the three files; one line each."""
    texts = tables(scores)
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    return [f"{text.count(chr(10)) - 1} rows in {path.name}" for path, text in texts.items()]


def tables(scores: Scores) -> dict[Path, str]:
    """The files' texts. Bands are of errors made blindly, whatever constants are in the files."""
    return {
        DECODE_TABLE: _text(
            (
                "engine_family",
                "gpu_class",
                "format",
                "bandwidth_efficiency",
                "seconds_per_layer",
                "runs",
                "source",
            ),
            _decode_rows(scores),
        ),
        PREFILL_TABLE: _text(
            ("engine_family", "gpu_class", "format", "mfu", "moe_share", "runs", "source"),
            _prefill_rows(scores),
        ),
        BAND_TABLE: _text(
            ("quantity", "engine_family", "gpu_class", "kind", "low", "high", "n"),
            _band_rows(scores.predictions),
        ),
    }


@dataclass(frozen=True, slots=True)
class Constants:
    """Contents of the three tables as `gpusizer.fit.speed.tables` holds them."""

    decode: dict[Key, Pace]
    prefill: dict[Key, Throughput]
    bands: dict[tuple[str, str, str, str], RateBand]


def constants_without(scores: Scores, source: str) -> Constants:
    """The constants and bands that the runs of all other sources give."""
    decode, prefill = (
        [s for s in scores.samples[quantity] if s.case.source != source]
        for quantity in (DECODE, PREFILL)
    )
    others = replace(
        scores,
        predictions=tuple(p for p in scores.predictions if p.case.source != source),
        samples={DECODE: tuple(decode), PREFILL: tuple(prefill)},
    )
    paces = {
        (str(family), str(name), str(kind)): Pace(float(share), float(seconds), int(runs))
        for family, name, kind, share, seconds, runs, _ in _decode_rows(others, source)
    }
    throughputs = {
        (str(family), str(name), str(kind)): Throughput(float(mfu), float(share), int(runs))
        for family, name, kind, mfu, share, runs, _ in _prefill_rows(others, source)
    }
    bands = {
        (quantity, family, name, kind): RateBand(float(low), float(high))
        for quantity, family, name, kind, low, high, _ in _band_rows(others.predictions)
    }
    return Constants(
        _with_every_family(decode_table(), paces),
        _with_every_family(prefill_table(), throughputs),
        bands,
    )


def _with_every_family(table: Mapping[Key, _T], fitted: dict[Key, _T]) -> dict[Key, _T]:
    """Engines that nobody else measured get the cautious constants of llama.cpp on any GPU."""
    stand_in = fitted[_MOST_MEASURED, ROOT, ANY_FORMAT]
    missing = {(family, ROOT, ANY_FORMAT) for family, _, _ in table} - fitted.keys()
    return fitted | dict.fromkeys(missing, stand_in)


def _keys(samples: Iterable[Sample], family: str) -> list[tuple[tuple[str, ...], str]]:
    """(classes from the one described on, format) of everything measured, widest first."""
    keys = set()
    for s in samples:
        if s.case.work.family == family and s.case.split != "tensor":
            for start in range(len(s.classes)):
                keys.add((s.classes[start:], ANY_FORMAT))
            keys.add((s.classes, s.format))
    return sorted(keys, key=lambda key: (key[0][::-1], key[1] != ANY_FORMAT, key[1]))


def _decode_rows(scores: Scores, without: str = "") -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for family, fit in scores.fits.items():
        for classes, weight_format in _keys(scores.samples[DECODE], family):
            pace = fit.pace(classes, weight_format, without)
            if pace is None:
                continue
            less, more = CAUTION if classes == (ROOT,) else (1.0, 1.0)
            efficiency, seconds = pace.efficiency * less, pace.seconds_per_layer * more
            source, runs = _source(scores.samples[DECODE], family, classes[0], weight_format)
            rows.append(
                (
                    family,
                    classes[0],
                    weight_format,
                    f"{efficiency:.3f}",
                    f"{seconds:.7f}",
                    runs,
                    source,
                )
            )
    return rows


def _prefill_rows(scores: Scores, without: str = "") -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for family, fit in scores.fits.items():
        for classes, weight_format in _keys(scores.samples[PREFILL], family):
            reached = fit.throughput(classes, weight_format, without)
            if reached is None:
                continue
            less = CAUTION[0] if classes == (ROOT,) else 1.0
            source, runs = _source(scores.samples[PREFILL], family, classes[0], weight_format)
            rows.append(
                (
                    family,
                    classes[0],
                    weight_format,
                    f"{reached.utilization * less:.3f}",
                    f"{fit.moe_share(classes, without):.2f}",
                    runs,
                    source,
                )
            )
    for family, gpu_class, share, source in _ASSUMED_PREFILL:
        rows.append(
            (family, gpu_class, ANY_FORMAT, share, _ASSUMED_MOE_SHARE, 0, f"assumed: {source}")
        )
    return rows


def _source(
    samples: Sequence[Sample], family: str, name: str, weight_format: str
) -> tuple[str, int]:
    """Whose runs a row stands on; none of its own for the widest class."""
    own = [
        s
        for s in chosen(samples, name, weight_format, "")
        if s.case.work.family == family and s.case.split != "tensor"
    ]
    gpus = len({s.case.held_out for s in own})
    if name == ROOT:
        return f"cautious share of what {len(own)} runs on {gpus} GPUs of other classes reach", 0
    return f"{len(own)} runs on {gpus} GPUs in throughput.jsonl", len(own)


def _band_rows(predictions: Iterable[Prediction]) -> list[tuple[Any, ...]]:
    """Ends of the bands: percentiles of measured over blindly predicted speeds, by class."""
    lines = [
        (p.quantity, p.case.work.family, sorted({p.wide_class, ROOT}), p.kind, _log_ratio(p))
        for p in predictions
        if p.quantity == SERVING or (p.case.split != "tensor" and p.blind is not None)
    ]
    keys = ["quantity", "family", "gpu_class", "kind"]
    ratios = pd.DataFrame(lines, columns=[*keys, "log_ratio"]).explode("gpu_class")
    rows: list[tuple[Any, ...]] = []
    for (quantity, family, gpu_class, kind), group in ratios.groupby(keys)["log_ratio"]:
        if len(group) < FEWEST:
            continue
        lowest, highest = between_tails(group, _TAIL)
        narrowest = (_NARROWEST_MOE if kind == MOE else _NARROWEST)[quantity]
        low, high = min(math.exp(lowest), 1 - narrowest), max(math.exp(highest), 1 + narrowest)
        if gpu_class == ROOT:
            low, high = min(low, _WIDEST_UNMEASURED[0]), max(high, _WIDEST_UNMEASURED[1])
        rows.append((quantity, family, gpu_class, kind, f"{low:.3f}", f"{high:.3f}", len(group)))
    return rows


def _log_ratio(prediction: Prediction) -> float:
    """Logarithm of the measured over the blindly predicted speed."""
    return math.log(prediction.measured / (prediction.blind or prediction.fitted))


def _text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return pd.DataFrame(rows, columns=head).to_csv(index=False, lineterminator="\n")
