"""Workload: context, users and options of a run, with every default as a field."""

from __future__ import annotations

from dataclasses import dataclass

# Tokens: a long conversation, not the model's maximum.
DEFAULT_CONTEXT = 8192

MOST_CONTEXT = 10_000_000
# The largest `context` and `concurrency` of a request, and the bounds of searches for them.
MOST_USERS = 100_000

DEFAULT_IMAGE_SIDE = 1024  # pixels of `image_width` and `image_height`
MOST_IMAGES = 256

MOST_OFFLOAD_GB = 100_000  # of `kv_offload_gb`

SAMPLERS = ("auto", "flashinfer", "pytorch")  # values of `sampler`

DEFAULT_LORA_RANK = 16  # vLLM's own `max_lora_rank`

OFFLOADS = ("none", "model", "sequential")  # values of `cpu_offload`, from fastest to smallest

# Values of `backend` under llama.cpp and Ollama.
BACKENDS = ("auto", "cuda", "rocm", "vulkan", "metal", "sycl", "cpu")


@dataclass(frozen=True, slots=True)
class Workload:
    """A resolved request for inference.

    A field means what the request's field of its name does (`docs/contract.md`); None leaves it to
    the engine, the pipeline or the model. Comments give what a request need not know.
    """

    context: int = DEFAULT_CONTEXT
    concurrency: int = 1
    kv_dtype: str = "auto"  # "auto" is the engine's default
    engine: str | None = None  # slug of the engine to use for every quantization
    # "0.8.5 V0" is vLLM's first scheduler, "b4905" a build of llama.cpp.
    engine_version: str | None = None
    tensor_parallel: int | None = None
    pipeline_parallel: int | None = None
    # All of tensor x data ranks; None divides matrices of experts like others.
    expert_parallel: int | None = None
    memory_utilization: float | None = None
    # max_num_seqs, max_num_batched_tokens: limits of each data-parallel rank.
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    batch_size: int | None = None
    ubatch_size: int | None = None
    max_loras: int = 0
    max_lora_rank: int = DEFAULT_LORA_RANK
    enforce_eager: bool = False
    sampler: str = SAMPLERS[0]
    prefix_caching: bool | None = None  # None leaves it to the engine
    kv_offload_gb: float = 0.0  # in units of 2^30 bytes, of all GPUs together; 0 for none
    text_only: bool = False
    images: int = 0  # pictures in each prompt, beside `context` until the workload is resolved
    image_width: int = DEFAULT_IMAGE_SIDE
    image_height: int = DEFAULT_IMAGE_SIDE
    image_tokens: int = 0  # tokens of `context` that they take in a resolved workload
    draft_tokens: int = 0  # 0 leaves the model's own draft layers out
    draft_model: str = ""
    acceptance_rate: float | None = None  # None if unknown
    flash_attention: bool = True
    # Cards without it keep their own. "cpu" leaves every layer in system memory, and activations
    # are those there.
    backend: str = BACKENDS[0]
    gpu_layers: int | None = None  # None for all; `cpu_moe` is llama.cpp's --cpu-moe
    cpu_moe: bool = False
    importance_matrix: bool | None = None  # None if unknown
    gguf_date: str | None = None  # None if unknown
    width: int | None = None
    height: int | None = None
    frames: int | None = None  # frames of a video; `concurrency` is pictures or videos per batch
    steps: int | None = None  # steps of the denoiser; None for the pipeline's default
    # Whole components wait for their turn ("model"), or layers ("sequential").
    cpu_offload: str = "none"

    @property
    def sequences(self) -> int:
        """Sequences in flight: of the users, as many as the schedulers of all ranks take."""
        if self.max_num_seqs is None:
            return self.concurrency
        experts = self.expert_parallel or 1
        ranks = experts // (self.tensor_parallel or experts)
        return min(self.concurrency, self.max_num_seqs * max(1, ranks))

    @property
    def takes_turns(self) -> bool:
        """Whether schedulers let some of the users wait."""
        return self.sequences < self.concurrency

    @property
    def own_draft_tokens(self) -> int:
        """Tokens that the model's own draft layers guess, 0 if they are not loaded."""
        return 0 if self.draft_model else self.draft_tokens
