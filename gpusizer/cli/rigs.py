"""A model on a machine of mixed cards, as plain text."""

from __future__ import annotations

from gpusizer.rig.machine import SYSTEM_BYTES
from gpusizer.rig.plan import RigPlan
from gpusizer.rig.shares import Share
from gpusizer.text import say_note, text
from gpusizer.units import GIB, format_gib

Row = tuple[str, ...]
RIG_HEAD = (
    "device", "GiB", "layers", "weights", "KV", "activ.", "overhead", "total", "spare", "verdict",
)  # fmt: skip


def rig_rows(plan: RigPlan) -> list[Row]:
    """One row for each device, and one for system memory."""
    made = plan.arranged
    rows = [
        _row(gpu.name, gpu.device_memory_bytes, share, text(f"verdict.{verdict.value}", "en"))
        for gpu, share, verdict in zip(plan.rig.gpus, made.devices, made.verdicts, strict=False)
    ]
    if not plan.rig.shares_memory:
        verdict = made.host_verdict
        said = "unknown" if verdict is None else text(f"verdict.{verdict.value}", "en")
        rows.append(_row("system memory", plan.rig.free_ram_bytes, made.host, said))
    return rows


def rig_lines(plan: RigPlan) -> list[str]:
    """What else there is to say."""
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


def _row(name: str, memory_bytes: int | None, share: Share, verdict: str) -> Row:
    whole = share.total.likely
    amounts = (share.weights, share.kv_cache, share.activations, share.overhead, share.total)
    return (
        name,
        "unknown" if memory_bytes is None else f"{memory_bytes / GIB:.1f}",
        f"{share.layers}{'+output' if share.output else ''}",
        *(f"{amount.likely / GIB:.2f}" for amount in amounts),
        "unknown" if memory_bytes is None else f"{(memory_bytes - whole) / GIB:.1f}",
        verdict,
    )
