"""What Ollama prints, 0.1.40 to 0.30: its lines and those of the llama.cpp that it runs.

Wordings: llm/memory.go (`msg=offload`, until late 2025), ml/device.go (`msg="model weights"`),
llm/server.go and runner/ollamarunner (`KvSize:`), discover (`msg="inference compute"`). Sizes are
rounded to 0.1; where llama.cpp prints its buffers, those are taken.
"""

from __future__ import annotations

from gpusizer.answers.logs import llama_cpp_log as llama_cpp
from gpusizer.answers.logs.rules import SIZE, LogRule, keys, rule

SIGNATURES = (
    "level=INFO source=",
    "level=DEBUG source=",
    "level=WARN source=",
    "msg=offload",
    'msg="offload',
    'msg="model weights"',
    "OLLAMA_",
)
BEGINS = ('msg="system memory"',)
"""Text that Ollama prints once for every loaded model, before the model's memory."""

_RUNNER = {
    "ctx-size": "context",
    "batch-size": "batch",
    "ubatch-size": "ubatch",
    "n-gpu-layers": "gpu_layers",
    "parallel": "sequences",
    "kv-cache-type": "kv_k",
    "cache-type-k": "kv_k",
    "cache-type-v": "kv_v",
}
_DEVICE = r"device=(?P<device>\w{1,20})"

RULES: tuple[LogRule, ...] = (
    rule(
        "(version ",
        r"Listening on .{0,60}\(version v?(?P<engine_version>\d{1,3}\.\d{1,3}\.\d{1,4})",
    ),
    rule(
        'msg="inference compute"',
        rf'description="(?P<gpu>[^"]{{2,80}})".{{0,200}}? '
        rf'total="(?P<gpu_memory_bytes>{SIZE})"',
    ),
    rule(
        'msg="inference compute"',
        rf' name="(?P<gpu>[^"]{{2,80}})" total="(?P<gpu_memory_bytes>{SIZE})"',
    ),
    rule(
        " file_type=",
        r"architecture=(?P<architecture>\w{1,40}) file_type=(?P<file_type>[A-Z]\w{1,16})",
    ),
    rule(
        "layers.offload=",
        r"layers\.model=(?P<layers_offered>\d{1,4}) layers\.offload=(?P<gpu_layers>\d{1,4})",
    ),
    rule("memory.required.kv=", rf'memory\.required\.kv="(?P<kv_bytes>{SIZE})"'),
    rule("memory.weights.total=", rf'memory\.weights\.total="(?P<weights_bytes>{SIZE})"'),
    rule("memory.graph.full=", rf'memory\.graph\.full="(?P<compute_bytes>{SIZE})"'),
    rule("memory.required.full=", rf'memory\.required\.full="(?P<total_used_bytes>{SIZE})"'),
    rule('msg="model weights"', rf'{_DEVICE} size="(?P<weights_bytes>{SIZE})"'),
    rule('msg="kv cache"', rf'{_DEVICE} size="(?P<kv_bytes>{SIZE})"'),
    rule('msg="compute graph"', rf'{_DEVICE} size="(?P<compute_bytes>{SIZE})"'),
    rule('msg="total memory"', rf'msg="total memory" size="(?P<total_used_bytes>{SIZE})"'),
    *keys("ollama_llama_server", _RUNNER),
    *keys('msg="starting llama server"', _RUNNER),
    rule(
        " KvSize:",
        r"Parallel:(?P<sequences>\d{1,4}) BatchSize:(?P<batch>\d{1,6}) "
        r"FlashAttention:(?P<flash_attention>\w{2,8}) KvSize:(?P<context>\d{1,8}) "
        r"KvCacheType:(?P<kv_k>\w{0,8})",
    ),
    rule("llama runner started", r"llama runner started", outcome="ran"),
    *(rule for rule in llama_cpp.RULES if rule.word != "version: "),
)
