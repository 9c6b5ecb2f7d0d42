"""What llama.cpp prints while it loads, from late 2023 on, and ik_llama.cpp likewise.

Wordings: src/llama-model.cpp (`load_tensors`), llama-kv-cache.cpp, llama-memory-recurrent.cpp,
llama-context.cpp (`llama_context`, `reserve`, `sched_reserve`), llama-model-loader.cpp; before 2025
src/llama.cpp (`llm_load_tensors`, `llama_kv_cache_init`, `llama_new_context_with_model`).
"""

from __future__ import annotations

from gpusizer.answers.logs.rules import COUNT, NUMBER, SIZE, LogRule, rule

SIGNATURES = (
    "llama_model_loader",
    "load_tensors:",
    "llama_context:",
    "llama_kv_cache",
    "llama_new_context_with_model",
    "llama_memory_breakdown",
)
BEGINS = ("loaded meta data with",)

_CONTEXT = r"(?:llama_context|llama_new_context_with_model|llama_init_from_model)"
_DEVICE = r"(?P<device>[A-Za-z_]{1,20}\d{0,2}(?:_[A-Za-z]{1,10})?)"
_REPO = r"[\w.-]{1,96}/[\w.-]{1,96}"
OFFLOADED = r"offloaded (?P<gpu_layers>\d{1,4})/(?P<layers_offered>\d{1,4}) layers to GPU"
_CARD = r"(?P<gpu>[^()]{2,80}(?:\([^()]{0,20}\)[^()]{0,40})?)"


def _buffer(kind: str, name: str) -> LogRule:
    """`load_tensors:        CUDA0 model buffer size =  4685.30 MiB`"""
    spaced = kind.replace(" ", " {1,4}")
    pattern = rf"[:\s]{_DEVICE} {{1,4}}{spaced} size = {{1,9}}(?P<{name}>{SIZE})"
    return rule(f"{kind} size =", pattern, add=True)


def _setting(printed: str, name: str, values: str = COUNT) -> LogRule:
    """`llama_context: n_ctx         = 8192`"""
    return rule(f" {printed} ", rf"{_CONTEXT}: {printed} {{1,9}}= (?P<{name}>{values})")


RULES: tuple[LogRule, ...] = (
    # What runs.
    rule("build: ", r"build: (?P<engine_version>\d{3,6}) \("),
    rule("build_info: ", r"build_info: b(?P<engine_version>\d{3,6})"),
    rule("version: ", r"version: (?P<engine_version>\d{3,6}) \([0-9a-f]{6,12}\)"),
    rule("-hf", rf"(?:-hf|-hfr|--hf-repo)[ =](?P<gguf_repo>{_REPO}(?::[\w.-]{{1,64}})?)"),
    rule("loaded meta data with", r"tensors from (?P<gguf_file>.{1,400}?\.gguf) \(version"),
    rule(
        "general.architecture",
        r"general\.architecture {1,40}str {1,20}= (?P<architecture>[\w-]{1,40})",
    ),
    rule("base_model.0.repo_url", rf"= https://huggingface\.co/(?P<repo>{_REPO})"),
    rule("ftype ", r"model ftype {1,9}= (?P<file_type>[\w. ()-]{2,40})"),
    rule("file type ", r"print_info: file type {1,9}= (?P<file_type>[\w. ()-]{2,40})"),
    rule(
        "BPW)",
        rf"(?:file|model) size {{1,9}}= (?P<file_bytes>{SIZE}) "
        rf"\((?P<bits_per_weight>{NUMBER}) BPW\)",
    ),
    rule("using device", rf"using device {_DEVICE} \({_CARD}\)"),
    rule(", compute capability", r"Device \d{1,2}: (?P<gpu>[^,]{2,60}), compute capability"),
    rule(", VRAM:", rf"VRAM: (?P<gpu_memory_bytes>{SIZE})"),
    rule(" layers to GPU", OFFLOADED),
    rule("buffer type overridden", r"buffer type overridden", overrides=True),
    # Settings of the context.
    _setting("n_ctx", "context"),
    _setting("n_seq_max", "sequences"),
    _setting("n_batch", "batch"),
    _setting("n_ubatch", "ubatch"),
    _setting("flash_attn", "flash_attention", r"\w{1,9}"),
    rule("Flash Attention was auto", r"set to (?P<flash_attention>enabled|disabled)"),
    rule(", type_k = ", r"type_k = '(?P<kv_k>\w{2,8})', type_v = '(?P<kv_v>\w{2,8})'"),
    rule(", K (", r", K \((?P<kv_k>\w{2,8})\): {1,9}[\d.]{1,12} MiB(?:, V \((?P<kv_v>\w{2,8})\))?"),
    rule("c^KV (", r"c\^KV \((?P<kv_k>\w{2,8})\)"),
    rule("Unified KV cache", r"using (?P<kv_dtype>\w{2,8}) KV cache"),
    # Buffers.
    _buffer("model buffer", "weights_bytes"),
    rule(
        "llm_load_tensors:",
        rf"llm_load_tensors: {{1,9}}{_DEVICE} buffer size = {{1,9}}"
        rf"(?P<weights_bytes>{SIZE})",
        add=True,
    ),
    _buffer("KV buffer", "kv_bytes"),
    _buffer("RS buffer", "recurrent_bytes"),
    _buffer("output buffer", "output_bytes"),
    _buffer("compute buffer", "compute_bytes"),
    rule(
        "llama_memory_breakdown_print:",
        rf"- {_DEVICE} \({_CARD}\) {{1,9}}\| {{0,9}}"
        r"(?P<gpu_memory_mib>\d{1,7}) = {1,9}\d{1,7} \+ {0,9}\( {0,9}\d{1,7} = {1,9}"
        r"(?P<weights_mib>\d{1,7}) \+ {1,9}(?P<context_mib>\d{1,7}) \+ {1,9}"
        r"(?P<compute_mib>\d{1,7})\)",
    ),
    rule(
        "cudaMalloc failed: out of memory",
        r"cudaMalloc failed: out of memory",
        outcome="out_of_memory",
    ),
    rule("failed to allocate compute", r"failed to allocate compute", outcome="out_of_memory"),
    rule("server is listening", r"server is listening", outcome="ran"),
    rule("model loaded", r"main: model loaded", outcome="ran"),
)
