"""A launch plan, and the command and notes made of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpusizer.launch import LAUNCHERS, LaunchCommand, LaunchPlan, launch_command
from gpusizer.memory.engines import Split
from gpusizer.memory.workload import Workload
from gpusizer.usecases.report import Report

PLAN = LaunchPlan(
    repo_id="org/model",
    revision=None,
    format="safetensors",
    task="text-generation",
    stored=True,
    quantized=False,
    quant="bf16",
    quant_name="BF16 / FP16",
    engine="vllm",
    stack="CUDA",
    split=Split(),
    utilization=0.92,
    workload=Workload(context=8192),
)


def plan(engine: str, workload: dict[str, Any] | None = None, **changes: Any) -> LaunchPlan:
    load = replace(PLAN.workload, **(workload or {}))
    return replace(PLAN, engine=engine, workload=load, **changes)


def command_of(report: Report) -> LaunchCommand:
    """Return the command of the first place."""
    return launch_command(report.profile, report.ranking[0].fit.config, report.workload)


def text(launch_plan: LaunchPlan) -> str:
    return LAUNCHERS[launch_plan.engine](launch_plan).text


def flat(launch_plan: LaunchPlan) -> str:
    """Return the command with its options on one line."""
    return text(launch_plan).replace(" \\\n  ", " ")


def codes(launch_plan: LaunchPlan) -> list[str]:
    return [note.code for note in LAUNCHERS[launch_plan.engine](launch_plan).notes]


GGUF = {"format": "gguf", "quant": "q4_k_m", "quant_name": "GGUF Q4_K_M", "repo_id": "org/m-GGUF"}
