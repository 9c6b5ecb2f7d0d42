"""The loss of one quantization of one model: measured, carried over from its files, or expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1, log

from gpusizer.quality.evidence import Evidence, MeasuredLoss, increase_of
from gpusizer.quality.relation import FLOOR, LossCase, log_loss

MEASURED, MEASURED_MODEL, ESTIMATED, CLASS, NATIVE = (
    "measured",
    "measured_model",
    "estimated",
    "class",
    "native",
)

# Basis of an answer, best first; "native" loses nothing by definition.
BASES = (MEASURED, MEASURED_MODEL, ESTIMATED, CLASS, NATIVE)

NARROW_BITS = 4.5  # Bits of a GGUF recipe below which an importance matrix has a large effect.

_NOISE = 0.005  # an increase that perplexity cannot tell from none
_ELSEWHERE = 0.5  # weight of a model's distance that one source measured in other formats alone
_UNKNOWN_MATRIX = 1.5  # a file without one loses that much more (quantization of equal bits)


@dataclass(frozen=True, slots=True)
class PredictedLoss:
    """Increase of perplexity as shares, and its basis."""

    low: float
    likely: float
    high: float
    basis: str
    logged: float  # natural logarithm of the loss
    # measurements behind it, of this recipe if it is measured, else of the model
    rows: tuple[MeasuredLoss, ...] = ()


def predict(
    case: LossCase, evidence: Evidence, kin: Sequence[str], maker: str = ""
) -> PredictedLoss:
    """Return the measured loss, else the relation at the level of the first known model.

    `kin` are names by `evidence.kin_of`, the model's own first.
    """
    known = next((name for name in kin if name in evidence.by_kin), "")
    value = log_loss(case, evidence.constants)
    basis = ESTIMATED if case.recipe.is_gguf else CLASS
    rows: tuple[MeasuredLoss, ...] = ()
    if known:
        ladder = evidence.ladder(known, maker, case.matrix)
        if not ladder.steps:
            ladder = evidence.ladder(known, "", case.matrix)
        step = ladder.steps.get(case.recipe.slug)
        if step is not None:
            return _banded(step[1], MEASURED, case, evidence, step[2])
        own, rows = evidence.level(known), evidence.by_kin[known]
        value += _weight_of(rows, case) * (own.level + own.slope * case.x)
        basis = MEASURED_MODEL
        value = ladder.within(case.recipe, value)
    elif kin:
        value += evidence.level(kin[-1]).level
    return _banded(value, basis, case, evidence, rows)


def _weight_of(rows: Sequence[MeasuredLoss], case: LossCase) -> float:
    # Of six models measured both as GGUF files and otherwise, the one predicts four fifths of the
    # other's distance; what rests on one source alone counts for less.
    sources = {one.row["source_group"] for one in rows}
    is_alike = any(one.case.recipe.is_gguf == case.recipe.is_gguf for one in rows)
    return 1.0 if is_alike or len(sources) > 1 else _ELSEWHERE


def _banded(
    value: float,
    basis: str,
    case: LossCase,
    evidence: Evidence,
    rows: tuple[MeasuredLoss, ...],
) -> PredictedLoss:
    constants = evidence.constants
    factor = {end: constants.get(f"{end}_{basis}", 2.5) for end in ("low", "high")}
    narrow = case.recipe.is_gguf and case.recipe.bits < NARROW_BITS
    if narrow and case.matrix is None and basis != MEASURED:
        factor = {end: times * _UNKNOWN_MATRIX for end, times in factor.items()}
    likely = increase_of(value)
    if value <= log(FLOOR) and basis == MEASURED:
        likely = max(0.0, sum(expm1(one.loss) for one in rows) / len(rows)) if rows else likely
        likely = min(likely, expm1(FLOOR))
    low = likely / factor["low"]
    high = max(likely * factor["high"], _NOISE)
    return PredictedLoss(0.0 if low < exp(log(FLOOR)) else low, likely, high, basis, value, rows)
