"""`vllm serve`. Options: vllm/engine/arg_utils.py, v0.11 to v0.30.

Experts are dealt out to all tensor x data ranks (docs, "Expert Parallel Deployment"); the limits
of the scheduler are each data-parallel rank's own ("Data Parallel Deployment").

`--quantization fp8` and `bitsandbytes` convert 16-bit weights while loading (docs, "FP8 W8A8",
"BitsAndBytes"); cache types are `CacheDType` of vllm/config/cache.py.
"""

from __future__ import annotations

import json

from gpusizer.launch.base import (
    LaunchCommand,
    LaunchPlan,
    above_one,
    cache_flag,
    command,
    number,
    only,
    sequences_above,
    weights_flags,
)

_CONVERTED = {
    "fp8": ("--quantization", "fp8"),
    "bnb-nf4": ("--quantization", "bitsandbytes"),
    "bnb-nf4-dq": ("--quantization", "bitsandbytes"),
    "fp32": ("--dtype", "float32"),  # the default turns FP32 checkpoints into 16 bits
}
_CACHE = {"fp8": "fp8", "fp8_e4m3": "fp8_e4m3", "fp8_e5m2": "fp8_e5m2",
          "bf16": "bfloat16", "bfloat16": "bfloat16"}  # fmt: skip
_DEFAULT_SEQUENCES = 256


def launch(plan: LaunchPlan) -> LaunchCommand:
    """An OpenAI-compatible server on port 8000."""
    load, split = plan.workload, plan.split
    weights, missing = weights_flags(plan, _CONVERTED)
    cache, untold = cache_flag(plan, "--kv-cache-dtype", _CACHE)
    draft = json.dumps({"method": "mtp", "num_speculative_tokens": load.draft_tokens})
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
        *only(load.enforce_eager, "--enforce-eager"),
        *only(load.text_only, "--language-model-only"),
        *only(load.draft_tokens, "--speculative-config", draft),
    ]
    text = command(("vllm", "serve", plan.repo_id), flags)
    return LaunchCommand(plan.engine, text, "bash", (*missing, *untold))
