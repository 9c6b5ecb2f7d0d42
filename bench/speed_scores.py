"""Predictions of every measured speed, and groups of their errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pandas as pd

from bench.errors import relative_errors
from bench.speed_cases import Case
from bench.speed_fit import Fits, prompt_seconds, step_seconds
from bench.speed_samples import NONE, Left, Sample, decode_samples, prefill_samples
from gpusizer.speed.classes import ROOT, Classes, decode_classes
from gpusizer.speed.links import TENSOR_PARALLEL_BAND
from gpusizer.speed.tables import DECODE, PREFILL, SERVING, band

_MEMORY_NAMES = {
    "nvidia_gddr": "NVIDIA GDDR",
    "nvidia_hbm": "NVIDIA HBM",
    "apple": "Apple",
    "amd": "AMD",
    "intel": "Intel",
}


@dataclass(frozen=True, slots=True)
class Prediction:
    """One measured speed and its predictions, in tokens per second."""

    case: Case
    quantity: str
    classes: Classes
    measured: float
    blind: float | None  # without any run of the same GPU
    fitted: float  # with all runs
    roofline: float | None = None  # bytes over bandwidth
    # one efficiency for the family on that kind of memory, without the same GPU
    flat: float | None = None

    @property
    def wide_class(self) -> str:
        """The class of memory or segment."""
        return self.classes[-2] if len(self.classes) > 1 else ROOT

    @property
    def kind(self) -> str:
        return "moe" if self.case.work.is_moe else "dense"


@dataclass(frozen=True, slots=True)
class Scores:
    """All predictions, and the fits of each family behind them."""

    predictions: tuple[Prediction, ...]
    fits: dict[str, Fits]
    samples: dict[str, tuple[Sample, ...]]


def score(cases: Sequence[Case]) -> Scores:
    """Fit every family and predict every row."""
    decode, prefill = decode_samples(cases), prefill_samples(cases)
    families = sorted({s.case.work.family for s in (*decode, *prefill)})
    fits = {name: Fits(_of(name, decode), _of(name, prefill)) for name in families}
    predictions = [
        *_decode_predictions(decode, fits),
        *_prefill_predictions(prefill, fits),
        *_serving_predictions(cases),
    ]
    samples = {DECODE: tuple(decode), PREFILL: tuple(prefill)}
    return Scores(tuple(predictions), fits, samples)


def decoded(fit: Fits, sample: Sample, without: Left = NONE) -> float | None:
    """Return predicted tokens per second of one user, or None without constants."""
    pace = fit.pace(sample.classes, sample.format, without, sample.board)
    return None if pace is None else 1 / step_seconds(sample, pace)


def prompted(fit: Fits, sample: Sample, without: Left = NONE) -> float | None:
    """Return predicted prompt tokens per second, or None without constants."""
    reached = fit.throughput(sample.classes, sample.format, without, sample.board)
    share = fit.moe_share(sample.classes, without) if sample.case.work.is_moe else 1.0
    return None if reached is None else 1 / prompt_seconds(sample, reached.utilization, share)


def _of(name: str, samples: Sequence[Sample]) -> list[Sample]:
    return [s for s in samples if s.case.work.family == name]


def _decode_predictions(samples: Sequence[Sample], fits: dict[str, Fits]) -> Iterator[Prediction]:
    for sample in samples:
        case, fit = sample.case, fits[sample.case.work.family]
        fitted = decoded(fit, sample)
        if fitted is None:
            continue
        ideal = _roofline(case)
        yield Prediction(
            case,
            DECODE,
            sample.classes,
            1 / sample.measured,
            blind=decoded(fit, sample, frozenset({sample.board})),
            fitted=fitted,
            roofline=ideal,
            flat=_flat(sample, samples, ideal),
        )


def _roofline(case: Case) -> float:
    bandwidth = (case.gpu.bandwidth_bytes_per_second or 0) / case.gpu.devices_per_board
    return bandwidth * case.work.tensor / case.work.step_bytes(1)


def _flat(sample: Sample, samples: Sequence[Sample], ideal: float) -> float | None:
    # Other GPUs of the family and kind of memory.
    shares = [
        1 / s.measured / _roofline(s.case)
        for s in samples
        if s.case.work.family == sample.case.work.family
        and s.classes[-2:] == sample.classes[-2:]
        and s.board != sample.board
    ]
    return ideal * pd.Series(shares).median() if shares else None


def _prefill_predictions(samples: Sequence[Sample], fits: dict[str, Fits]) -> Iterator[Prediction]:
    for sample in samples:
        fit = fits[sample.case.work.family]
        fitted = prompted(fit, sample)
        if fitted is None:
            continue
        yield Prediction(
            sample.case,
            PREFILL,
            sample.classes,
            1 / sample.measured,
            blind=prompted(fit, sample, frozenset({sample.board})),
            fitted=fitted,
        )


def _serving_predictions(cases: Iterable[Case]) -> Iterator[Prediction]:
    # With the constants in use; only the stated users or full load.
    for case in cases:
        measured, total = case.measured("serving"), case.total
        if measured and total:
            classes = decode_classes(case.gpu)
            yield Prediction(case, SERVING, classes, measured, blind=total, fitted=total)


def group_errors(predictions: Iterable[Prediction]) -> pd.DataFrame:
    """Return errors by the groups of the tables: one line per group; a row can be in several.

    `n` rows on `gpus` GPUs; `blind`, `fitted`, `roofline` and `flat`: medians of the absolute
    relative errors of each kind of prediction; `p80`: the 80th percentile of the blind ones;
    `in_band`: the share of rows whose measurement lies in the printed band around the blind
    prediction. NaN without such a prediction.
    """
    kinds = ["blind", "fitted", "roofline", "flat"]
    lines = [
        [
            list(_group_names(p)),
            p.case.board,
            p.measured,
            p.blind,
            p.fitted,
            p.roofline,
            p.flat,
            _in_band(p),
        ]
        for p in predictions
    ]
    frame = pd.DataFrame(lines, columns=["group", "gpu", "measured", *kinds, "in_band"])
    for kind in kinds:
        predicted = frame[kind].astype(float).where(lambda value: value != 0)
        frame[kind] = relative_errors(frame["measured"], predicted).abs()
    frame["in_band"] = frame["in_band"].astype(float)
    groups = frame.explode("group").groupby("group")
    return (
        groups[kinds]
        .median()
        .assign(
            n=groups.size(),
            gpus=groups["gpu"].nunique(),
            p80=groups["blind"].quantile(0.8, interpolation="higher"),
            in_band=groups["in_band"].mean(),
        )
    )


def _in_band(prediction: Prediction) -> bool | None:
    # None without a prediction.
    if not prediction.blind:
        return None
    work = prediction.case.work
    board = prediction.case.board
    ends = band(prediction.quantity, work.family, prediction.classes, board, moe=work.is_moe)
    if work.tensor > 1:
        ends = ends.widened(TENSOR_PARALLEL_BAND)
    return ends.low * prediction.blind <= prediction.measured <= ends.high * prediction.blind


def _group_names(prediction: Prediction) -> Iterator[str]:
    case, kind, wide_class = prediction.case, prediction.kind, prediction.wide_class
    work = case.work
    if prediction.quantity == SERVING:
        yield f"serving {'offline' if case.row.get('scenario') else 'stated users'} {work.engine}"
        return
    if prediction.quantity == PREFILL:
        yield "prefill all"
        yield f"prefill {kind}"
        yield f"prefill {work.family} {wide_class} {kind}"
        return
    if case.split == "tensor":
        yield f"tensor parallel {work.family}"
        return
    memory = _MEMORY_NAMES.get(wide_class, "other")
    if kind == "moe":
        yield "decode MoE"
        yield f"decode MoE {work.family} {memory}"
        return
    if case.split == "layer":
        yield f"layer split {work.family}"
        return
    yield f"decode {work.family} {memory}"
