"""Commands for `trtllm-serve`.

Source of the options: tensorrt_llm/commands/serve.py, 1.0 to 1.2 (PyTorch backend).
"""

from __future__ import annotations

from gpusizer.launch.base import LaunchCommand, LaunchPlan, Options, above_one, command

_FILE = "trtllm-options.yaml"


def launch(plan: LaunchPlan) -> LaunchCommand:
    """Return a command that starts an OpenAI-compatible server on port 8000."""
    load, split = plan.workload, plan.split
    weights, missing = plan.converted()
    cache, untold = plan.cached_as()
    # Cache type and CUDA graphs are set in a YAML file of LlmArgs (`kv_cache_config`,
    # `cuda_graph_config`).
    settings = [f"kv_cache_config: {{dtype: {cache}}}"] if cache else []
    settings += ["cuda_graph_config: null"] if load.enforce_eager else []
    options: Options = {
        "--backend": "pytorch",
        "--revision": plan.revision,
        "--max_seq_len": load.context,
        "--max_batch_size": load.max_num_seqs or load.concurrency,
        "--max_num_tokens": load.max_num_batched_tokens,
        "--kv_cache_free_gpu_memory_fraction": f"{plan.utilization:g}",
        "--tp_size": above_one(split.tensor),
        "--pp_size": above_one(split.pipeline),
        **weights,
        "--extra_llm_api_options": _FILE if settings else "",
    }
    text = command(("trtllm-serve", plan.repo_id), options)
    if settings:
        lines = " ".join(f"'{line}'" for line in settings)
        text = f"printf '%s\\n' {lines} > {_FILE}\n{text}"
    return plan.runs(text, *missing, *untold, *plan.one_node)
