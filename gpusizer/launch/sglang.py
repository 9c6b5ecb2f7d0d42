"""`python -m sglang.launch_server`. Options: srt/server_args.py, 0.4 to 0.5.

With data-parallel attention (`--enable-dp-attention`) the tensor-parallel size counts all ranks,
of which attention divides by TP / DP, and the server divides the limits of its scheduler among the
data-parallel ranks (`chunked_prefill_size // dp_size` in server_args.py, of its own default too;
`max_running_requests // dp_size` in srt/model_executor). Experts are dealt out by `--ep-size` alone
from 0.5 on.

Over several machines the same command is run on each with another `--node-rank`; whole stages go
to a machine, or whole parts of a stage (`_calculate_rank_ranges`, srt/entrypoints/engine.py).
"""

from __future__ import annotations

from gpusizer.launch.base import (
    HEAD_NODE,
    Flag,
    LaunchCommand,
    LaunchPlan,
    above_one,
    cache_flag,
    command,
    number,
    on_each_node,
    one_node,
    only,
    sequences_above,
    weights_flags,
)
from gpusizer.notes import Note

_CONVERTED = {"fp8": ("--quantization", "fp8"), "fp32": ("--dtype", "float32")}
_CACHE = {"fp8": "fp8_e4m3", "fp8_e4m3": "fp8_e4m3", "fp8_e5m2": "fp8_e5m2",
          "bf16": "bf16", "bfloat16": "bf16"}  # fmt: skip
_DEFAULT_SEQUENCES = 64  # what the estimate plans for at least
_INIT_PORT = 5000  # of the machine that the others ask (SGLang's own examples)


def launch(plan: LaunchPlan) -> LaunchCommand:
    """An OpenAI-compatible server on port 30000."""
    load, split = plan.workload, plan.split
    sequences = sequences_above(plan, _DEFAULT_SEQUENCES)
    weights, missing = weights_flags(plan, _CONVERTED)
    cache, untold = cache_flag(plan, "--kv-cache-dtype", _CACHE)
    joined, told = _nodes(plan)
    flags = [
        ("--model-path", plan.repo_id),
        *only(plan.revision, "--revision", plan.revision or ""),
        ("--context-length", str(load.context)),
        *_of_all_ranks("--max-running-requests", sequences, split.data),
        *_of_all_ranks("--chunked-prefill-size", _chunk(plan), split.data),
        ("--mem-fraction-static", f"{plan.utilization:g}"),
        *above_one("--tp-size", split.ranks),
        *above_one("--pp-size", split.pipeline),
        *above_one("--dp-size", split.data),
        *only(split.data > 1, "--enable-dp-attention"),
        *above_one("--ep-size", split.expert),
        *weights,
        *cache,
        *only(load.enforce_eager, "--disable-cuda-graph"),
        *joined,
    ]
    text = command(("python", "-m", "sglang.launch_server"), flags)
    return LaunchCommand(plan.engine, text, "bash", (*missing, *untold, *told))


def _chunk(plan: LaunchPlan) -> int | None:
    """Prompt tokens of a rank's step, None for the server's default.

    That default is of all data-parallel ranks together, the estimate's of each.
    """
    asked = plan.workload.max_num_batched_tokens
    return asked or (plan.step_tokens if plan.split.data > 1 else None)


def _nodes(plan: LaunchPlan) -> tuple[list[Flag], tuple[Note, ...]]:
    """The options of the first machine, and what is different on the others."""
    nodes, stages = plan.nodes, plan.split.pipeline
    whole = stages % nodes == 0
    parts = nodes % stages == 0 and plan.split.ranks % (nodes // stages) == 0
    if nodes == 1 or not (whole or parts):
        return [], one_node(plan)
    flags: list[Flag] = [
        ("--nnodes", str(nodes)),
        ("--node-rank", "0"),
        ("--dist-init-addr", f"{HEAD_NODE}:{_INIT_PORT}"),
    ]
    return flags, (on_each_node(plan, "--node-rank"),)


def _of_all_ranks(name: str, limit: int | None, ranks: int) -> list[Flag]:
    """A limit of one data-parallel rank's scheduler, as the server takes it: of all together."""
    return number(name, None if limit is None else limit * ranks)
