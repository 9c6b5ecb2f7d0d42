"""What vLLM prints at start-up, 0.5 to 0.30, V0 and V1.

Wordings: vllm/v1/worker/gpu_worker.py, v1/core/kv_cache_utils.py, v1/worker/gpu_model_runner.py,
utils/mem_utils.py (V1); vllm/worker/worker.py, model_runner.py, executor/executor_base.py (V0).
"""

from __future__ import annotations

from gpusizer.answers.logs.rules import COUNT, NUMBER, SIZE, LogRule, keys, rule

SIGNATURES = (
    "vLLM",
    "vllm",
    "LLM engine (v",
    "Model loading took",
    "model weights took",
    "KV cache memory:",
    "KV cache size:",
    "# GPU blocks:",
)
"""Words that occur in excerpts too, which may name no module."""
BEGINS = ("vLLM API server version", "█  version ")
"""The banner replaced the sentence in 0.19."""

_CONFIG = {
    "model": "model",
    "max_seq_len": "max_model_len",
    "dtype": "weight_dtype",
    "tensor_parallel_size": "tensor_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "data_parallel_size": "data_parallel",
    "quantization": "quantization",
    "enforce_eager": "enforce_eager",
    "enable_prefix_caching": "prefix_caching",
    "kv_cache_dtype": "kv_dtype",
}
_ARGUMENTS = {
    "model": "model",
    "model_tag": "model",
    "max_model_len": "max_model_len",
    "gpu_memory_utilization": "utilization",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "tensor_parallel_size": "tensor_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "data_parallel_size": "data_parallel",
    "kv_cache_dtype": "kv_dtype",
    "enforce_eager": "enforce_eager",
    "enable_prefix_caching": "prefix_caching",
    "block_size": "block_size",
    "enable_lora": "lora",
    "enable_expert_parallel": "expert_parallel",
}

_VERSION = r"v?(?P<engine_version>\d{1,3}\.\d{1,3}(?:\.\d{1,4})?)"

