"""Writes the constants and bands that `gpusizer.speed` reads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from bench.errors import weighted_rank
from bench.speed_fit import DECODING, PROMPTS, Fits
from bench.speed_samples import NONE, Left, Sample
from bench.speed_scores import Prediction, Scores, decoded, prompted
from bench.speed_support import StandsOn, stands_on
from gpusizer.speed.classes import ROOT, Classes
from gpusizer.speed.rate import RateBand
from gpusizer.speed.tables import (
    ANY_FORMAT,
    BAND_TABLE,
    DECODE,
    DECODE_TABLE,
    DENSE,
    MOE,
    PREFILL,
    PREFILL_TABLE,
    SERVING,
    BoardBand,
    Key,
    Pace,
    Throughput,
    decode_table,
    prefill_table,
)

_T = TypeVar("_T")
_SUPPORT = ("runs", "sources", "cards", "board", "source")
_Measured = tuple[Classes, str]  # classes from the described one on, and a format
_MOST_MEASURED = "llama.cpp"

# unmeasured hardware gets less of the bandwidth or the peak, and more time per layer
CAUTION = (0.75, 1.3)
FEWEST = 6  # rows from which a class has a band of its own
_TAIL = 0.06
_TAIL_SERVING = 0.07

# Student's t of 1 to 11 degrees of freedom at nine tenths over the normal's 1.28, by sources. A
# single source has none and gets the value of two.
_T_OVER_NORMAL = (2.4, 2.4, 1.47, 1.28, 1.20, 1.15, 1.12, 1.10, 1.09, 1.08, 1.07, 1.06)

# Other people's speeds of one model, recipe and card differ by 12 to 15 % (power limits, hosts,
# builds). Totals of servers were measured on few engines, and one of them sets the constants.
_NARROWEST = {DECODE: 0.15, PREFILL: 0.15, SERVING: 0.35}

# kernels of mixtures of experts change from one version to the next
_NARROWEST_MOE = {DECODE: 0.20, PREFILL: 0.30, SERVING: 0.40}
_WIDEST_UNMEASURED = (0.5, 1.6)

# High over low end of a band of decoding on measured classes and on others: wider ones tell a
# reader nothing.
_WIDEST, _WIDEST_ELSEWHERE = 2.5, 5.0

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
    """Write the three files and return a line about each."""
    texts = tables(scores)
    for path, text in texts.items():
        path.write_text(text, "utf-8")
    return [f"{text.count(chr(10)) - 1} rows in {path.name}" for path, text in texts.items()]


def tables(scores: Scores) -> dict[Path, str]:
    """Return the files' texts. Bands are of blind errors, whatever constants are in the files."""
    return {
        DECODE_TABLE: _text(
            (
                "engine_family",
                "gpu_class",
                "format",
                "bandwidth_efficiency",
                "seconds_per_layer",
                "seconds_per_expert_layer",
                *_SUPPORT,
            ),
            _decode_rows(scores),
        ),
        PREFILL_TABLE: _text(
            (
                "engine_family",
                "gpu_class",
                "format",
                "mfu",
                "moe_share",
                *_SUPPORT,
            ),
            _prefill_rows(scores),
        ),
        BAND_TABLE: _text(
            ("quantity", "engine_family", "gpu_class", "kind", "low", "high", "n", "board"),
            _band_rows(scores),
        ),
    }


@dataclass(frozen=True, slots=True)
class Constants:
    """Contents of the three tables as `gpusizer.speed.tables` holds them."""

    decode: dict[Key, Pace]
    prefill: dict[Key, Throughput]
    bands: dict[tuple[str, str, str, str], BoardBand]


def constants_without(scores: Scores, name: str) -> Constants:
    """Return the constants and bands without the runs of one source, board or class."""
    left = frozenset({name})
    others = replace(
        scores,
        predictions=tuple(p for p in scores.predictions if not p.case.belongs_to & left),
        samples={
            quantity: tuple(s for s in samples if not s.left_out(left))
            for quantity, samples in scores.samples.items()
        },
    )
    paces = {
        (str(family), str(name), str(kind)): Pace(
            float(share), float(seconds), runs, float(experts), sources, cards, board
        )
        for family, name, kind, share, seconds, experts, runs, sources, cards, board, _ in (
            _decode_rows(scores, left)
        )
    }
    throughputs = {
        (str(family), str(name), str(kind)): Throughput(
            float(mfu), float(share), runs, sources, cards, board
        )
        for family, name, kind, mfu, share, runs, sources, cards, board, _ in _prefill_rows(
            scores, left
        )
    }
    bands = {
        (quantity, family, name, kind): BoardBand(RateBand(float(low), float(high)), board)
        for quantity, family, name, kind, low, high, _, board in _band_rows(others, left)
    }
    return Constants(
        _with_every_family(decode_table(), paces),
        _with_every_family(prefill_table(), throughputs),
        bands,
    )


