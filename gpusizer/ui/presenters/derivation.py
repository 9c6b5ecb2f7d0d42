"""The derivation of each estimate: formulas with the model's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.derivation import DerivationStep, derivation
from gpusizer.usecases.report import EstimateRow


@dataclass(frozen=True, slots=True)
class Step:
    """A line of a sum: a part of memory, its formula, what that counts, and GiB."""

    part: str
    provenance: str
    formula: str
    rule: str
    amount: str


@dataclass(frozen=True, slots=True)
class Sum:
    """The lines that add up to the total of an estimate."""

    title: str
    steps: Sequence[Step]
    total: Amount


def sum_of(row: EstimateRow, words: Words) -> Sum:
    """Return the derivation of an estimate."""
    estimate, total = row.estimate, row.estimate.all_gpus.total
    title = f"{estimate.quant.name} · {estimate.engine.name} · {words.amount(total.likely)}"
    return Sum(title, [_step(step, row, words) for step in derivation(row)], total)


def _step(step: DerivationStep, row: EstimateRow, words: Words) -> Step:
    sign = "−" if step.correction < 0 else ""
    return Step(
        step.part,
        step.amount.provenance.value,
        words.written(step.formula) if step.formula else "",
        _rule(step, row, words),
        f"{sign}{words.gib(step.amount.likely)}",
    )


def _rule(step: DerivationStep, row: EstimateRow, words: Words) -> str:
    """Say what the formula counts, with its band where there is one."""
    key = f"engine.{step.part}" if step.rule == "engine" else step.rule
    rule = words(f"derivation.{key}", engine=row.estimate.engine.name)
    amount = step.amount
    if amount.low == amount.high:
        return rule
    band = words.amount_band(amount)
    return f"{rule} {band}"