RULES: tuple[LogRule, ...] = (
    # What runs.
    rule("vLLM API server version", rf"server version {_VERSION}"),
    rule("█  version ", rf"█  version {_VERSION}"),
    rule("LLM engine (v", rf"LLM engine \({_VERSION}"),
    rule("V1 LLM engine", r"V1 LLM engine", engine_generation="V1"),
    rule("V0 LLM engine", r"V0 LLM engine", engine_generation="V0"),
    rule("an LLM engine", r"Initializing an LLM engine", engine_generation="V0"),
    *keys("with config:", _CONFIG),
    *keys("non-default args:", _ARGUMENTS),
    *keys("args: Namespace(", _ARGUMENTS),
    *keys("vllm serve", _ARGUMENTS),
    rule("vllm serve ", r"vllm serve (?P<model>[^\s'\"-][^\s'\"]{0,200})"),
    *keys("vllm.entrypoints", _ARGUMENTS),
    rule("speculative_config=Spec", r"(?P<draft_model>speculative_config=SpeculativeConfig)"),
    rule("num_spec_tokens=", r"num_spec_tokens=(?P<draft_tokens>\d{1,3})"),
    rule("Using max model len", rf"max model len (?P<max_model_len>{COUNT})"),
    rule("max_num_batched_tokens=", rf"max_num_batched_tokens=(?P<max_num_batched_tokens>{COUNT})"),
    rule("Setting attention block size to", rf"size to (?P<block_size>{COUNT}) tokens"),
    rule(
        "--gpu-memory-utilization=",
        rf"The current --gpu-memory-utilization=(?P<utilization>{NUMBER})",
    ),
    # Weights: "Loading model weights took" up to 0.8, "Model loading took" since, "memory" added.
    rule("model weights took", rf"model weights took (?P<weights_bytes>{SIZE})"),
    rule("Model loading took", rf"Model loading took (?P<weights_bytes>{SIZE})"),
    # V0's own account: one sentence since 0.6.6, key=value in 0.6.4 and 0.6.5.
    rule(
        "total_gpu_memory (",
        rf"total_gpu_memory \((?P<gpu_memory_bytes>{SIZE})\) x "
        rf"gpu_memory_utilization \((?P<utilization>{NUMBER})\)",
    ),
    rule("model weights take", rf"model weights take (?P<weights_bytes>{SIZE})"),
    rule("non_torch_memory takes", rf"non_torch_memory takes (?P<non_torch_bytes>{SIZE})"),
    rule(
        "activation peak memory takes",
        rf"activation peak memory takes (?P<activations_bytes>{SIZE})",
    ),
    rule("reserved for KV Cache is", rf"reserved for KV Cache is (?P<kv_pool_bytes>{SIZE})"),
    rule("total_gpu_memory=", rf"total_gpu_memory=(?P<gpu_memory_bytes>{SIZE})"),
    rule("peak_torch_memory=", rf"peak_torch_memory=(?P<peak_torch_bytes>{SIZE})"),
    rule(" non_torch_memory=", rf" non_torch_memory=(?P<non_torch_bytes>{SIZE}),? kv_cache_size="),
    rule("kv_cache_size=", rf"kv_cache_size=(?P<kv_pool_bytes>{SIZE})"),
    rule(" gpu_memory_utilization=", rf"GiB,? gpu_memory_utilization=(?P<utilization>{NUMBER})"),
    # V1's account; what is not PyTorch's is printed together with the weights since 0.26.
    rule(
        "torch peak memory increase:", rf"torch peak memory increase: (?P<activations_bytes>{SIZE})"
    ),
    rule(
        "non-torch forward increase memory:",
        rf"non-torch forward increase memory: (?P<non_torch_bytes>{SIZE})",
    ),
    rule(
        "total consumed (from mem_get_info):",
        rf"mem_get_info\): (?P<weights_and_non_torch_bytes>{SIZE})",
    ),
    rule("; weights memory:", rf"; weights memory: (?P<weights_bytes>{SIZE})"),
    rule("Initial free memory:", rf"Initial free memory: (?P<free_at_start_bytes>{SIZE})"),
    rule(
        "(util),",
        rf"Requested memory: (?P<utilization>{NUMBER}) \(util\), "
        rf"(?P<budget_bytes>{SIZE})",
    ),
    rule(
        "Free memory on device",
        rf"Free memory on device [^(]{{0,20}}\({NUMBER}/(?P<gpu_memory_bytes>{SIZE})\)",
    ),
    rule("Desired GPU memory utilization is (", rf"utilization is \((?P<utilization>{NUMBER}),"),
    rule("GiB for weight,", rf"Actual usage is (?P<weights_bytes>{SIZE}) for weight"),
    rule("for peak activation", rf"(?P<activations_bytes>{SIZE}) for peak activation"),
    rule("for non-torch memory", rf"(?P<non_torch_bytes>{SIZE}) for non-torch memory"),
    rule(
        "for consumed memory",
        rf"Actual usage is (?P<weights_and_non_torch_bytes>{SIZE}) for consumed memory",
    ),
    # The pool.
    rule("Available KV cache memory:", rf"Available KV cache memory: (?P<kv_pool_bytes>{SIZE})"),
    rule("GPU KV cache size:", rf"GPU KV cache size: (?P<kv_tokens>{COUNT}) tokens"),
    rule("# GPU blocks:", rf"# GPU blocks: (?P<kv_blocks>{COUNT})"),
    rule("# cuda blocks:", rf"# cuda blocks: (?P<kv_blocks>{COUNT})"),
    rule("# rocm blocks:", rf"# rocm blocks: (?P<kv_blocks>{COUNT})"),
    rule(
        "Maximum concurrency for",
        rf"concurrency for (?P<max_model_len>{COUNT}) tokens per "
        rf"request: (?P<max_concurrency>{NUMBER})x",
    ),
    # Graphs.
    rule(
        "Graph capturing finished in", rf"finished in {NUMBER} secs?, took (?P<graphs_bytes>{SIZE})"
    ),
    rule(
        "CUDA graph pool memory:",
        rf"(?P<graphs_bytes>{SIZE}) \(actual\), "
        rf"(?P<graphs_estimated_bytes>{SIZE}) \(estimated\)",
    ),
    rule(
        "Estimated CUDA graph memory:",
        rf"Estimated CUDA graph memory: (?P<graphs_estimated_bytes>{SIZE})",
    ),
    # How it ended.
    rule("init engine (profile", r"init engine \(profile", outcome="ran"),
    rule("Application startup complete", r"Application startup complete", outcome="ran"),
    rule("CUDA out of memory", r"CUDA out of memory", outcome="out_of_memory"),
    rule("has a total capac", rf"total capac(?:ity|ty) of (?P<gpu_memory_bytes>{SIZE})"),
    rule(
        "No available memory for the cache blocks",
        r"No available memory for the cache blocks",
        outcome="out_of_memory",
    ),
)