def _with_every_family(table: Mapping[Key, _T], fitted: dict[Key, _T]) -> dict[Key, _T]:
    # Engines without measurements of other people get the constants of llama.cpp on the same GPUs.
    missing = {family for family, _, _ in table} - {family for family, _, _ in fitted}
    stand_ins = {
        (family, name, kind): constants
        for family in missing
        for (of_family, name, kind), constants in fitted.items()
        if of_family == _MOST_MEASURED
    }
    return fitted | stand_ins


def _keys(samples: Iterable[Sample], family: str, without: Left) -> list[_Measured]:
    # The widest first.
    keys = set()
    for s in samples:
        if s.left_out(without) or not s.case.fitted:
            continue
        if s.case.work.family == family and s.case.split != "tensor":
            for start in range(len(s.classes)):
                keys.add((s.classes[start:], ANY_FORMAT))
            keys.add((s.classes, s.format))
    return _widest_first(keys)


def _with_kin(fit: Fits, keys: Sequence[_Measured]) -> list[_Measured]:
    # Formats of a kind of memory apply to all of it, and to its generations.
    kinds = {(classes[1:], kind) for classes, kind in keys if fit.has_kin(classes, kind)}
    kin = {(classes, kind) for classes, _ in keys for wide, kind in kinds if wide == classes[1:]}
    return _widest_first({*keys, *kinds, *kin})


def _widest_first(keys: Iterable[_Measured]) -> list[_Measured]:
    return sorted(keys, key=lambda key: (key[0][::-1], key[1] != ANY_FORMAT, key[1]))


def _decode_rows(scores: Scores, without: Left = NONE) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    dense = [s for s in scores.samples[DECODE] if not s.case.work.is_moe]
    for family, fit in scores.fits.items():
        for classes, weight_format in _with_kin(fit, _keys(dense, family, without)):
            support = _dense_support(fit, dense, family, classes, weight_format, without)
            pace = fit.pace(classes, weight_format, without)
            if pace is None or support is None:
                continue
            less, more = CAUTION if classes == (ROOT,) else (1.0, 1.0)
            efficiency, seconds = pace.efficiency * less, pace.seconds_per_layer * more
            rows.append(
                (
                    family,
                    classes[0],
                    weight_format,
                    f"{efficiency:.3f}",
                    f"{seconds:.7f}",
                    f"{pace.seconds_per_expert_layer * more:.7f}",
                    *support.columns,
                )
            )
    return rows


def _dense_support(
    fit: Fits,
    dense: Sequence[Sample],
    family: str,
    classes: Classes,
    weight_format: str,
    without: Left,
) -> StandsOn | None:
    # The runs of the class and format, or those of its generation in any format and those of the
    # format on its relatives; None without either.
    def own(name: str, kind: str) -> StandsOn:
        return stands_on(dense, family, name, kind, without, DECODING)

    name = classes[0]
    runs = own(name, weight_format)
    if runs.text or _is_wide(classes, weight_format):
        return runs
    of_any, as_kin = own(name, ANY_FORMAT), own(classes[1], weight_format)
    if not (fit.has_kin(classes, weight_format) and of_any.text and as_kin.text):
        return None
    return of_any._replace(text=f"{of_any.text}; the format as on {classes[1]}")


def _prefill_rows(scores: Scores, without: Left = NONE) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = []
    for family, fit in scores.fits.items():
        for classes, weight_format in _keys(scores.samples[PREFILL], family, without):
            prompts = scores.samples[PREFILL]
            own = stands_on(prompts, family, classes[0], weight_format, without, PROMPTS)
            reached = fit.throughput(classes, weight_format, without)
            if reached is None or not (own.text or _is_wide(classes, weight_format)):
                continue
            less = CAUTION[0] if classes == (ROOT,) else 1.0
            rows.append(
                (
                    family,
                    classes[0],
                    weight_format,
                    f"{reached.utilization * less:.3f}",
                    f"{fit.moe_share(classes, without):.2f}",
                    *own.columns,
                )
            )
    for family, gpu_class, share, source in _ASSUMED_PREFILL:
        rows.append(
            (
                *(family, gpu_class, ANY_FORMAT, share, _ASSUMED_MOE_SHARE),
                *StandsOn(text=f"assumed: {source}").columns,
            )
        )
    return rows


