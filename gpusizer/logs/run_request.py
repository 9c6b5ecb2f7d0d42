"""Turns a ParsedLog into the size request that its run corresponds to, and the cards."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpusizer.core.loose_values import Arguments
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.logs.rules import ParsedLog, is_host
from gpusizer.memory.kv_cache import ALIASES, BYTES_PER_ELEMENT

SERVING = ("vllm", "sglang")
_BACKEND = re.compile(r"[A-Za-z]+?(?=\d|$|_)")
# llama.cpp's names of backends, as in the names of their devices and of a build.
BACKENDS = {"MTL": "Metal", **{name: name for name in ("CUDA", "ROCm", "SYCL", "Metal", "Vulkan")}}

# llama_model_ftype_name, src/llama-model-loader.cpp: "Q4_K - Medium", "IQ3_S mix - 3.66 bpw".
_SIZES = {"Small": "_s", "Medium": "_m", "Large": "_l"}  # the end of a label -> that of its slug
# A label in small letters -> slug, if these differ.
_LABELS = {
    "f16": "gguf-f16",
    "bf16": "gguf-f16",
    "f32": "gguf-f32",
    "all f32": "gguf-f32",
    "mxfp4": "mxfp4_moe",
    "mxfp4 moe": "mxfp4_moe",
    "q2_k_m": "q2_k",
    "iq3_s mix": "iq3_m",
}


@dataclass(frozen=True, slots=True)
class LogRequest:
    """The run to predict."""

    engine: str  # slug
    model: str  # Hub ID, as the log or the reader named it
    fields: Arguments  # fields of a size request (request.SIZE_FIELDS) that the log states
    gpu: str = ""  # the card's name, "" if the log has none
    # One card's memory as the engine saw it, None when not printed.
    memory_bytes: int | None = None
    gpus: int = 1  # cards or devices that hold weights
    quantization: str = ""  # a serving engine's option for the weights, "" for none
    quant: str = ""  # slug of a GGUF file's type, "" when unknown
    gguf_repo: str = ""  # Hub ID of the file's repository in the log, "" when it does not say

    @property
    def publisher(self) -> str:
        """Owner of the GGUF file's repository, "" when unknown."""
        owner, slash, _ = self.gguf_repo.partition("/")
        return owner if slash else ""

    def gpu_in(self, catalogue: Catalogue) -> Gpu | None:
        """Return the card of that name, None if the catalogue has none."""
        return catalogue.match(self.gpu)


def request_of(parsed: ParsedLog, model: str, gpu: str = "") -> LogRequest:
    """Return the run as a request. `gpu` is used if the log does not name the card."""
    make = _serving if parsed.engine in SERVING else _llama
    return make(parsed, model, gpu or parsed.text("gpu"))


def _serving(parsed: ParsedLog, model: str, gpu: str) -> LogRequest:
    version = " ".join(filter(None, map(parsed.text, ("engine_version", "engine_generation"))))
    tensor, pipeline = parsed.get("tensor_parallel") or 1, parsed.get("pipeline_parallel") or 1
    fields = {
        "model": model,
        "engine": parsed.engine,
        "engine_version": version if parsed.engine == "vllm" else None,
        "context": parsed.get("max_model_len"),
        "kv_dtype": _serving_cache(parsed),
        "tensor_parallel": tensor,
        "pipeline_parallel": pipeline,
        "memory_utilization": parsed.get("utilization"),
        "max_num_seqs": parsed.get("max_num_seqs"),
        "max_num_batched_tokens": parsed.get("max_num_batched_tokens"),
        "enforce_eager": parsed.get("enforce_eager"),
        "prefix_caching": parsed.get("prefix_caching") if parsed.engine == "vllm" else None,
        "draft_tokens": (parsed.get("draft_tokens") or 1) if parsed.get("draft_model") else None,
    }
    return LogRequest(
        engine=parsed.engine,
        model=model,
        fields=_stated(fields),
        gpu=gpu,
        memory_bytes=memory_of(parsed),
        gpus=tensor * pipeline,
        quantization=parsed.text("quantization").lower(),
    )


def memory_of(parsed: ParsedLog) -> int | None:
    """Return memory of one card as printed, else vLLM's budget divided by its share."""
    stated: int | None = parsed.get("gpu_memory_bytes")
    budget, share = parsed.get("budget_bytes"), parsed.get("utilization")
    is_derived = stated is None and budget and share and share > 0
    return round(budget / share) if is_derived else stated


