"""Commands for Text Generation Inference in its container.

Source of the options: docs/source/reference/launcher.md, 3.3.
"""

from __future__ import annotations

from gpusizer.core.messages import Note
from gpusizer.launch.base import LaunchCommand, LaunchPlan, Options, above_one, command

_IMAGE = "ghcr.io/huggingface/text-generation-inference:3.3.5"
_PROGRAM = ("docker", "run", "--gpus", "all", "--shm-size", "1g", "-p", "8080:80")
_STORED = ("-e", "HF_TOKEN", "-v", "hf-cache:/data")


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts a server on port 8080."""
    load = plan.workload
    weights, missing = plan.converted()
    cache, untold = plan.cached_as()
    # `--max-batch-total-tokens` bounds the tokens of all sequences at once; `--max-input-tokens`
    # has to leave one token for the answer.
    options: Options = {
        "--model-id": plan.repo_id,
        "--revision": plan.revision,
        "--max-total-tokens": load.context,
        "--max-input-tokens": max(1, load.context - 1),
        "--max-batch-total-tokens": plan.total_context,
        "--max-batch-prefill-tokens": load.max_num_batched_tokens,
        "--cuda-memory-fraction": f"{plan.utilization:g}",
        "--num-shard": above_one(plan.split.gpus),
        **weights,
        "--kv-cache-dtype": cache,
        "--cuda-graphs": load.enforce_eager and "0",
    }
    if plan.split.pipeline > 1:
        untold += (Note("launch_no_flag", engine=plan.engine, setting="pipeline"),)
    text = command((*_PROGRAM, *_STORED, _IMAGE), options)
    return plan.runs(text, *missing, *untold, *plan.one_node)
