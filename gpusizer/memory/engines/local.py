"""Engines that run one model in one process: transformers, ExLlama, MLX.

Few public measurements state their settings, so the bands are wide.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount, fitted
from gpusizer.core.units import GIB
from gpusizer.memory.engines.abilities import EVERY_METHOD, Abilities
from gpusizer.memory.engines.base import Engine, Overhead, Placement, SplitBy, resolved_type
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

CONTEXT_BYTES = (0.35 * GIB, 0.60 * GIB, 0.90 * GIB)
BITSANDBYTES = (("int4", "bnb-nf4-dq"), ("int8", "bnb-int8"))
"""What a bare width means where bitsandbytes quantizes while it loads."""
_METAL_BYTES = (0.05 * GIB, 0.20 * GIB, 0.50 * GIB)


@dataclass(frozen=True, slots=True)
class LocalEngine(Engine):
    """Prefill in chunks of `chunk` tokens (0: the whole prompt at once), 16-bit activations.

    `allocator_slack` is the share by which the caching allocator may exceed what is in use.
    """

    slug: str
    name: str
    version: str
    stacks: frozenset[str]
    abilities: Abilities
    chunk: int
    runtime_bytes: tuple[float, float, float]
    allocator_slack: float
    split_by: SplitBy = "layer"
    kv_cell_multiple: int = 1
    device_classes: tuple[int, ...] = (0,)

    def cache_type(
        self, profile: ModelProfile, workload: Workload, quant: str, *, native: bool
    ) -> str:
        return resolved_type(profile, workload, quant, native=native, honoured=())

    def activations(self, placement: Placement) -> Amount:
        """Hidden states and one MLP of the tokens processed at once, plus their last logits."""
        arch, workload = placement.arch, placement.workload
        if arch is None:
            return fitted(0.1 * GIB, 0.5 * GIB, 2 * GIB)
        tokens = min(workload.context, self.chunk or workload.context) * workload.concurrency
        hidden, width = arch.hidden_size or 0, arch.intermediate_size or 0
        forward = tokens * 2 * (3 * width + 4 * hidden)
        logits = workload.concurrency * (arch.vocab_size or 0) * 4
        scores = 0
        if not workload.flash_attention:
            scores = tokens * workload.context * (arch.attention_heads or 1) * 4
        likely = forward + logits + scores
        return fitted(likely * 0.5, likely, likely * (1 + self.allocator_slack) + 0.1 * GIB)

    def overhead(self, placement: Placement) -> Overhead:
        return Overhead(inside=fitted(*self.runtime_bytes), outside=fitted(0, 0, 0))


# Cache types: QuantizedCache of transformers, Cache_Q8 and Cache_Q4 of ExLlama, --kv-bits of MLX.
# PyTorch queues kernels and does not wait for them ("CUDA semantics", asynchronous execution):
# Qwen2.5 of 0.5 to 32 billion parameters in 16 bits takes 842 to 902 us a layer on an A100 whatever
# it reads (Qwen2.5 speed page), Qwen-1.8B and 14B 770 and 776.
TRANSFORMERS = LocalEngine(
    "transformers",
    "transformers",
    "5",
    frozenset({"CUDA", "ROCm", "Metal", "oneAPI"}),
    Abilities(
        compute_capability=5.0,
        kinds=frozenset({"decoder", "encoder", "encoder_decoder", "speech", "tower"}),
        methods=(EVERY_METHOD,),
        bare_widths=BITSANDBYTES,
        cache_types=("q8_0", "q4_0"),
        proposed_caches=(),
        speed_family="transformers",
        launches_kernels=True,
    ),
    chunk=0,
    runtime_bytes=CONTEXT_BYTES,
    allocator_slack=0.5,
)
EXLLAMA = LocalEngine(
    "exllama",
    "ExLlamaV2 / V3",
    "0.3",
    frozenset({"CUDA", "ROCm"}),
    Abilities(
        compute_capability=7.0,
        amd_attention=True,
        cache_types=("q8_0", "q4_0"),
        speed_family="exllama",
    ),
    chunk=2048,
    runtime_bytes=CONTEXT_BYTES,
    allocator_slack=0.5,
)
MLX = LocalEngine(
    "mlx",
    "MLX",
    "0.29",
    frozenset({"Metal"}),
    Abilities(
        bare_widths=(("int4", "mlx-4bit"), ("int8", "mlx-8bit")),
        stages=False,
        cache_types=("q8_0", "q4_0"),
        proposed_caches=("q8_0",),
        speed_family="mlx",
    ),
    chunk=2048,
    runtime_bytes=_METAL_BYTES,
    allocator_slack=0.5,
    split_by="none",
)
