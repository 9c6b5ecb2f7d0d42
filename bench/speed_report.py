"""Errors of predicted speeds as a table for people."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence

from bench.measurements import Row
from bench.speed_scores import Prediction, Scores, error
from gpusizer.speed.links import TENSOR_PARALLEL_BAND
from gpusizer.speed.rate import Band
from gpusizer.speed.tables import band

_HEAD = (
    f"{'group':44}{'rows':>5}{'GPUs':>5} │{'blind':>7}{'p80':>7}{'fitted':>8} │{'in band':>8}"
    f" │{'roofline':>9}{'flat':>7}"
)
Pick = Callable[[Prediction], float | None]


def report_lines(rows: Sequence[Row], scores: Scores, worst: int) -> Iterator[str]:
    """Coverage, the table of medians in percent, and the rows furthest off."""
    predicted = {one.case.row["id"] for one in scores.predictions}
    yield f"{len(rows)} rows, {len(predicted)} with a prediction"
    yield "medians of absolute errors in %; blind: constants fitted without the GPU's own rows"
    yield ""
    yield _HEAD
    for name, group in scores.groups().items():
        yield _line(name, group)
    yield ""
    yield "worst, blind"
    known = [one for one in scores.predictions if one.blind]
    known.sort(key=lambda one: -error(one.measured, one.blind or 0))
    for one in known[:worst]:
        row = one.case.row
        yield (
            f"  {one.quantity} measured {one.measured:.4g}, predicted {one.blind:.4g}"
            f" (fitted {one.fitted:.4g})  {row['gpu']}  {row['profile']}  {row['quantization']}"
            f"  {row['engine']}  {row['source_url']}"
        )


def _line(name: str, group: Sequence[Prediction]) -> str:
    gpus = len({one.case.held_out for one in group})
    blind = errors(group, lambda one: one.blind)
    p80 = sorted(blind)[int(0.8 * len(blind))] if blind else None
    return (
        f"{name:44}{len(group):>5}{gpus:>5} │{_percent(median(blind)):>7}{_percent(p80):>7}"
        f"{_percent(median(errors(group, lambda one: one.fitted))):>8}"
        f" │{_percent(coverage(group)):>8}"
        f" │{_percent(median(errors(group, lambda one: one.roofline))):>9}"
        f"{_percent(median(errors(group, lambda one: one.flat))):>7}"
    )


def errors(group: Sequence[Prediction], pick: Pick) -> list[float]:
    """Errors of one kind of prediction, where there is one."""
    values = ((one.measured, pick(one)) for one in group)
    return [error(measured, value) for measured, value in values if value]


def median(values: Sequence[float]) -> float | None:
    """None of nothing."""
    return statistics.median(values) if values else None


def coverage(group: Sequence[Prediction]) -> float | None:
    """Share of rows whose measurement lies in the printed band about the blind prediction."""
    known = [(one, one.blind) for one in group if one.blind]
    if not known:
        return None
    inside = 0
    for one, likely in known:
        ends = _printed(one)
        inside += ends.low * likely <= one.measured <= ends.high * likely
    return inside / len(known)


def _printed(one: Prediction) -> Band:
    """The band an answer prints."""
    work = one.case.work
    ends = band(one.quantity, work.family, one.classes, moe=work.is_moe)
    return ends if work.tensor == 1 else ends.widened(TENSOR_PARALLEL_BAND)


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"
