"""Commands for `python -m sglang.launch_server`.

Source of the options: srt/server_args.py, 0.4 to 0.5.

With data-parallel attention (`--enable-dp-attention`) the tensor-parallel size counts all ranks;
attention is divided by TP / DP of them. The server divides the limits of its scheduler among the
data-parallel ranks, its own defaults too (`chunked_prefill_size // dp_size` in server_args.py,
`max_running_requests // dp_size` in srt/model_executor). From 0.5 on `--ep-size` alone sets how
experts are dealt out.

Over several machines the same command runs on each with a different `--node-rank`. A machine holds
whole pipeline stages, or a stage spans whole machines (`_calculate_rank_ranges`,
srt/entrypoints/engine.py).
"""

from __future__ import annotations

from collections.abc import Mapping

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
from gpusizer.model.profile import DraftMethod

_CONVERTED = {"fp8": ("--quantization", "fp8"), "fp32": ("--dtype", "float32")}
_CACHE = {
    "fp8": "fp8_e4m3",
    "fp8_e4m3": "fp8_e4m3",
    "fp8_e5m2": "fp8_e5m2",
    "bf16": "bf16",
    "bfloat16": "bf16",
}
_ALGORITHMS: Mapping[DraftMethod, str] = {
    "draft_model": "STANDALONE",
    "eagle": "EAGLE",
    "eagle3": "EAGLE3",
    "dflash": "DFLASH",
}
_DEFAULT_SEQUENCES = 64  # the fewest sequences that the estimate sizes buffers for
_INIT_PORT = 5000  # port of the first machine that the others connect to (SGLang's examples)


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts an OpenAI-compatible server on port 30000."""
    load, split = plan.workload, plan.split
    sequences = sequences_above(plan, _DEFAULT_SEQUENCES)
    weights, missing = weights_flags(plan, _CONVERTED)
    cache, untold = cache_flag(plan, "--kv-cache-dtype", _CACHE)
    joined, node_notes = _nodes(plan)
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
        *_speculation(plan),
        *joined,
    ]
    text = command(("python", "-m", "sglang.launch_server"), flags)
    return LaunchCommand(plan.engine, text, "bash", (*missing, *untold, *node_notes))


def _speculation(plan: LaunchPlan) -> list[Flag]:
    """Return the options of a draft model, which guesses one chain of tokens.

    The model judges them and one more: with a top-k of 1 the server sets the draft tokens to the
    steps + 1 (`_handle_speculative_decoding`, srt/server_args.py). DFlash has a block and no steps.
    """
    draft, tokens = plan.draft, plan.workload.draft_tokens
    if draft is None:
        return []
    flags: list[Flag] = [
        ("--speculative-algorithm", _ALGORITHMS[draft.method]),
        ("--speculative-draft-model-path", draft.repo_id),
    ]
    if draft.method != "dflash":
        flags += [("--speculative-num-steps", str(tokens)), ("--speculative-eagle-topk", "1")]
    return [*flags, ("--speculative-num-draft-tokens", str(tokens + 1))]


def _chunk(plan: LaunchPlan) -> int | None:
    """Return the prompt tokens in a step of one rank, None for the server's default.

    The server's default is for all data-parallel ranks together, the estimate's is for each.
    """
    tokens = plan.workload.max_num_batched_tokens
    return tokens or (plan.step_tokens if plan.split.data > 1 else None)


def _nodes(plan: LaunchPlan) -> tuple[list[Flag], tuple[Note, ...]]:
    """Return the options of the first machine, and a note on the values for the others."""
    nodes, stages = plan.nodes, plan.split.pipeline
    stages_divide = stages % nodes == 0
    parts = nodes % stages == 0 and plan.split.ranks % (nodes // stages) == 0
    if nodes == 1 or not (stages_divide or parts):
        return [], one_node(plan)
    flags: list[Flag] = [
        ("--nnodes", str(nodes)),
        ("--node-rank", "0"),
        ("--dist-init-addr", f"{HEAD_NODE}:{_INIT_PORT}"),
    ]
    return flags, (on_each_node(plan, "--node-rank"),)


def _of_all_ranks(name: str, limit: int | None, ranks: int) -> list[Flag]:
    """Return the option for a scheduler limit: `limit` is for one data-parallel rank, the option's
    value is for all ranks together."""
    return number(name, None if limit is None else limit * ranks)
