"""Derivation of an estimate: each part as a formula with the numbers of the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from gpusizer.core.byte_ranges import Amount, Provenance, exactly
from gpusizer.memory.kv_cache import STATE_BYTES, STEPS, key_and_value_bytes, part_cache
from gpusizer.memory.projector import tower_parameters
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.architecture.layer_kinds import Layer
from gpusizer.model.architecture.layer_kinds.parts import CachePart
from gpusizer.model.profile import HEADERS, ModelProfile
from gpusizer.usecases.report import EstimateRow


@dataclass(frozen=True, slots=True)
class DerivationStep:
    """One line of a sum."""

    part: str  # part of the memory, as in `Breakdown`
    rule: str  # name of the formula, under which texts are found
    formula: str  # the formula with its numbers; "" if the rule is longer than a line
    amount: Amount  # summand with its band
    # Bytes that the engine adds to the lines before, or takes off if negative; `amount` is then its
    # size.
    correction: int = 0


def derivation(row: EstimateRow) -> tuple[DerivationStep, ...]:
    """Return the lines whose sum is `row.estimate.all_gpus`."""
    memory, placed = row.estimate.all_gpus, row.estimate.placement
    weights = [*_weights(row, placed.profile), *_draft(row, "weights")]
    cache = [*_cache(placed.arch, placed.workload), *_draft(row, "kv_cache")]
    steps = [
        *_closed("weights", weights, memory.weights),
        *_closed("kv_cache", cache, memory.kv_cache),
        DerivationStep("activations", "activations", "", memory.activations),
        DerivationStep("overhead", "overhead", "", memory.overhead),
        DerivationStep("overhead", "outside", "", memory.outside),
    ]
    return tuple(step for step in steps if step.amount.high)


def _weights(row: EstimateRow, profile: ModelProfile) -> Iterator[DerivationStep]:
    # Weights of the files, or of every tensor at its type in the quantization; a projector's file
    # is a line of its own.
    size = row.estimate.sizes.total - row.projector_bytes
    if row.estimate.native and size == profile.weight_bytes and profile.weights_basis == HEADERS:
        exact = exactly(size, Provenance.EXACT)
        yield DerivationStep("weights", "tensors", f"Σ {profile.tensor_count:,}", exact)
        return
    parameters = row.parameters - (tower_parameters(profile) if row.projector_bytes else 0)
    bits = round(size * 8 / parameters, 4) if parameters else 0.0
    formula = f"{parameters:,} × {bits:g} ÷ 8"
    yield DerivationStep("weights", "typed", formula, exactly(size, Provenance.DERIVED))
    if row.projector_bytes:
        amount = exactly(row.projector_bytes, Provenance.DERIVED)
        yield DerivationStep("weights", "projector", "", amount)


def _draft(row: EstimateRow, part: str) -> Iterator[DerivationStep]:
    if row.estimate.draft is not None:
        amount = getattr(row.estimate.draft.all_gpus, part)
        yield DerivationStep(part, "draft", "", amount)


def _cache(architecture: Architecture | None, workload: Workload) -> Iterator[DerivationStep]:
    # One line for each part of the layers that cache alike.
    if architecture is None or not architecture.generates:
        return
    counts: dict[tuple[object, ...], tuple[Layer, int]] = {}
    for run in architecture.layer_plan:
        alike = (run.layer.name, *((p.elements, p.limit, p.tokens_each) for p in run.layer.parts))
        first, count = counts.get(alike, (run.layer, 0))
        counts[alike] = first, count + run.count
    for layer, count in counts.values():
        for part in layer.parts:
            part_steps = part_cache(part, workload.kv_dtype, workload.context)
            size = -(-part_steps * count * workload.concurrency // STEPS)
            if size:
                rule, formula = _formula(part, count, workload)
                yield DerivationStep("kv_cache", rule, formula, exactly(size, Provenance.DERIVED))


def _formula(part: CachePart, count: int, workload: Workload) -> tuple[str, str]:
    # The rule of a part of `count` layers, and its formula with numbers (`CachePart.amount`).
    widths = (*key_and_value_bytes(workload.kv_dtype), Fraction(STATE_BYTES))
    pairs = zip(part.elements, widths, strict=True)
    each = [f"{elements:,} × {_bytes(width)}" for elements, width in pairs if elements]
    factors = [f"{count:,}", f"({' + '.join(each)})" if len(each) > 1 else each[0]]
    rule, context = "state", workload.context
    if part.tokens_each:
        rule = "layers" if part.limit is None or part.limit >= context else "window"
        factors.append(f"{part.times(context):,}")
    if workload.concurrency > 1:
        factors.append(f"{workload.concurrency:,}")
    return rule, " × ".join(factors)


def _bytes(width: Fraction) -> str:
    return f"{float(width):g} B"


def _closed(part: str, steps: list[DerivationStep], amount: Amount) -> list[DerivationStep]:
    # A last line states the engine's correction if the sum differs from its amount.
    correction_bytes = amount.likely - sum(step.amount.likely for step in steps)
    if not correction_bytes:
        return steps
    size = exactly(abs(correction_bytes), amount.provenance)
    return [*steps, DerivationStep(part, "engine", "", size, correction=correction_bytes)]
