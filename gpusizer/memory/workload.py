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

    A field means what the request's field of its name does (`docs/contract.md`); None leaves it to
    the engine, the pipeline or the model. Here stands what a request need not know.

    Attributes:
        kv_dtype: "auto" is the engine's default.
        engine: slug of the engine to use for every quantization.
        engine_version: "0.8.5 V0" is vLLM's first scheduler, "b4905" a build of llama.cpp.
        expert_parallel: all of tensor x data ranks; None divides matrices of experts like others.
        max_num_seqs, max_num_batched_tokens: of each data-parallel rank.
        draft_tokens: 0 leaves the model's own draft layers out.
        acceptance_rate, importance_matrix, gguf_date, prefix_caching: None where nothing is said.
        backend: cards without it keep their own. "cpu" leaves every layer in system memory, and
            activations are those there.
        gpu_layers: None for all; `cpu_moe` is llama.cpp's --cpu-moe.
        frames: of a video; `concurrency` is pictures or videos per batch.
        steps: of the denoiser; None for as many as the pipeline takes.
        cpu_offload: whole components wait for their turn ("model"), or layers ("sequential").
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
    prefix_caching: bool | None = None
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
    steps: int | None = None
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
        """Tokens that the model's own draft layers guess, 0 where they are not loaded."""
        return 0 if self.draft_model else self.draft_tokens
