"""The arguments of engines' commands: where a command begins, and which option means what.

Options are those of the engines' own parsers: vLLM `engine/arg_utils.py`, SGLang
`server_args.py`, llama.cpp `common/arg.cpp`, TGI `launcher/src/main.rs`, LMDeploy
`cli/utils.py`, TensorRT-LLM `commands/serve.py`, FastDeploy `engine/args_utils.py`.
Underscores in options are written as hyphens here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_MOST_NUMBER_CHARS = 12
_LEAST_ABBREVIATION = 7  # characters of an option that argparse would complete: "--mem-fr"

Fields = dict[str, Any]


def whole(text: str) -> int | None:
    """A whole number, also "128k" and "32,768"; None for anything else.

    >>> whole("131072"), whole("10k"), whole("$TP")
    (131072, 10000, None)
    """
    digits = text.replace(",", "").replace("_", "")
    factor = {"k": 1_000, "K": 1024, "m": 10**6, "M": 2**20}.get(digits[-1:], 1)
    digits = digits[:-1] if factor > 1 else digits
    usable = digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_NUMBER_CHARS
    return int(digits) * factor if usable else None


def positive(text: str) -> int | None:
    """A whole number above zero: where 0 or -1 leave the choice to the engine, nothing is said."""
    return whole(text) or None


def share(text: str) -> float | None:
    """A number from 0 to 1."""
    is_number = len(text) <= _MOST_NUMBER_CHARS and text.replace(".", "", 1).isdecimal()
    value = float(text) if is_number and text.isascii() else None
    return value if value is not None and 0 < value <= 1 else None


def word(text: str) -> str | None:
    """A short word without blanks, in small letters."""
    usable = 0 < len(text) <= 40 and text.isprintable() and not text.startswith(("$", "<", "{"))
    return text.lower() if usable and " " not in text else None


def name(text: str) -> str | None:
    """A model's name or path as it is written."""
    usable = 0 < len(text) <= 200 and text.isprintable() and not text.startswith(("$", "<", "-"))
    return text if usable else None


def _stated(value: Any, read: Callable[[str], Any]) -> Any:
    return read(str(value)) if isinstance(value, int | float | str) else None