def _serving_cache(parsed: ParsedLog) -> str | None:
    # A type that is left to the engine is that of the weights' arithmetic.
    kind = parsed.text("kv_dtype")
    if kind in ("", "auto"):
        return "f32" if parsed.text("weight_dtype") == "float32" else "auto"
    return "fp8" if kind.startswith(("fp8", "float8")) else _known_cache(kind)


def _known_cache(kind: str) -> str | None:
    return kind if kind in BYTES_PER_ELEMENT or kind in ALIASES else None


def _llama(parsed: ParsedLog, model: str, gpu: str) -> LogRequest:
    sequences, context = parsed.get("sequences") or 1, parsed.get("context")
    keys = _known_cache(parsed.text("kv_k") or parsed.text("kv_dtype"))
    values = _known_cache(parsed.text("kv_v"))
    devices, offload = gpu_devices(parsed), offload_of(parsed)
    # Without layers on a GPU, large batches still go to one that has a compute buffer.
    computing = any(r.device and not is_host(r.device) for r in parsed.all_of("compute_bytes"))
    used = backend_of(devices).lower() if devices else None
    fields = {
        "model": _with_tag(model, parsed),
        "engine": parsed.engine,
        "engine_version": build_of(parsed),
        "context": -(-context // sequences) if context else None,
        "concurrency": sequences,
        "kv_dtype": f"{keys}/{values}" if keys and values else keys,
        "batch_size": parsed.get("batch"),
        "ubatch_size": parsed.get("ubatch"),
        "flash_attention": parsed.get("flash_attention"),
        "gpu_layers": {"partial": parsed.get("gpu_layers"), "none": 0}.get(offload),
        "cpu_moe": True if offload == "overrides" else None,
        "pipeline_parallel": len(devices) if len(devices) > 1 else None,
        "backend": "cpu" if offload == "none" and not computing else used,
        # Files of GGUF keep towers apart; Ollama's bring theirs along.
        "text_only": True if parsed.engine == "llama.cpp" else None,
    }
    return LogRequest(
        engine=parsed.engine,
        model=model,
        fields=_stated(fields),
        gpu=gpu,
        memory_bytes=parsed.get("gpu_memory_bytes"),
        gpus=len(devices),
        quant=gguf_slug(parsed.text("file_type")),
        gguf_repo=parsed.text("gguf_repo").partition(":")[0],
    )


def build_of(parsed: ParsedLog) -> str | None:
    """Return llama.cpp's build, "b1234"; None for Ollama, which prints a version of its own."""
    build = parsed.text("engine_version")
    return f"b{build}" if build and parsed.engine == "llama.cpp" else None


def gpu_devices(parsed: ParsedLog) -> tuple[str, ...]:
    """Return llama.cpp's names of devices, other than the host, that hold weights or cache."""
    readings = (*parsed.all_of("weights_bytes"), *parsed.all_of("kv_bytes"))
    names = {reading.device.partition("_Mapped")[0] for reading in readings if reading.device}
    return tuple(sorted(name for name in names if not is_host(name)))


def backend_of(devices: tuple[str, ...]) -> str:
    """Return the backend by the name of its first device: "MTL0" is Metal's."""
    match = _BACKEND.match(devices[0]) if devices else None
    return BACKENDS.get(match[0], "CUDA") if match else "CUDA"


def offload_of(parsed: ParsedLog) -> str:
    """Return the places of layers: "all", "partial", "none", or "overrides" if placed by name."""
    if parsed.get("overrides"):
        return "overrides"
    layers, offered = parsed.get("gpu_layers"), parsed.get("layers_offered")
    if not gpu_devices(parsed) or layers == 0:
        return "none"
    return "partial" if offered and layers is not None and layers < offered else "all"


def gguf_slug(file_type: str) -> str:
    """Return the quantization that a file type means, "" for an unknown one.

    >>> [gguf_slug(t) for t in ("Q4_K - Medium", "IQ3_S mix - 3.66 bpw", "Q8_0", "F16")]
    ['q4_k_m', 'iq3_m', 'q8_0', 'gguf-f16']
    """
    label, _, size_suffix = file_type.replace("(guessed)", "").strip().partition(" - ")
    slug = label.strip().lower() + _SIZES.get(size_suffix.strip(), "")
    return _LABELS.get(slug, slug)


def _with_tag(model: str, parsed: ParsedLog) -> str:
    # The file's quantization is the tag, unless the name has one.
    tag = gguf_slug(parsed.text("file_type")).removeprefix("gguf-").upper()
    repo = model.rpartition("/")[2]
    plain = "gguf" in repo.lower() and ":" not in repo and "@" not in repo
    return f"{model}:{tag}" if plain and tag else model


def _stated(fields: Arguments) -> Arguments:
    return {name: value for name, value in fields.items() if value not in (None, "")}
