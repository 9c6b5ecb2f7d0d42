"""Workload: context, users and options of a run, with every default as a field."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_CONTEXT = 8192
"""Default context in tokens: a long conversation, not the model's maximum."""

MOST_CONTEXT = 10_000_000
MOST_USERS = 100_000
"""The largest `context` and `concurrency` of a request, where searches for them stop too."""

SAMPLERS = ("auto", "flashinfer", "pytorch")
"""What `sampler` may be."""

DEFAULT_LORA_RANK = 16
"""vLLM's own `max_lora_rank`."""

OFFLOADS = ("none", "model", "sequential")
"""What `cpu_offload` may be, from fastest to smallest."""

BACKENDS = ("auto", "cuda", "rocm", "vulkan", "metal", "sycl", "cpu")
"""What llama.cpp and Ollama may run on; "auto" leaves it open."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A resolved request for inference.

    Attributes:
        context: tokens per sequence, prompt and answer together.
        concurrency: sequences in flight at once.
        kv_dtype: element type of the KV cache; "auto" is the engine's default, and
            "q8_0/f16" are types of keys and of values.
        engine: slug of the engine to use for every quantization, None to take each
            quantization's usual one.
        engine_version: version to model, such as "0.8.5" or "0.8.5 V0" for vLLM's first
            scheduler, or "b4905" of llama.cpp; None for the engine's current one.
        tensor_parallel, pipeline_parallel: degrees asked for, None to choose.
        expert_parallel: ranks to deal routed experts out to, tensor x data of them; None
            divides their matrices like the others.
        memory_utilization: share of the card the engine may use, None for its default.
        max_num_seqs, max_num_batched_tokens: scheduler limits of serving engines, of each
            data-parallel rank.
        batch_size, ubatch_size: logical and physical batch of llama.cpp, in tokens.
        max_loras, max_lora_rank: adapters that one batch may mix, 0 for none, and their largest
            rank (vLLM).
        enforce_eager: run without CUDA graphs.
        sampler: who samples top-k and top-p (vLLM before 0.17): "flashinfer", "pytorch", or "auto"
            where nobody said.
        prefix_caching: states of recurrent layers are kept for shared prefixes (vLLM).
        text_only: leave the vision and audio parts of a multimodal model out.
        draft_tokens: tokens that are guessed ahead, by the model's own draft layers or by
            `draft_model`; 0 leaves the former out.
        draft_model: repository of a second model that guesses tokens; "" for none.
        acceptance_rate: share of guessed tokens that the model accepts, None where nothing is said.
        flash_attention: whether attention avoids materialising its score matrix.
        backend: what llama.cpp runs on; cards without it keep their own. "cpu" leaves every layer
            in system memory, and activations are those there.
        gpu_layers: layers on GPUs (llama.cpp), the output counted as one; None for all.
        cpu_moe: routed experts stay in system memory (llama.cpp's --cpu-moe).
        importance_matrix: whether a GGUF file was quantized with one; None where nothing is said.
        gguf_date: month or day on which a GGUF file was made, such as "2026-02"; None where nothing
            is said.
        width, height: pixels of a picture or video (diffusers); None for the pipeline's own.
        frames: of a video, None for the pipeline's own. `concurrency` is pictures per batch.
        cpu_offload: what waits in system memory for its turn (diffusers): "none", whole
            components ("model") or single layers ("sequential").
    """

    context: int = DEFAULT_CONTEXT
    concurrency: int = 1
    kv_dtype: str = "auto"
    engine: str | None = None
    engine_version: str | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    expert_parallel: int | None = None
    memory_utilization: float | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    batch_size: int | None = None
    ubatch_size: int | None = None
    max_loras: int = 0
    max_lora_rank: int = DEFAULT_LORA_RANK
    enforce_eager: bool = False
    sampler: str = SAMPLERS[0]
    prefix_caching: bool = False
    text_only: bool = False
    draft_tokens: int = 0
    draft_model: str = ""
    acceptance_rate: float | None = None
    flash_attention: bool = True
    backend: str = BACKENDS[0]
    gpu_layers: int | None = None
    cpu_moe: bool = False
    importance_matrix: bool | None = None
    gguf_date: str | None = None
    width: int | None = None
    height: int | None = None
    frames: int | None = None
    cpu_offload: str = "none"

    @property
    def own_draft_tokens(self) -> int:
        """Tokens that the model's own draft layers guess, 0 where they are not loaded."""
        return 0 if self.draft_model else self.draft_tokens
