"""Writes the constants and bands that `gpusizer.speed` reads."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.speed_fit import Sample, chosen
from bench.speed_scores import Prediction, Scores, log_ratio
from gpusizer.speed.classes import ROOT
from gpusizer.speed.tables import (
    ANY_FORMAT,
    BAND_TABLE,
    DECODE,
    DECODE_TABLE,
    MOE,
    PREFILL,
    PREFILL_TABLE,
    SERVING,
)

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
            ("engine_family", "gpu_class", "format", "bandwidth_efficiency",
             "seconds_per_layer", "runs", "source"), _decode_rows(scores)
        ),
        PREFILL_TABLE: _text(
            ("engine_family", "gpu_class", "format", "mfu", "moe_share", "runs", "source"),
            _prefill_rows(scores),
        ),
        BAND_TABLE: _text(
            ("quantity", "engine_family", "gpu_class", "kind", "low", "high", "n"),
            _band_rows(scores.predictions),
        ),
    }  # fmt: skip


def _keys(samples: Iterable[Sample], family: str) -> list[tuple[tuple[str, ...], str]]:
    """(classes from the one described on, format) of everything measured, widest first."""
    keys = set()
    for s in samples:
        if s.case.work.family == family and s.case.split != "tensor":
            for start in range(len(s.classes)):
                keys.add((s.classes[start:], ANY_FORMAT))
            keys.add((s.classes, s.format))
    return sorted(keys, key=lambda key: (key[0][::-1], key[1] != ANY_FORMAT, key[1]))


def _decode_rows(scores: Scores) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for family, fit in scores.fits.items():
        for classes, weight_format in _keys(scores.samples[DECODE], family):
            pace = fit.pace(classes, weight_format)
            if pace is None:
                continue
            less, more = CAUTION if classes == (ROOT,) else (1.0, 1.0)
            efficiency, seconds = pace.efficiency * less, pace.seconds_per_layer * more
            source, runs = _source(scores.samples[DECODE], family, classes[0], weight_format)
            rows.append((family, classes[0], weight_format, f"{efficiency:.3f}",
                         f"{seconds:.7f}", runs, source))  # fmt: skip
    return rows


def _prefill_rows(scores: Scores) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for family, fit in scores.fits.items():
        for classes, weight_format in _keys(scores.samples[PREFILL], family):
            reached = fit.throughput(classes, weight_format)
            if reached is None:
                continue
            less = CAUTION[0] if classes == (ROOT,) else 1.0
            source, runs = _source(scores.samples[PREFILL], family, classes[0], weight_format)
            rows.append((family, classes[0], weight_format, f"{reached.utilization * less:.3f}",
                         f"{fit.moe_share(classes):.2f}", runs, source))  # fmt: skip
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


def _band_rows(predictions: Iterable[Prediction]) -> list[tuple[object, ...]]:
    groups: dict[tuple[str, str, str, str], list[float]] = {}
    for one in predictions:
        if one.quantity != SERVING and (one.case.split == "tensor" or one.blind is None):
            continue
        work = one.case.work
        for name in {one.wide_class, ROOT}:
            groups.setdefault((one.quantity, work.family, name, one.kind), []).append(
                log_ratio(one)
            )
    rows: list[tuple[object, ...]] = []
    for key, values in sorted(groups.items()):
        if len(values) < FEWEST:
            continue
        ordered = sorted(values)
        place = int(_TAIL * len(ordered))
        narrowest = (_NARROWEST_MOE if key[3] == MOE else _NARROWEST)[key[0]]
        low = min(math.exp(ordered[place]), 1 - narrowest)
        high = max(math.exp(ordered[-1 - place]), 1 + narrowest)
        if key[2] == ROOT:
            low, high = min(low, _WIDEST_UNMEASURED[0]), max(high, _WIDEST_UNMEASURED[1])
        rows.append((*key, f"{low:.3f}", f"{high:.3f}", len(values)))
    return rows


def _text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()