def _is_wide(classes: Sequence[str], weight_format: str) -> bool:
    # A kind of memory or a segment: measured ones share the engine's constants without their own,
    # and need no caution.
    return len(classes) == 2 and weight_format == ANY_FORMAT


def _band_rows(scores: Scores, without: Left = NONE) -> list[tuple[Any, ...]]:
    # Speeds of other people's machines around predictions by constants fitted without their source,
    # by class. Every source weighs the same.
    keys = ["quantity", "family", "gpu_class", "kind"]
    lines = [*_stranger_lines(scores, without), *_serving_lines(scores.predictions)]
    ratios = pd.DataFrame(lines, columns=[*keys, "source", "board", "log_ratio"]).explode(
        "gpu_class"
    )
    rows: list[tuple[Any, ...]] = []
    for (quantity, family, gpu_class, kind), group in ratios.groupby(keys):
        if len(group) < FEWEST or (quantity != SERVING and group["source"].nunique() < 2):
            continue
        low, high = _tails(group, _TAIL if quantity != SERVING else _TAIL_SERVING)
        if quantity != SERVING:
            low, high = (end ** _stretch(group["source"].nunique()) for end in (low, high))
        narrowest = (_NARROWEST_MOE if kind == MOE else _NARROWEST)[quantity]
        low, high = min(low, 1 - narrowest), max(high, 1 + narrowest)
        if quantity == DECODE:
            low, high = _bounded(low, high, _WIDEST_ELSEWHERE if gpu_class == ROOT else _WIDEST)
        if gpu_class == ROOT:
            low, high = min(low, _WIDEST_UNMEASURED[0]), max(high, _WIDEST_UNMEASURED[1])
        boards = set(group["board"])
        board = boards.pop() if len(boards) == 1 and gpu_class != ROOT else ""
        ends = (f"{low:.3f}", f"{high:.3f}")
        rows.append((quantity, family, gpu_class, kind, *ends, len(group), board))
    return rows


def _bounded(low: float, high: float, widest: float) -> tuple[float, float]:
    # Ends too far apart are both drawn in by one share of their distance, in logarithms.
    drawn = min(1.0, math.log(widest) / math.log(high / low))
    return low**drawn, high**drawn


def _tails(group: pd.DataFrame, share: float) -> tuple[float, float]:
    # Ratios with a share of the weight beyond them at either end.
    ratios = group["log_ratio"].to_numpy(dtype=float)
    _, source, runs = np.unique(group["source"], return_inverse=True, return_counts=True)
    weights = 1 / runs[source]
    low = weighted_rank(ratios, weights, share)
    high = -weighted_rank(-ratios, weights, share)
    return math.exp(low), math.exp(high)


def _stretch(sources: int) -> float:
    # Student's t over the normal, for one more source (the prediction interval of a next value),
    # widens a band of few sources.
    t_over_normal = _T_OVER_NORMAL[min(sources, len(_T_OVER_NORMAL)) - 1]
    return t_over_normal * math.sqrt(1 + 1 / sources)


def _stranger_lines(scores: Scores, without: Left) -> Iterator[tuple[Any, ...]]:
    # Rows of first contact count too: nothing was fitted on them.
    for quantity, predicted in ((DECODE, decoded), (PREFILL, prompted)):
        for s in scores.samples[quantity]:
            work, left = s.case.work, without | {s.case.source}
            rate = predicted(scores.fits[work.family], s, left) if work.tensor == 1 else None
            if rate is None:
                rate = _of_others(scores, quantity, s, left) if work.tensor == 1 else None
            if rate is not None:
                kind = MOE if work.is_moe else DENSE
                classes = s.classes if quantity == DECODE else sorted({*s.classes[-2:]})
                ratio = math.log(1 / s.measured / rate)
                yield quantity, work.family, classes, kind, s.case.source, s.board, ratio


def _of_others(scores: Scores, quantity: str, sample: Sample, left: Left) -> float | None:
    # llama.cpp's constants for the same GPU, for an engine without other measurements.
    fit = scores.fits.get(_MOST_MEASURED)
    predicted = decoded if quantity == DECODE else prompted
    return None if fit is None else predicted(fit, sample, left)


def _serving_lines(predictions: Iterable[Prediction]) -> Iterator[tuple[Any, ...]]:
    for p in predictions:
        if p.quantity == SERVING and p.blind:
            classes = sorted({p.wide_class, ROOT})
            ratio = math.log(p.measured / p.blind)
            source, board = p.case.source, p.case.board
            yield SERVING, p.case.work.family, classes, p.kind, source, board, ratio


def _text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    return pd.DataFrame(rows, columns=head).to_csv(index=False, lineterminator="\n")
