"""The ways to run a model on one kind of GPU, as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.plans.plan import RunPlan
from gpusizer.text import say_note, text
from gpusizer.units import format_gib

_MORE = 2  # notes of a way that fit a line


def plan_lines(plans: Sequence[RunPlan]) -> list[str]:
    """One line for each way, with what it costs or why it is not possible."""
    return [f"  - {_line(plan)}" for plan in plans]


def _line(plan: RunPlan) -> str:
    words = [f"{text(f'plan.{plan.kind}', 'en')}, {plan.boards} x {plan.gpu.name}"]
    if plan.fit is not None:
        split, estimate = plan.split, plan.fit.estimate
        degrees = f"TP {split.tensor} PP {split.pipeline}"
        if split.expert > 1:
            degrees += f" EP {split.expert} DP {split.data}"
        words.append(f"{estimate.quant.slug} with {estimate.engine.slug}, {degrees}")
        spare = plan.fit.headroom_bytes
        left = "to spare" if spare >= 0 else "missing"
        words.append(f"{format_gib(abs(spare))} {left} on each")
    if plan.nodes > 1:
        words.append(f"{plan.nodes} machines")
    if plan.link.kind != "none":
        words.append(" ".join(filter(None, ("over", plan.link.name or plan.link.kind))))
    if plan.ram_bytes:
        words.append(f"{format_gib(plan.ram_bytes)} in system memory")
    if plan.decode is not None:
        words.append(f"{plan.decode.low:g}-{plan.decode.high:g} tok/s")
    said = " ".join(say_note(note) for note in plan.notes[:_MORE])
    verdict = text(f"verdict.{plan.verdict.value}", "en")
    return f"{verdict}: {'; '.join(words)}. {said}".rstrip()
