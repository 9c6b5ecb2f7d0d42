"""Derivation of an estimate: each part as a formula with the numbers of the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from gpusizer.answers.report import EstimateRow
from gpusizer.core.byte_ranges import Amount, Provenance, exactly
from gpusizer.memory.kv_cache import STEPS, key_and_value_bytes, layer_cache
from gpusizer.memory.projector import tower_parameters
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture, LayerSpec
from gpusizer.model.profile import HEADERS, ModelProfile

_STATE = "4 B"  # recurrent states are kept in FP32


@dataclass(frozen=True, slots=True)
class DerivationStep:
    """One line of a sum.

    Attributes:
        part: part of the memory that it belongs to, as in `Breakdown`.
        rule: which formula, by the name that texts are found under.
        formula: the formula with its numbers; "" where the rule is longer than a line.
        amount: what it adds, with its band.
        correction: bytes that the engine adds to (or, below zero, takes off) the lines before;
            `amount` is then its size.
    """

    part: str
    rule: str
    formula: str
    amount: Amount
    correction: int = 0


def derivation(row: EstimateRow) -> tuple[DerivationStep, ...]:
    """The lines whose sum is `row.estimate.all_gpus`."""
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
    """Weights of the files, or of every tensor at the type that the quantization gives it; a
    projector's file apart.
    """
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
    """What a draft model adds to the weights or the cache."""
    if row.estimate.draft is not None:
        amount = getattr(row.estimate.draft.all_gpus, part)
        yield DerivationStep(part, "draft", "", amount)


def _cache(architecture: Architecture | None, workload: Workload) -> Iterator[DerivationStep]:
    """One line for each kind of layer that caches alike."""
    if architecture is None or not architecture.generates:
        return
    counts: dict[tuple[object, ...], tuple[LayerSpec, int]] = {}
    for spec in architecture.layer_plan:
        key = (
            spec.attention,
            spec.key_width,
            spec.value_width,
            spec.window,
            spec.state_elements,
            spec.compress_ratio,
            spec.indexer_width,
        )
        first, count = counts.get(key, (spec, 0))
        counts[key] = first, count + spec.count
    for spec, count in _plain(counts.values()):
        layer_steps = layer_cache(spec, workload.kv_dtype, workload.context, 1)
        size = -(-layer_steps * count * workload.concurrency // STEPS)
        if size:
            rule, formula = _layers(spec, count, workload)
            yield DerivationStep("kv_cache", rule, formula, exactly(size, Provenance.DERIVED))


def _plain(counted: Iterable[tuple[LayerSpec, int]]) -> Iterator[tuple[LayerSpec, int]]:
    """Layers that keep several things apart: their windows, what stands for the whole context, an
    indexer's keys, and a state."""
    for spec, count in counted:
        yield from ((part, count) for part in spec.parts())


def _layers(spec: LayerSpec, count: int, workload: Workload) -> tuple[str, str]:
    """The rule for layers of one kind, and it with numbers (`kv_cache.layer_cache`)."""
    sequences = f" × {workload.concurrency:,}" if workload.concurrency > 1 else ""
    if spec.is_recurrent:
        return "state", f"{count:,} × {spec.state_elements:,} × {_STATE}{sequences}"
    keys, values = key_and_value_bytes(workload.kv_dtype)
    if spec.compress_ratio:
        entries = workload.context // spec.compress_ratio
        inner = f"{spec.compressed_elements:,} × {_bytes(keys)}"
        return "layers", f"{count:,} × {inner} × {entries:,}{sequences}"
    each = [
        f"{width:,} × {_bytes(heads)}"
        for width, heads in ((spec.key_width, keys), (spec.value_width, values))
        if width
    ]
    inner = f"({' + '.join(each)})" if len(each) > 1 else each[0]
    rule, tokens = "layers", workload.context
    if spec.window is not None and spec.window < tokens:
        rule, tokens = "window", spec.window
    return rule, f"{count:,} × {inner} × {tokens:,}{sequences}"


def _bytes(width: Fraction) -> str:
    return f"{float(width):g} B"


def _closed(part: str, steps: list[DerivationStep], amount: Amount) -> list[DerivationStep]:
    """The steps, and one for the engine's correction where their sum differs from its amount."""
    correction_bytes = amount.likely - sum(step.amount.likely for step in steps)
    if not correction_bytes:
        return steps
    size = exactly(abs(correction_bytes), amount.provenance)
    return [*steps, DerivationStep(part, "engine", "", size, correction=correction_bytes)]
