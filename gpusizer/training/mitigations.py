"""Mitigations: bytes that each saves, and after which of them a GPU holds the training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpusizer.core.bisection import largest_holding
from gpusizer.core.messages import Note
from gpusizer.training.fit import TrainingFit, TrainingFitter
from gpusizer.training.optimizers import find_optimizer
from gpusizer.training.plan import TrainingPlan, with_precision

_MOST_TOKENS = 1 << 24
_SHARDED_OVER = 8


@dataclass(frozen=True, slots=True)
class Mitigation:
    """One mitigation on top of those before it."""

    note: Note  # code of the change
    alone_bytes: int  # saved on each GPU when nothing else is changed; negative when it costs
    saving_bytes: int  # saved by this step after those before it
    total_bytes: int  # needed by one GPU after it (`TrainingMemory.needed`), at the likely values
    fits: bool | None  # whether a named GPU's device then holds it; None without a GPU
    plan: TrainingPlan  # the settings after it


PlanChange = tuple[Note, dict[str, object]]


def ladder(
    fitter: TrainingFitter, plan: TrainingPlan, device: int | None
) -> tuple[Mitigation, ...]:
    """Return every mitigation that saves and that the plan does not use yet, gentle ones first."""
    current, mitigations = plan, list[Mitigation]()
    # A mitigation that saves nothing because another moment of the step is the peak is tried again
    # after each later one.
    while (mitigation := _next(fitter, plan, current, device)) is not None:
        mitigations.append(mitigation)
        current = mitigation.plan
    return tuple(mitigations)


def _next(
    fitter: TrainingFitter, plan: TrainingPlan, current: TrainingPlan, device: int | None
) -> Mitigation | None:
    # The gentlest change that saves on top of `current`.
    start, before = (fitter.memory(other).needed.likely for other in (plan, current))
    for note, values in _changes(current):
        after = _changed(fitter, current, values)
        total = fitter.memory(after).needed.likely
        if total >= before:
            continue
        alone = start - fitter.memory(_changed(fitter, plan, values)).needed.likely
        fits = None if device is None else total <= device
        return Mitigation(note, alone, before - total, total, fits, after)
    return None


def _changed(fitter: TrainingFitter, plan: TrainingPlan, values: dict[str, object]) -> TrainingPlan:
    return with_precision(plan.changed(**values), given="precision" in fitter.given)


def _changes(plan: TrainingPlan) -> Iterator[PlanChange]:
    # Gentle changes come first.
    if not plan.flash_attention:
        yield Note("train_flash"), {"flash_attention": True}
    if plan.gradient_checkpointing != "full":
        yield Note("train_checkpointing"), {"gradient_checkpointing": "full"}
    if not plan.fused_loss:
        yield Note("train_fused_loss"), {"fused_loss": True}
    if plan.micro_batch != 1:
        more = plan.gradient_accumulation * plan.micro_batch
        note = Note("train_micro_batch", accumulation=more)
        yield note, {"micro_batch": 1, "gradient_accumulation": more}
    if find_optimizer(plan.optimizer).slug in ("adamw", "adamw_fp32", "paged_adamw"):
        yield Note("train_8bit_optimizer"), {"optimizer": "adamw_8bit"}
    if not plan.adapted:
        yield Note("train_lora", rank=plan.lora_rank), {"method": "lora"}
    if plan.method != "qlora":
        yield Note("train_qlora", rank=plan.lora_rank), {"method": "qlora", "base": "auto"}
    if plan.offload == "none" and not plan.adapted:
        yield Note("train_offload_optimizer"), {"offload": "optimizer"}
    if plan.sharding not in ("fsdp", "zero3"):
        gpus = max(plan.gpus, _SHARDED_OVER * plan.gpus // plan.data_parallel)
        yield Note("train_shard", devices=gpus), {"sharding": "fsdp", "gpus": gpus}
    if plan.offload != "all":
        yield Note("train_offload_all"), {"offload": "all"}


@dataclass(frozen=True, slots=True)
class TrainingLimits:
    """Largest values that fit on the named GPUs with other settings unchanged; 0 for none."""

    sequence_length: int
    micro_batch: int
    lora_rank: int | None


def most(fitter: TrainingFitter, fit: TrainingFit) -> TrainingLimits:
    """Return the longest sequence, biggest micro-batch and highest rank on the GPUs of a fit."""
    # `SPARING` counts too, if it may be taken by default.
    plans, device = (fit.plan, *fitter.spared(fit)), fit.room_bytes

    def fits(**values: object) -> bool:
        changed = (plan.changed(**values) for plan in plans)
        return any(fitter.estimator.estimate(p).needed.likely <= device for p in changed)

    return TrainingLimits(
        sequence_length=largest_holding(lambda n: fits(sequence_length=n), _MOST_TOKENS),
        micro_batch=largest_holding(lambda n: fits(micro_batch=n), 1 << 16),
        lora_rank=largest_holding(lambda n: fits(lora_rank=n), 1 << 14)
        if fit.plan.adapted
        else None,
    )
