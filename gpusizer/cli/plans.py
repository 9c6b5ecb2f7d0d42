"""Parallelism plans of a model on one kind of GPU, and its plan on mixed GPUs, as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.core.units import GIB, format_gib
from gpusizer.fit.mixed_gpus.device_shares import DeviceShare
from gpusizer.fit.mixed_gpus.machine import SYSTEM_BYTES
from gpusizer.fit.mixed_gpus.rig_plan import RigPlan
from gpusizer.fit.parallelism.run_plan import RunPlan
from gpusizer.text import say_note, text

DeviceRow = tuple[str, ...]
RIG_HEAD = (
    "device",
    "GiB",
    "layers",
    "weights",
    "KV",
    "activ.",
    "overhead",
    "total",
    "spare",
    "verdict",
)
_MORE = 2  # notes printed for each plan


def plan_lines(plans: Sequence[RunPlan]) -> list[str]:
    """Write one line for each plan: its memory and speed, or why it is impossible."""
    return [f"  - {_plan_line(plan)}" for plan in plans]


def _plan_line(plan: RunPlan) -> str:
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
    remarks = " ".join(say_note(note) for note in plan.notes[:_MORE])
    verdict = text(f"verdict.{plan.verdict.value}", "en")
    return f"{verdict}: {'; '.join(words)}. {remarks}".rstrip()


def rig_rows(plan: RigPlan) -> list[DeviceRow]:
    """Return one row for each device, and one for system memory."""
    arranged = plan.arranged
    rows = [
        _device_row(gpu.name, gpu.device_free_bytes, share, text(f"verdict.{verdict.value}", "en"))
        for gpu, share, verdict in zip(
            plan.rig.gpus, arranged.devices, arranged.verdicts, strict=False
        )
    ]
    if not plan.rig.shares_memory:
        verdict = arranged.host_verdict
        verdict_text = "unknown" if verdict is None else text(f"verdict.{verdict.value}", "en")
        rows.append(
            _device_row("system memory", plan.rig.free_ram_bytes, arranged.host, verdict_text)
        )
    return rows


def rig_lines(plan: RigPlan) -> list[str]:
    """Write the plan in lines: verdict, switches, longest context, speed and notes."""
    longest = plan.max_context
    lines = [
        f"{plan.estimate.quant.name} with {plan.estimate.engine.name} ({plan.rig.backend}):"
        f" {text(f'verdict.{plan.verdict.value}', 'en')}",
        f"  switches        {' '.join(plan.flags)}",
        f"  max context     {'unknown' if longest is None else f'{longest:,}'}",
    ]
    if plan.decode is not None:
        lines.append(f"  tok/s           {plan.decode.low:g}-{plan.decode.high:g}")
    if plan.rig.free_ram_bytes is not None and not plan.rig.shares_memory:
        lines.append(f"  of system memory {format_gib(SYSTEM_BYTES)} are taken to be in use")
    return lines + [f"  {say_note(note)}" for note in plan.notes]


def _device_row(name: str, memory_bytes: int | None, share: DeviceShare, verdict: str) -> DeviceRow:
    total = share.total.likely
    amounts = (share.weights, share.kv_cache, share.activations, share.overhead, share.total)
    return (
        name,
        "unknown" if memory_bytes is None else f"{memory_bytes / GIB:.1f}",
        f"{share.layers}{'+output' if share.output else ''}",
        *(f"{amount.likely / GIB:.2f}" for amount in amounts),
        "unknown" if memory_bytes is None else f"{(memory_bytes - total) / GIB:.1f}",
        verdict,
    )
