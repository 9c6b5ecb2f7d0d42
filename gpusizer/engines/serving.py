"""Serving engines that budget a share of the card: SGLang, TensorRT-LLM, TGI.

Formulas and constants were fitted on published start-up logs (mostly vLLM 0.19 on H100);
the bands are the spread of those measurements. See data/SOURCES.md, "Serving engines".
"""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.amounts import Amount, fitted
from gpusizer.engines.base import Overhead, Split, SplitBy
from gpusizer.engines.defaults import Defaults
from gpusizer.profile import ModelProfile
from gpusizer.units import GIB
from gpusizer.workload import Workload

_BIG_CARD_BYTES = 70 * GIB  # vLLM raises its defaults from here on
_STEP_TOKENS = {0: 2048, _BIG_CARD_BYTES: 8192}  # default max_num_batched_tokens
_SEQUENCES = {0: 256, _BIG_CARD_BYTES: 1024}  # default max_num_seqs

# Peak of the sampler in FP32 copies of the logits: 3.5 where top-k/top-p does not sort
# (vLLM >= 0.17), 9.6 where PyTorch sorts.
_LOGIT_COPIES = 3.5
_SAMPLER_BASE_BYTES = 0.2 * GIB
_MOE_BYTES = 0.4 * GIB  # measured 0.2 to 0.65 GiB above the dense formula
_CONTEXT_BYTES = (0.40 * GIB, 0.51 * GIB, 0.70 * GIB)
# Increase of non-PyTorch memory. On one GPU it is small; from two on the communicator's buffers
# decide: 0.25-0.55 GiB over PCIe (RTX 4090, L40S), 1.5-2.2 GiB on cards with NVLink.
_NON_TORCH_ALONE = (0.1 * GIB, 0.25 * GIB, 0.5 * GIB)
_NON_TORCH_TOGETHER = {
    0: (0.25 * GIB, 0.5 * GIB, 1.6 * GIB),
    _BIG_CARD_BYTES: (1.5 * GIB, 2.1 * GIB, 2.3 * GIB),
}
_GRAPH_BYTES = (0.1 * GIB, 0.5 * GIB, 1.9 * GIB)


@dataclass(frozen=True, slots=True)
class ServingEngine(Defaults):
    """An engine that reserves a fixed share of memory and gives what is left to the cache."""

    slug: str
    name: str
    version: str
    default_utilization: float
    stacks: frozenset[str]
    uses_graphs: bool = True
    split_by: SplitBy = "tensor"
    kv_cell_multiple: int = 16  # block size of the paged cache
    device_classes: tuple[int, ...] = (0, _BIG_CARD_BYTES)

    def utilization(self, workload: Workload) -> float:
        return workload.memory_utilization or self.default_utilization

    def activations(
        self, profile: ModelProfile, workload: Workload, split: Split, device_class: int
    ) -> Amount:
        """max(forward, sampler), plus the experts' workspace.

        forward = step tokens x 2 bytes x (3 x MLP width / TP + 3 x hidden);
        sampler = logit copies x 4 bytes x sequences x vocabulary, not divided by TP.
        """
        arch = profile.architecture
        if arch is None:
            return fitted(0.1 * GIB, 0.5 * GIB, 2 * GIB)
        tokens = workload.max_num_batched_tokens or max(
            _STEP_TOKENS[device_class], 0 if arch.generates else workload.context
        )
        sequences = workload.max_num_seqs or max(_SEQUENCES[device_class], workload.concurrency)
        hidden, width = arch.hidden_size or 0, arch.intermediate_size or 0
        forward = tokens * 2 * (3 * width / split.tensor + 3 * hidden)
        sampler = 0.0
        if arch.generates:
            vocabulary = arch.vocab_size or 0
            sampler = _LOGIT_COPIES * 4 * sequences * vocabulary + _SAMPLER_BASE_BYTES
        likely = max(forward, sampler) + (_MOE_BYTES if arch.experts else 0)
        return fitted(likely * 0.8, likely, likely * 1.25 + 0.1 * GIB)

    def overhead(
        self, profile: ModelProfile, workload: Workload, split: Split, device_class: int
    ) -> Overhead:
        together = _NON_TORCH_TOGETHER[device_class]
        inside = fitted(*(_NON_TORCH_ALONE if split.gpus == 1 else together))
        if self.uses_graphs and not workload.enforce_eager:
            inside = inside + fitted(*_GRAPH_BYTES)
        return Overhead(inside=inside, outside=fitted(*_CONTEXT_BYTES))


SGLANG = ServingEngine("sglang", "SGLang", "0.5", 0.88, frozenset({"CUDA", "ROCm"}))
TENSORRT_LLM = ServingEngine("tensorrt-llm", "TensorRT-LLM", "1.0", 0.90, frozenset({"CUDA"}))
TGI = ServingEngine("tgi", "Text Generation Inference", "3", 0.93, frozenset({"CUDA", "ROCm"}))
