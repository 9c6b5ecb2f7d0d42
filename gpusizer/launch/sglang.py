"""`python -m sglang.launch_server`. Options: srt/server_args.py, 0.4 to 0.5."""

from __future__ import annotations

from gpusizer.launch.base import (
    LaunchCommand,
    LaunchPlan,
    above_one,
    cache_flag,
    command,
    number,
    only,
    weights_flags,
)

_CONVERTED = {"fp8": ("--quantization", "fp8"), "fp32": ("--dtype", "float32")}
_CACHE = {"fp8": "fp8_e4m3", "fp8_e4m3": "fp8_e4m3", "fp8_e5m2": "fp8_e5m2",
          "bf16": "bf16", "bfloat16": "bf16"}  # fmt: skip
_DEFAULT_SEQUENCES = 64  # what the estimate plans for at least


def launch(plan: LaunchPlan) -> LaunchCommand:
    """An OpenAI-compatible server on port 30000."""
    load, split = plan.workload, plan.split
    sequences = load.max_num_seqs
    if sequences is None and load.concurrency > _DEFAULT_SEQUENCES:
        sequences = load.concurrency
    weights, missing = weights_flags(plan, _CONVERTED)
    cache, untold = cache_flag(plan, "--kv-cache-dtype", _CACHE)
    flags = [
        ("--model-path", plan.repo_id),
        *only(plan.revision, "--revision", plan.revision or ""),
        ("--context-length", str(load.context)),
        *number("--max-running-requests", sequences),
        *number("--chunked-prefill-size", load.max_num_batched_tokens),
        ("--mem-fraction-static", f"{plan.utilization:g}"),
        *above_one("--tp-size", split.tensor),
        *above_one("--pp-size", split.pipeline),
        *weights,
        *cache,
        *only(load.enforce_eager, "--disable-cuda-graph"),
    ]
    text = command(("python", "-m", "sglang.launch_server"), flags)
    return LaunchCommand(plan.engine, text, "bash", (*missing, *untold))
