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
"""Factors for GPUs without measurements: of the share of bandwidth or peak, of time per layer."""
FEWEST = 6
"""Fewest rows for which a class gets its own band."""
_TAIL = 0.07
_NARROWEST = {DECODE: 0.10, PREFILL: 0.15, SERVING: 0.35}
"""Least half-widths of bands. Totals of servers are measured on few engines: theirs is wider."""
_NARROWEST_MOE = {DECODE: 0.20, PREFILL: 0.30, SERVING: 0.40}
"""The same for mixtures of experts, whose kernels change between versions."""
_WIDEST_UNMEASURED = (0.5, 1.6)

# Prompts under serving engines: no source publishes time and length of the prompt alone.
_ASSUMED_PREFILL = (
    (SERVING, "nvidia_hbm", 0.50, "max-load tables of TensorRT-LLM (perf-overview.md)"),
    (SERVING, "nvidia_pro", 0.40, "the same on RTX PRO 6000"),
    (SERVING, "nvidia_geforce", 0.70, "llama.cpp's share on GeForce, less its integer kernels"),
    (SERVING, ROOT, 0.25, "half of what NVIDIA's cards reach"),
    ("transformers", ROOT, 0.30, "two thirds of serving engines' share"),
)
_ASSUMED_MOE_SHARE = 0.6


def write_tables(scores: Scores) -> list[str]:
    """Write the three files; return a line about each."""
    texts = tables(scores)
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    return [f"{text.count(chr(10)) - 1} rows in {path.name}" for path, text in texts.items()]


def tables(scores: Scores) -> dict[Path, str]:
    """Return the texts of the files. Bands are of the errors of blind predictions."""
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
    """Return the constants and bands fitted on the runs of all other sources."""
    decode, prefill = (
        [s for s in scores.samples[quantity] if s.case.source != source]
        for quantity in (DECODE, PREFILL)
    )
    other_scores = replace(
        scores,
        predictions=tuple(p for p in scores.predictions if p.case.source != source),
        samples={DECODE: tuple(decode), PREFILL: tuple(prefill)},
    )
    paces = {
        (str(family), str(name), str(kind)): Pace(float(share), float(seconds), int(runs))
        for family, name, kind, share, seconds, runs, _ in _decode_rows(other_scores, source)
    }
    throughputs = {
        (str(family), str(name), str(kind)): Throughput(float(mfu), float(share), int(runs))
        for family, name, kind, mfu, share, runs, _ in _prefill_rows(other_scores, source)
    }
    bands = {
        (quantity, family, name, kind): RateBand(float(low), float(high))
        for quantity, family, name, kind, low, high, _ in _band_rows(other_scores.predictions)
    }
    return Constants(
        _with_every_family(decode_table(), paces),
        _with_every_family(prefill_table(), throughputs),
        bands,
    )


def _with_every_family(table: Mapping[Key, _T], fitted: dict[Key, _T]) -> dict[Key, _T]:
    """Give engines without other sources the constants of llama.cpp for unmeasured GPUs."""
    cautious = fitted[_MOST_MEASURED, ROOT, ANY_FORMAT]
    missing = {(family, ROOT, ANY_FORMAT) for family, _, _ in table} - fitted.keys()
    return fitted | dict.fromkeys(missing, cautious)


def _keys(samples: Iterable[Sample], family: str) -> list[tuple[tuple[str, ...], str]]:
    """Return all measured (classes, format), widest first; `classes` starts with the fitted one."""
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
            efficiency_factor, seconds_factor = CAUTION if classes == (ROOT,) else (1.0, 1.0)
            efficiency, seconds = (
                pace.efficiency * efficiency_factor,
                pace.seconds_per_layer * seconds_factor,
            )
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
            efficiency_factor = CAUTION[0] if classes == (ROOT,) else 1.0
            source, runs = _source(scores.samples[PREFILL], family, classes[0], weight_format)
            rows.append(
                (
                    family,
                    classes[0],
                    weight_format,
                    f"{reached.utilization * efficiency_factor:.3f}",
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
    """Return the sources of a row's runs and their number; no source for the widest class."""
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
    """Return the ends of bands: percentiles of (measured / blind prediction), by class."""
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
    """Return the natural logarithm of (measured / blind prediction)."""
    return math.log(prediction.measured / (prediction.blind or prediction.fitted))


def _text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return pd.DataFrame(rows, columns=head).to_csv(index=False, lineterminator="\n")
