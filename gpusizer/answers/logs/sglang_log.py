"""What SGLang prints at start-up, 0.2 to 0.5.

Wordings: srt/model_executor/model_runner.py, srt/mem_cache/memory_pool.py (and
swa_memory_pool.py), srt/managers/scheduler.py, srt/server_args.py.
"""

from __future__ import annotations

from gpusizer.answers.logs.rules import COUNT, NUMBER, SIZE, LogRule, keys, rule

SIGNATURES = ("sglang", "server_args=", "Load weight begin", "KV Cache is allocated")
BEGINS = ("Load weight begin",)
"""A draft model is a second load on the same rank."""

_ARGUMENTS = {
    "model_path": "model",
    "tp_size": "tensor_parallel",
    "pp_size": "pipeline_parallel",
    "dp_size": "data_parallel",
    "context_length": "max_model_len",
    "dtype": "weight_dtype",
    "mem_fraction_static": "utilization",
    "kv_cache_dtype": "kv_dtype",
    "quantization": "quantization",
    "max_running_requests": "max_num_seqs",
    "chunked_prefill_size": "max_num_batched_tokens",
    "disable_cuda_graph": "enforce_eager",
}
_FLAGS = {
    "model-path": "model",
    "tp": "tensor_parallel",
    "tp-size": "tensor_parallel",
    "tensor-parallel-size": "tensor_parallel",
    "context-length": "max_model_len",
    "mem-fraction-static": "utilization",
    "kv-cache-dtype": "kv_dtype",
    "quantization": "quantization",
}

RULES: tuple[LogRule, ...] = (
    rule("sglang", r"sglang[ =]{1,2}v?(?P<engine_version>\d{1,3}\.\d{1,3}(?:\.\d{1,4})?)"),
    *keys("server_args=", _ARGUMENTS),
    *keys("sglang.launch_server", _FLAGS),
    *keys("sglang serve", _FLAGS),
    rule("context_len=", rf"context_len=(?P<max_model_len>{COUNT})"),
    rule(
        "max_running_requests=",
        rf"chunked_prefill_size=(?P<max_num_batched_tokens>{COUNT}), "
        rf"max_prefill_tokens={COUNT}, max_running_requests=(?P<max_num_seqs>{COUNT})",
    ),
    rule("max_total_num_tokens=", rf"max_total_num_tokens=(?P<kv_tokens>{COUNT})"),
    rule("Load weight begin.", rf"Load weight begin\. avail mem=(?P<free_at_start_bytes>{SIZE})"),
    rule("Load weight end.", rf"Load weight end\..{{0,300}}?mem usage=(?P<weights_bytes>{SIZE})"),
    rule("KV Cache is allocated.", rf"#tokens: (?P<kv_tokens>{COUNT})"),
    rule("KV Cache is allocated.", rf"#tokens: {COUNT}, KV size: (?P<kv_bytes>{SIZE})", add=True),
    rule(
        "KV Cache is allocated.",
        rf", K size: (?P<k_bytes>{SIZE}), V size: (?P<v_bytes>{SIZE})",
        add=True,
    ),
    rule(
        "SWAKVPool mem usage:",
        rf"SWAKVPool mem usage: (?P<kv_pool_bytes>{SIZE}), "
        rf"swa size: {COUNT}, full size: (?P<kv_tokens>{COUNT})",
    ),
    rule(
        "Mamba Cache is allocated.",
        rf"conv_state size: (?P<conv_bytes>{SIZE}),? "
        rf"ssm_state size: (?P<ssm_bytes>{SIZE})",
        add=True,
    ),
    rule("graph end.", rf"graph end\..{{0,80}}?mem usage=(?P<graphs_bytes>{SIZE})", add=True),
    rule("Using KV cache dtype:", r"cache dtype: (?P<kv_dtype>[\w.]{1,40})"),
    rule("The server is fired up", r"The server is fired up", outcome="ran"),
    rule("CUDA out of memory", r"CUDA out of memory", outcome="out_of_memory"),
    rule("Not enough memory", r"Not enough memory", outcome="out_of_memory"),
    rule("has a total capac", rf"total capac(?:ity|ty) of (?P<gpu_memory_bytes>{SIZE})"),
    rule("avail mem", rf"type=(?P<architecture>\w{{1,60}}), .{{0,120}}avail mem={NUMBER}"),
)
