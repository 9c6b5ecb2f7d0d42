"""llama.cpp and the tools built on it.

Cache cells are padded to 256; the compute buffer follows the physical batch, the
vocabulary and, without flash attention, the score matrix. Read in llama.cpp's source and
checked on its allocation logs; see data/SOURCES.md, "llama.cpp".
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.amounts import Amount, fitted
from gpusizer.engines.base import Overhead, Split, SplitBy
from gpusizer.engines.defaults import Defaults
from gpusizer.profile import ModelProfile
from gpusizer.units import GIB
from gpusizer.workload import Workload

_DEFAULT_UBATCH = 512
_F32_BYTES = 4
# CUDA runtime and cuBLAS beside llama.cpp's own buffers: 451-456 MiB per headless card.
_RUNTIME_BYTES = (0.20 * GIB, 0.45 * GIB, 0.80 * GIB)


@dataclass(frozen=True, slots=True)
class LlamaCppEngine(Defaults):
    """Layers are placed on GPUs one after the other; nothing is reserved beyond need."""

    slug: str
    name: str
    version: str
    stacks: frozenset[str]
    split_by: SplitBy = "layer"
    kv_cell_multiple: int = 256
    device_classes: tuple[int, ...] = (0,)

    def utilization(self, workload: Workload) -> float:
        return 1.0

    def activations(
        self, profile: ModelProfile, workload: Workload, split: Split, device_class: int
    ) -> Amount:
        """Flash attention: logits + hidden states of one physical batch, in FP32.

        Without it the larger of that and the attention scores (cells x batch x heads).
        """
        arch = profile.architecture
        if arch is None:
            return fitted(0.05 * GIB, 0.3 * GIB, 1 * GIB)
        batch = min(workload.ubatch_size or _DEFAULT_UBATCH, workload.context)
        hidden = arch.hidden_size or 0
        logits = (arch.vocab_size or 0) * batch * _F32_BYTES
        likely = logits + 2 * hidden * batch * _F32_BYTES
        if not workload.flash_attention:
            cells = workload.context * workload.concurrency
            scores = cells * batch * ((arch.attention_heads or 1) + 1) * _F32_BYTES
            likely = max(likely, scores + 4 * hidden * batch * _F32_BYTES)
        copies = 1.3 if split.gpus > 1 else 1.0  # pipeline copies of the inputs
        return fitted(likely * 0.9, likely * copies, likely * copies * 1.3 + 64 * 2**20)

    def overhead(
        self, profile: ModelProfile, workload: Workload, split: Split, device_class: int
    ) -> Overhead:
        return Overhead(inside=fitted(*_RUNTIME_BYTES), outside=fitted(0, 0, 0))


_STACKS = frozenset({"CUDA", "ROCm", "Metal", "oneAPI", "CANN", "MUSA"})

LLAMA_CPP = LlamaCppEngine("llama.cpp", "llama.cpp", "b7000", _STACKS)
OLLAMA = LlamaCppEngine("ollama", "Ollama", "0.13", frozenset({"CUDA", "ROCm", "Metal"}))
