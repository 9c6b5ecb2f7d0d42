"""Commands for `vllm serve`. Source of the options: vllm/engine/arg_utils.py, v0.11 to v0.30."""

from __future__ import annotations

import json

from gpusizer.core.messages import Note
from gpusizer.launch.base import (
    HEAD_NODE,
    LaunchCommand,
    LaunchPlan,
    Options,
    above_one,
    command,
)
from gpusizer.memory.engines.kept_prefixes import offloading_gib

_DEFAULT_SEQUENCES = 256
_HEADLESS = Note("launch_headless")


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts an OpenAI-compatible server on port 8000."""
    load, split = plan.workload, plan.split
    weights, missing = plan.converted()
    cache, untold = plan.cached_as()
    joined, node_notes = _nodes(plan)
    offloading = offloading_gib(load, split)
    # Experts are dealt out to all tensor x data ranks (docs, "Expert Parallel Deployment");
    # scheduler limits apply to each data-parallel rank ("Data Parallel Deployment").
    # `--quantization fp8` and `bitsandbytes` convert 16-bit weights while loading (docs, "FP8
    # W8A8", "BitsAndBytes"); cache types are `CacheDType` of vllm/config/cache.py.
    options: Options = {
        "--revision": plan.revision,
        "--max-model-len": load.context,
        "--max-num-seqs": _sequences(plan),
        "--max-num-batched-tokens": load.max_num_batched_tokens,
        "--gpu-memory-utilization": f"{plan.utilization:g}",
        "--tensor-parallel-size": above_one(split.tensor),
        "--pipeline-parallel-size": above_one(split.pipeline),
        "--data-parallel-size": above_one(split.data),
        "--enable-expert-parallel": split.expert > 1,
        **weights,
        "--kv-cache-dtype": cache,
        "--enable-lora": load.max_loras > 0,
        "--max-loras": load.max_loras,
        "--max-lora-rank": load.max_loras and load.max_lora_rank,
        "--enforce-eager": load.enforce_eager,
        "--enable-prefix-caching": load.prefix_caching is True,
        "--no-enable-prefix-caching": load.prefix_caching is False,
        "--kv-offloading-size": offloading and f"{offloading:g}",
        "--kv-offloading-backend": offloading and "native",  # the default since 0.14
        "--language-model-only": load.text_only,
        "--speculative-config": load.draft_tokens and _speculation(plan),
        **joined,
    }
    text = command(("vllm", "serve", plan.repo_id), options)
    return plan.runs(text, *missing, *untold, *node_notes)


def _sequences(plan: LaunchPlan) -> int | None:
    # Held to the sequences that start; None for the default.
    asked, most = plan.sequences_above(_DEFAULT_SEQUENCES), plan.most_sequences
    return asked if most is None else min(asked or most, most)


def _speculation(plan: LaunchPlan) -> str:
    # `SpeculativeConfig` of vllm/config/speculative.py
    method, model = "mtp", {}
    if plan.draft is not None:
        method, model = plan.draft.method, {"model": plan.draft.repo_id}
    tokens = plan.workload.draft_tokens
    return json.dumps({"method": method, **model, "num_speculative_tokens": tokens})


def _nodes(plan: LaunchPlan) -> tuple[Options, tuple[Note, ...]]:
    # Over several machines the command runs on each, with `--headless` on all but the first.
    # Machines that hold whole data-parallel ranks differ in `--data-parallel-start-rank` ("Data
    # Parallel Deployment"), all others in `--node-rank`, which needs no Ray since the end of 2025
    # ("Parallelism and Scaling", pull request 30509) but the same number of GPUs on each machine
    # (`create_engine_config` of arg_utils.py).
    nodes, data = plan.nodes, plan.split.data
    if nodes == 1:
        return {}, ()
    if data % nodes == 0:
        ranks: Options = {
            "--data-parallel-size-local": data // nodes,
            "--data-parallel-start-rank": "0",
            "--data-parallel-address": HEAD_NODE,
        }
        return ranks, (plan.on_each_node("--data-parallel-start-rank", data // nodes), _HEADLESS)
    if plan.split.gpus % nodes or nodes % data:
        return {}, plan.one_node
    options: Options = {
        "--distributed-executor-backend": "mp",
        "--nnodes": nodes,
        "--node-rank": "0",
        "--master-addr": HEAD_NODE,
    }
    return options, (plan.on_each_node("--node-rank"), _HEADLESS)
