"""Commands for Text Generation Inference in its container.

Source of the options: docs/source/reference/launcher.md, 3.3. `--max-batch-total-tokens` bounds the
tokens of all sequences at once; `--max-input-tokens` has to leave one token for the answer.
"""

from __future__ import annotations

from gpusizer.answers.launch.base import (
    LaunchCommand,
    LaunchPlan,
    above_one,
    cache_flag,
    command,
    number,
    one_node,
    only,
    weights_flags,
)
from gpusizer.core.messages import Note

_IMAGE = "ghcr.io/huggingface/text-generation-inference:3.3.5"
_CONVERTED = {
    "fp8": ("--quantize", "fp8"),
    "bnb-int8": ("--quantize", "bitsandbytes"),
    "bnb-nf4": ("--quantize", "bitsandbytes-nf4"),
    "bnb-nf4-dq": ("--quantize", "bitsandbytes-nf4"),
}
_CACHE = {"fp8": "fp8_e4m3fn", "fp8_e4m3": "fp8_e4m3fn", "fp8_e5m2": "fp8_e5m2"}
_DOCKER = (
    "docker",
    "run",
    "--gpus",
    "all",
    "--shm-size",
    "1g",
    "-p",
    "8080:80",
    "-e",
    "HF_TOKEN",
    "-v",
    "hf-cache:/data",
    _IMAGE,
)


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts a server on port 8080."""
    load = plan.workload
    weights, missing = weights_flags(plan, _CONVERTED)
    cache, untold = cache_flag(plan, "--kv-cache-dtype", _CACHE)
    stages = plan.split.pipeline > 1
    flags = [
        ("--model-id", plan.repo_id),
        *only(plan.revision, "--revision", plan.revision or ""),
        ("--max-total-tokens", str(load.context)),
        ("--max-input-tokens", str(max(1, load.context - 1))),
        ("--max-batch-total-tokens", str(plan.total_context)),
        *number("--max-batch-prefill-tokens", load.max_num_batched_tokens),
        ("--cuda-memory-fraction", f"{plan.utilization:g}"),
        *above_one("--num-shard", plan.split.gpus),
        *weights,
        *cache,
        *only(load.enforce_eager, "--cuda-graphs", "0"),
    ]
    untold += (Note("launch_no_flag", engine=plan.engine, setting="pipeline"),) if stages else ()
    return LaunchCommand(
        plan.engine, command(_DOCKER, flags), "bash", (*missing, *untold, *one_node(plan))
    )