def json_settings(text: str) -> Mapping[str, Any]:
    """An argument written as JSON; empty for anything else."""
    try:
        settings = json.loads(text[:2_000])
    except (ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _speculation(text: str) -> Fields:
    settings = json_settings(text)
    return {
        "draft_tokens": _stated(settings.get("num_speculative_tokens"), positive),
        "draft_model": _stated(settings.get("model"), name),
    }


def _overrides(text: str) -> Fields:
    settings = json_settings(text)
    nested = settings.get("rope_scaling") or settings.get("rope_parameters")
    return _rope(nested) if isinstance(nested, dict) else {}


def _rope_scaling(text: str) -> Fields:
    return _rope(json_settings(text))


def _rope(settings: Mapping[str, Any]) -> Fields:
    factor = settings.get("factor")
    is_number = isinstance(factor, int | float) and 1 < factor <= 1_000
    native = _stated(settings.get("original_max_position_embeddings"), positive)
    return {"yarn_factor": float(factor) if is_number else None, "native_context": native}  # type: ignore[arg-type]


def _flash_attention(text: str) -> bool:
    return text.lower() not in ("off", "0", "false")


@dataclass(frozen=True, slots=True)
class Option:
    """What one option sets: a field, read by `read`; without `read` its presence sets True.

    `spread` reads several fields from one value.
    """

    field: str = ""
    read: Callable[[str], Any] | None = None
    spread: Callable[[str], Fields] | None = None

    @property
    def takes_value(self) -> bool:
        return self.read is not None or self.spread is not None


Options = Mapping[str, Option]


def _options(rows: Sequence[tuple[str, Option]]) -> dict[str, Option]:
    return {spelling: option for spellings, option in rows for spelling in spellings.split()}


_TP, _PP, _DP = (Option(f"{kind}_parallel", positive) for kind in ("tensor", "pipeline", "data"))
_CONTEXT = Option("context", positive)
_QUANT = Option("quant", word)
_KV = Option("kv_dtype", word)
_UTILIZATION = Option("memory_utilization", share)
_SEQS = Option("max_num_seqs", positive)
_BATCHED = Option("max_num_batched_tokens", positive)
_MODEL = Option("model", name)
_ROPE = Option(spread=_rope_scaling)

_VLLM = _options(
    [
        ("--model", _MODEL),
        ("--tensor-parallel-size -tp", _TP),
        ("--pipeline-parallel-size -pp", _PP),
        ("--data-parallel-size -dp", _DP),
        ("--max-model-len", _CONTEXT),
        ("--gpu-memory-utilization", _UTILIZATION),
        ("--kv-cache-dtype", _KV),
        ("--quantization -q", _QUANT),
        ("--max-num-seqs", _SEQS),
        ("--max-num-batched-tokens", _BATCHED),
        ("--enforce-eager", Option("enforce_eager")),
        ("--speculative-config", Option(spread=_speculation)),
        ("--speculative-config.num-speculative-tokens", Option("draft_tokens", positive)),
        ("--speculative-config.model", Option("draft_model", name)),
        ("--rope-scaling", _ROPE),
        ("--hf-overrides", Option(spread=_overrides)),
    ]
)
_SGLANG = _options(
    [
        ("--model-path --model", _MODEL),
        ("--tensor-parallel-size --tp-size --tp", _TP),
        ("--pipeline-parallel-size --pp-size --pp", _PP),
        ("--data-parallel-size --dp-size --dp", _DP),
        ("--enable-dp-attention", Option("has_dp_attention")),
        ("--context-length", _CONTEXT),
        ("--mem-fraction-static", _UTILIZATION),
        ("--kv-cache-dtype", _KV),
        ("--quantization", _QUANT),
        ("--max-running-requests", _SEQS),
        ("--disable-cuda-graph", Option("enforce_eager")),
        ("--speculative-num-steps", Option("draft_tokens", positive)),
        ("--speculative-draft-model-path", Option("draft_model", name)),
        ("--json-model-override-args", Option(spread=_overrides)),
    ]
)
_LLAMA_CPP = _options(
    [
        ("-m --model", Option("file", name)),
        ("-hf -hfr --hf-repo", _MODEL),
        ("-hff --hf-file", Option("file", name)),
        ("-c --ctx-size", _CONTEXT),
        ("-ngl --gpu-layers --n-gpu-layers", Option("gpu_layers", whole)),
        ("-ctk --cache-type-k", _KV),
        ("-np --parallel", Option("max_num_seqs", positive)),
        ("-fa --flash-attn", Option("flash_attention", _flash_attention)),
        ("-md --model-draft", Option("draft_model", name)),
        ("--draft --draft-max --draft-n", Option("draft_tokens", positive)),
    ]
)
_TGI = _options(
    [
        ("--model-id", _MODEL),
        ("--num-shard", _TP),
        ("--max-total-tokens", _CONTEXT),
        ("--quantize", _QUANT),
        ("--cuda-memory-fraction", _UTILIZATION),
        ("--kv-cache-dtype", _KV),
        ("--max-concurrent-requests", _SEQS),
        ("--max-batch-prefill-tokens", _BATCHED),
    ]
)
_LMDEPLOY = _options(
    [
        ("--tp", _TP),
        ("--dp", _DP),
        ("--session-len", _CONTEXT),
        ("--cache-max-entry-count", _UTILIZATION),
        ("--max-batch-size", _SEQS),
        ("--model-format", _QUANT),
    ]
)
_TENSORRT_LLM = _options(
    [
        ("--tp-size", _TP),
        ("--pp-size", _PP),
        ("--max-seq-len", _CONTEXT),
        ("--max-batch-size", _SEQS),
        ("--max-num-tokens", _BATCHED),
        ("--kv-cache-free-gpu-memory-fraction", _UTILIZATION),
    ]
)
_FASTDEPLOY = _options(
    [
        ("--model", _MODEL),
        ("--tensor-parallel-size", _TP),
        ("--max-model-len", _CONTEXT),
        ("--max-num-seqs", _SEQS),
        ("--quantization", _QUANT),
        ("--gpu-memory-utilization", _UTILIZATION),
    ]
)
_FASTCHAT = _options([("--model-path", _MODEL), ("--num-gpus", Option("processes", positive))])
_MLX = _options([("--model", _MODEL), ("--max-kv-size", _CONTEXT), ("--kv-bits", _KV)])

LAUNCHERS = ("torchrun", "torch.distributed.run", "torch.distributed.launch")
LAUNCHER_OPTIONS = _options([("--nproc-per-node", Option("processes", positive))])
"""Of PyTorch's launchers, in front of a program or a script."""


@dataclass(frozen=True, slots=True)
class Program:
    """How an engine's command is told, and what its arguments mean.

    Attributes:
        words: consecutive words that begin it; one with a full stop or hyphen also as the end of
            a path or module.
        takes_model: the first argument that is no option is the model.
    """

    engine: str
    words: tuple[str, ...]
    options: Options
    takes_model: bool = False


PROGRAMS = (
    Program("vllm", ("vllm", "serve"), _VLLM, takes_model=True),
    Program("vllm", ("vllm.entrypoints.openai.api_server",), _VLLM),
    Program("vllm", ("vllm.entrypoints.api_server",), _VLLM),
    Program("vllm", ("vllm/vllm-openai",), _VLLM),
    Program("sglang", ("sglang.launch_server",), _SGLANG),
    Program("sglang", ("sglang", "serve"), _SGLANG, takes_model=True),
    Program("llama.cpp", ("llama-cli",), _LLAMA_CPP),
    Program("llama.cpp", ("llama-server",), _LLAMA_CPP),
    Program("llama.cpp", ("llama-mtmd-cli",), _LLAMA_CPP),
    Program("llama.cpp", ("llama-simple",), _LLAMA_CPP),
    Program("llama.cpp", ("./main",), _LLAMA_CPP),
    Program("llama.cpp", ("./server",), _LLAMA_CPP),
    Program("tgi", ("text-generation-launcher",), _TGI),
    Program("tgi", ("huggingface/text-generation-inference",), _TGI),
    Program("lmdeploy", ("lmdeploy", "serve", "api_server"), _LMDEPLOY, takes_model=True),
    Program("lmdeploy", ("lmdeploy", "chat"), _LMDEPLOY, takes_model=True),
    Program("tensorrt-llm", ("trtllm-serve",), _TENSORRT_LLM, takes_model=True),
    Program("ollama", ("ollama", "run"), {}, takes_model=True),
    Program("ollama", ("ollama", "pull"), {}, takes_model=True),
    Program("fastdeploy", ("fastdeploy.entrypoints.openai.api_server",), _FASTDEPLOY),
    Program("mistral-inference", ("mistral-demo",), {}, takes_model=True),
    Program("mistral-inference", ("mistral-chat",), {}, takes_model=True),
    Program("fastchat", ("fastchat.serve.cli",), _FASTCHAT),
    Program("fastchat", ("fastchat.serve.model_worker",), _FASTCHAT),
    Program("ktransformers", ("ktransformers.local_chat",), _FASTCHAT),
    Program("mlx", ("mlx_lm.server",), _MLX),
    Program("mlx", ("mlx_lm", "generate"), _MLX),
    Program("mlx", ("mlx_lm", "server"), _MLX),
    Program("mlx", ("mlx_lm.generate",), _MLX),
    Program("mlx", ("mlx_lm.chat",), _MLX),
    Program("mlx", ("mlx_vlm.generate",), _MLX),
    Program("transformers", ("transformers", "chat"), {}, takes_model=True),
    Program("transformers", ("transformers", "serve"), {}),
)


def read_arguments(words: Sequence[str], options: Options) -> tuple[Fields, list[str]]:
    """The fields that these arguments set, and the words that belong to no known option."""
    fields: Fields = {}
    rest: list[str] = []
    position = 0
    while position < len(words):
        spelling, has_value, value = words[position].partition("=")
        position += 1
        option = _find(spelling, options)
        if option is None:
            rest.append(words[position - 1])
            continue
        if not has_value and option.takes_value and position < len(words):
            value = words[position]
            if _is_option(value):  # a flag whose value may be left out
                value = ""
            else:
                position += 1
        fields |= {key: item for key, item in _values(option, value).items() if item is not None}
    return fields, rest


def _values(option: Option, value: str) -> Fields:
    if option.spread is not None:
        return option.spread(value)
    return {option.field: option.read(value) if option.read else True}


def _is_option(word_: str) -> bool:
    return word_[:1] == "-" and not word_[1:2].isdigit()


def _find(spelling: str, options: Options) -> Option | None:
    """The option of this spelling, or of which it is the only possible abbreviation."""
    key = spelling.replace("_", "-") if spelling.startswith("-") else spelling
    if key in options or not key.startswith("--") or len(key) < _LEAST_ABBREVIATION:
        return options.get(key)
    longer = [name_ for name_ in options if name_.startswith(key)]
    return options[longer[0]] if len(longer) == 1 else None
