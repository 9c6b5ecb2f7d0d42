"""Measured runs reduced to the inputs of `speed_fit`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bench.speed_cases import Case
from gpusizer.speed.classes import Classes, decode_classes, prefill_classes
from gpusizer.speed.decode import step_cost
from gpusizer.speed.prefill import prompt_cost

Left = frozenset[str]  # sources, boards and classes that a fit leaves out
NONE: Left = frozenset()


@dataclass(frozen=True, slots=True)
class Sample:
    """One row as inputs of a fit: how its prediction depends on two constants."""

    case: Case
    classes: Classes
    varying: float
    other: float
    fixed: float
    measured: float
    launched: bool = False
    expert_layers: float = 0.0

    @property
    def format(self) -> str:
        return self.case.work.format

    @property
    def board(self) -> str:
        """The card whatever its memory."""
        return self.case.board

    def left_out(self, without: Left) -> bool:
        """Return whether a fit without these is one without this row."""
        return bool(without & self.belongs_to)

    @property
    def belongs_to(self) -> Left:
        """Its source, its board and its narrowest class of decoding."""
        return self.case.belongs_to


def decode_samples(cases: Iterable[Case]) -> list[Sample]:
    """Return runs of one user as samples.

    seconds = varying / efficiency + other x per layer + fixed, and for mixtures + expert layers x
    per expert layer.
    """
    samples = []
    for case in cases:
        rate, cost = case.measured("decode"), step_cost(case.work, case.gpu, 1)
        if rate and cost and case.concurrency == 1:
            classes = decode_classes(case.gpu)
            varying = cost.reading + cost.cache
            samples.append(
                Sample(
                    case,
                    classes,
                    varying,
                    cost.layers,
                    cost.fixed,
                    1 / rate,
                    cost.launched,
                    cost.expert_layers,
                )
            )
    return samples


def prefill_samples(cases: Iterable[Case]) -> list[Sample]:
    """Return prompts as samples.

    seconds per token = (varying / share + other) / utilization + fixed
    """
    samples = []
    for case in cases:
        rate, cost = case.measured("prefill"), prompt_cost(case.prompt_work, case.gpu)
        if rate and cost and case.split != "tensor":
            classes, side_by_side = prefill_classes(case.gpu), cost.pipelined
            varying, other, fixed = (
                side_by_side * part for part in (cost.products, cost.attention, cost.fixed)
            )
            samples.append(Sample(case, classes, varying, other, fixed, 1 / rate))
    return samples
