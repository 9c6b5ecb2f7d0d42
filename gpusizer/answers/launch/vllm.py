"""Commands for `vllm serve`. Source of the options: vllm/engine/arg_utils.py, v0.11 to v0.30.

Experts are dealt out to all tensor x data ranks (docs, "Expert Parallel Deployment"); scheduler
limits apply to each data-parallel rank ("Data Parallel Deployment").

Over several machines the command runs on each, with `--headless` on all but the first. Machines
that hold whole data-parallel ranks are told apart by `--data-parallel-start-rank` (same page), all
others by `--node-rank`, which needs no Ray since the end of 2025 ("Parallelism and Scaling", pull
request 30509) but the same number of GPUs on each machine (`create_engine_config` of arg_utils.py).

`--quantization fp8` and `bitsandbytes` convert 16-bit weights while loading (docs, "FP8 W8A8",
"BitsAndBytes"); cache types are `CacheDType` of vllm/config/cache.py.
"""

from __future__ import annotations

import json

from gpusizer.answers.launch.base import (
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
from gpusizer.core.messages import Note

_CONVERTED = {
    "fp8": ("--quantization", "fp8"),
    "bnb-nf4": ("--quantization", "bitsandbytes"),
    "bnb-nf4-dq": ("--quantization", "bitsandbytes"),
    "fp32": ("--dtype", "float32"),  # by default vLLM converts FP32 checkpoints to 16 bits
}
_CACHE = {
    "fp8": "fp8",
    "fp8_e4m3": "fp8_e4m3",
    "fp8_e5m2": "fp8_e5m2",
    "bf16": "bfloat16",
    "bfloat16": "bfloat16",
}
_DEFAULT_SEQUENCES = 256
_HEADLESS = Note("launch_headless")


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts an OpenAI-compatible server on port 8000."""
    load, split = plan.workload, plan.split
    weights, missing = weights_flags(plan, _CONVERTED)
    cache, untold = cache_flag(plan, "--kv-cache-dtype", _CACHE)
    joined, node_notes = _nodes(plan)
    flags = [
        *only(plan.revision, "--revision", plan.revision or ""),
        ("--max-model-len", str(load.context)),
        *number("--max-num-seqs", sequences_above(plan, _DEFAULT_SEQUENCES)),
        *number("--max-num-batched-tokens", load.max_num_batched_tokens),
        ("--gpu-memory-utilization", f"{plan.utilization:g}"),
        *above_one("--tensor-parallel-size", split.tensor),
        *above_one("--pipeline-parallel-size", split.pipeline),
        *above_one("--data-parallel-size", split.data),
        *only(split.expert > 1, "--enable-expert-parallel"),
        *weights,
        *cache,
        *only(load.max_loras, "--enable-lora"),
        *only(load.max_loras, "--max-loras", str(load.max_loras)),
        *only(load.max_loras, "--max-lora-rank", str(load.max_lora_rank)),
        *only(load.enforce_eager, "--enforce-eager"),
        *only(load.prefix_caching, "--enable-prefix-caching"),
        *only(load.text_only, "--language-model-only"),
        *only(load.draft_tokens, "--speculative-config", _speculation(plan)),
        *joined,
    ]
    text = command(("vllm", "serve", plan.repo_id), flags)
    return LaunchCommand(plan.engine, text, "bash", (*missing, *untold, *node_notes))


def _speculation(plan: LaunchPlan) -> str:
    """Return the settings of guessed tokens: `SpeculativeConfig` of vllm/config/speculative.py."""
    method, model = "mtp", {}
    if plan.draft is not None:
        method, model = plan.draft.method, {"model": plan.draft.repo_id}
    tokens = plan.workload.draft_tokens
    return json.dumps({"method": method, **model, "num_speculative_tokens": tokens})


def _nodes(plan: LaunchPlan) -> tuple[list[Flag], tuple[Note, ...]]:
    """Return the options of the first machine, and a note on the values for the others."""
    nodes, data = plan.nodes, plan.split.data
    if nodes == 1:
        return [], ()
    if data % nodes == 0:
        return _ranks_on_each(data // nodes), (
            on_each_node(plan, "--data-parallel-start-rank", data // nodes),
            _HEADLESS,
        )
    if plan.split.gpus % nodes or nodes % data:
        return [], one_node(plan)
    flags: list[Flag] = [
        ("--distributed-executor-backend", "mp"),
        ("--nnodes", str(nodes)),
        ("--node-rank", "0"),
        ("--master-addr", HEAD_NODE),
    ]
    return flags, (on_each_node(plan, "--node-rank"), _HEADLESS)


def _ranks_on_each(local: int) -> list[Flag]:
    return [
        ("--data-parallel-size-local", str(local)),
        ("--data-parallel-start-rank", "0"),
        ("--data-parallel-address", HEAD_NODE),
    ]
