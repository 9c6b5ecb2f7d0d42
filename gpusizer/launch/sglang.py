"""Commands for `python -m sglang.launch_server`.

Source of the options: srt/server_args.py, 0.4 to 0.5.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpusizer.core.messages import Note
from gpusizer.launch.base import (
    HEAD_NODE,
    LaunchCommand,
    LaunchPlan,
    Options,
    above_one,
    command,
)
from gpusizer.memory.engines.kept_prefixes import hicache_gb
from gpusizer.model.profile import DraftMethod

_ALGORITHMS: Mapping[DraftMethod, str] = {
    "draft_model": "STANDALONE",
    "eagle": "EAGLE",
    "eagle3": "EAGLE3",
    "dflash": "DFLASH",
}
_OWN_LAYERS: DraftMethod = "eagle"  # the algorithm that runs them, "NEXTN" is another name of it
_DEFAULT_SEQUENCES = 64  # the fewest sequences that the estimate sizes buffers for
_INIT_PORT = 5000  # port of the first machine that the others connect to (SGLang's examples)


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts an OpenAI-compatible server on port 30000."""
    # With data-parallel attention (`--enable-dp-attention`) the tensor-parallel size counts all
    # ranks; attention is divided by TP / DP of them. The server divides the limits of its scheduler
    # among the data-parallel ranks, its own defaults too (`chunked_prefill_size // dp_size` in
    # server_args.py, `max_running_requests // dp_size` in srt/model_executor); limits of a plan are
    # for each rank. From 0.5 on `--ep-size` alone sets how experts are dealt out.
    load, split = plan.workload, plan.split
    weights, missing = plan.converted()
    cache, untold = plan.cached_as()
    joined, node_notes = _nodes(plan)
    kept = hicache_gb(load, split)
    # The server's own default is for all ranks together, the estimate's is for each.
    chunk = load.max_num_batched_tokens or (plan.step_tokens if split.data > 1 else None)
    options: Options = {
        "--model-path": plan.repo_id,
        "--revision": plan.revision,
        "--context-length": load.context,
        "--max-running-requests": (plan.sequences_above(_DEFAULT_SEQUENCES) or 0) * split.data,
        "--chunked-prefill-size": (chunk or 0) * split.data,
        "--mem-fraction-static": f"{plan.utilization:g}",
        "--tp-size": above_one(split.ranks),
        "--pp-size": above_one(split.pipeline),
        "--dp-size": above_one(split.data),
        "--enable-dp-attention": split.data > 1,
        "--ep-size": above_one(split.expert),
        **weights,
        "--kv-cache-dtype": cache,
        "--enable-hierarchical-cache": kept > 0,
        "--hicache-size": kept,
        "--disable-cuda-graph": load.enforce_eager,
        **_speculation(plan),
        **joined,
    }
    text = command(("python", "-m", "sglang.launch_server"), options)
    return plan.runs(text, *missing, *untold, *node_notes)


def _speculation(plan: LaunchPlan) -> Options:
    # One chain of tokens is guessed by a draft model, or by the model's own draft layers, which the
    # server finds in its checkpoint. The model judges them and one more: with a top-k of 1 the
    # server sets the draft tokens to the steps + 1 (`_handle_speculative_decoding`,
    # srt/server_args.py). DFlash has a block and no steps.
    draft, tokens = plan.draft, plan.workload.draft_tokens
    if draft is None and not plan.workload.own_draft_tokens:
        return {}
    method = draft.method if draft else _OWN_LAYERS
    in_steps = method != "dflash"
    return {
        "--speculative-algorithm": _ALGORITHMS[method],
        "--speculative-draft-model-path": draft.repo_id if draft else None,
        "--speculative-num-steps": in_steps and tokens,
        "--speculative-eagle-topk": in_steps and "1",
        "--speculative-num-draft-tokens": tokens + 1,
    }


def _nodes(plan: LaunchPlan) -> tuple[Options, tuple[Note, ...]]:
    # Over several machines the same command runs on each with a different `--node-rank`. A machine
    # holds whole pipeline stages, or a stage spans whole machines (`_calculate_rank_ranges`,
    # srt/entrypoints/engine.py).
    nodes, stages = plan.nodes, plan.split.pipeline
    stages_divide = stages % nodes == 0
    parts = nodes % stages == 0 and plan.split.ranks % (nodes // stages) == 0
    if nodes == 1 or not (stages_divide or parts):
        return {}, plan.one_node
    options: Options = {
        "--nnodes": nodes,
        "--node-rank": "0",
        "--dist-init-addr": f"{HEAD_NODE}:{_INIT_PORT}",
    }
    return options, (plan.on_each_node("--node-rank"),)
