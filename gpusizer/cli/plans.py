"""Parallelism plans of a model on one kind of GPU, and its plan on mixed GPUs, as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.launch.llama_cpp import machine_flags
from gpusizer.answers.machine_json import devices_json, ram_json
from gpusizer.cli.losses import loss_text
from gpusizer.cli.output import UNKNOWN, Columns, Json, boards_text, gib, number, span, verdict_text
from gpusizer.core.units import format_gib
from gpusizer.fit.machine import SYSTEM_BYTES
from gpusizer.fit.parallelism.run_plan import RunPlan
from gpusizer.fit.ranking import Ranked
from gpusizer.memory.workload import Workload
from gpusizer.text import say_note, text

_MORE = 2  # notes printed for each plan


def plan_lines(plans: Sequence[RunPlan]) -> list[str]:
    """Write one line for each plan: its memory and speed, or why it is impossible."""
    return [f"  - {_plan_line(plan)}" for plan in plans]


def _plan_line(plan: RunPlan) -> str:
    words = [f"{text(f'plan.{plan.kind}', 'en')}, {boards_text(plan.boards, plan.gpu)}"]
    if plan.fit is not None:
        split, estimate = plan.split, plan.fit.estimate
        degrees = f"TP {split.tensor} PP {split.pipeline}"
        if split.expert > 1:
            degrees += f" EP {split.expert} DP {split.data}"
        words.append(f"{estimate.quant.slug} with {estimate.engine.slug}, {degrees}")
        spare = plan.fit.headroom_bytes
        if spare is not None:
            left = "to spare" if spare >= 0 else "missing"
            words.append(f"{format_gib(abs(spare))} {left} on each")
    if plan.nodes > 1:
        words.append(f"{plan.nodes} machines")
    if plan.link.kind != "none":
        words.append(" ".join(filter(None, ("over", plan.link.name or plan.link.kind))))
    if plan.ram_bytes:
        words.append(f"{format_gib(plan.ram_bytes)} in system memory")
    if plan.decode is not None:
        words.append(f"{span(plan.decode)} tok/s")
    remarks = " ".join(say_note(note) for note in plan.notes[:_MORE])
    return f"{verdict_text(plan.verdict)}: {'; '.join(words)}. {remarks}".rstrip()


RIG: Columns[Json] = {
    "device": lambda row: row["name"],
    "GiB": lambda row: gib(row["free_bytes"], 1),
    "layers": lambda row: f"{row.get('layers', '')}{'+output' if row.get('output') else ''}",
    "weights": lambda row: gib(row["weights_bytes"]),
    "KV": lambda row: gib(row["kv_cache_bytes"]),
    "activ.": lambda row: gib(row["activations_bytes"]),
    "overhead": lambda row: gib(row["overhead_bytes"]),
    "total": lambda row: gib(row["total_bytes"]),
    "spare": lambda row: gib(row["headroom_bytes"], 1),
    "verdict": lambda row: text(f"verdict.{row['verdict']}", "en") if row["verdict"] else UNKNOWN,
}


def rig_rows(place: Ranked) -> list[Json]:
    """Return one row for each device that holds anything, and one for system memory."""
    way = place.fit.way
    machine = way.machine
    devices = zip(machine.gpus, devices_json(way), strict=True)
    rows = [{"name": gpu.name, **row} for gpu, row in devices if "total_bytes" in row]
    ram = ram_json(way)
    if ram is not None and way.arranged is not None:
        rows.append({"name": "system memory", "free_bytes": machine.free_ram_bytes, **ram})
    return rows


def rig_lines(place: Ranked, workload: Workload) -> list[str]:
    """Write the place in lines: verdict, switches, longest context, speed and notes."""
    fit, machine = place.fit, place.fit.machine
    longest, flags = fit.max_context, machine_flags(workload, fit.way)
    lines = [
        f"{fit.estimate.quant.name} with {fit.estimate.engine.name} ({machine.backend}):"
        f" {verdict_text(fit.verdict)}",
        f"  {'loss':<15} {loss_text(fit.estimate)}",
        *([f"  switches        {' '.join(flags)}"] if flags else []),
        f"  max context     {number(longest)}",
    ]
    if place.decode is not None:
        lines.append(f"  tok/s           {span(place.decode)}")
    if machine.free_ram_bytes is not None and not machine.shares_memory:
        lines.append(f"  of system memory {format_gib(SYSTEM_BYTES)} are taken to be in use")
    return lines + [f"  {say_note(note)}" for note in (*machine.notes, *place.reasons)]
