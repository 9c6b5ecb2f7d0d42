"""Commands for `trtllm-serve`.

Source of the options: tensorrt_llm/commands/serve.py, 1.0 to 1.2 (PyTorch backend). Cache type and
CUDA graphs are set in a YAML file of LlmArgs (`kv_cache_config`, `cuda_graph_config`).
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

_FILE = "trtllm-options.yaml"
_CACHE = {"fp8": "fp8", "fp8_e4m3": "fp8"}


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts an OpenAI-compatible server on port 8000."""
    load, split = plan.workload, plan.split
    weights, missing = weights_flags(plan, {})
    cache, untold = cache_flag(plan, "", _CACHE)
    options = [f"kv_cache_config: {{dtype: {kind}}}" for _, kind in cache]
    options += ["cuda_graph_config: null"] if load.enforce_eager else []
    flags = [
        ("--backend", "pytorch"),
        *only(plan.revision, "--revision", plan.revision or ""),
        ("--max_seq_len", str(load.context)),
        *number("--max_batch_size", load.max_num_seqs or load.concurrency),
        *number("--max_num_tokens", load.max_num_batched_tokens),
        ("--kv_cache_free_gpu_memory_fraction", f"{plan.utilization:g}"),
        *above_one("--tp_size", split.tensor),
        *above_one("--pp_size", split.pipeline),
        *weights,
        *only(options, "--extra_llm_api_options", _FILE),
    ]
    text = command(("trtllm-serve", plan.repo_id), flags)
    if options:
        lines = " ".join(f"'{line}'" for line in options)
        text = f"printf '%s\\n' {lines} > {_FILE}\n{text}"
    return LaunchCommand(plan.engine, text, "bash", (*missing, *untold, *one_node(plan)))
