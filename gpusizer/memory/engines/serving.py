"""Serving engines that budget a share of the card: SGLang, TensorRT-LLM, TGI.

Their shares follow their source or documentation. Activations follow vLLM's formula, because no
published log states them separately. See data/SOURCES.md, "Serving engines".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.core.byte_ranges import Amount, fitted
from gpusizer.core.units import GIB
from gpusizer.memory.engines.abilities import stated
from gpusizer.memory.engines.base import (
    Engine,
    Loader,
    MemoryTotal,
    Overhead,
    Placement,
    SplitBy,
)
from gpusizer.memory.engines.vllm.loading import VllmLoader
from gpusizer.memory.engines.vllm.pages import Cache, cache_of, compresses
from gpusizer.memory.engines.vllm.releases import vllm_release
from gpusizer.memory.engines.vllm.version_defaults import UNIFIED, is_unified
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture, LayerRun
from gpusizer.model.profile import ModelProfile

_BIG_CARD_BYTES = 60 * GIB  # SGLang's prefill chunks grow from here on
_STEP_TOKENS = {0: 2048, UNIFIED: 8192, _BIG_CARD_BYTES: 8192}
_SEQUENCES = {0: 64, UNIFIED: 256, _BIG_CARD_BYTES: 256}  # sampled in one step
_LOGIT_COPIES = 3.5
_SAMPLER_BASE_BYTES = 0.2 * GIB
_CONTEXT_BYTES = (0.40 * GIB, 0.51 * GIB, 0.70 * GIB)
# Communicators of several ranks: 0.25-0.55 GiB over PCIe, 1.5-2.2 GiB with NVLink.
_TOGETHER = {
    0: (0.25 * GIB, 0.5 * GIB, 1.6 * GIB),
    UNIFIED: (0.25 * GIB, 0.5 * GIB, 1.6 * GIB),
    _BIG_CARD_BYTES: (0.5 * GIB, 1.6 * GIB, 2.3 * GIB),
}
# A GB10's system used 7.4, 8.5 and 9.6 GiB of its memory at start (logs of vLLM 0.27, of vLLM's
# issue 44740 and of SGLang).
_SYSTEM_BYTES = (6.0 * GIB, 8.5 * GIB, 11.0 * GIB)
_GRAPH_BYTES = (0.1 * GIB, 0.8 * GIB, 3.0 * GIB)
_WINDOW_SHARE = 0.8  # SGLang's swa_full_tokens_ratio: tokens of its pool for sliding layers


@dataclass(frozen=True, eq=False, kw_only=True)
class ServingEngine(Engine):
    """An engine that reserves memory by a share and gives what is left to the cache."""

    default_utilization: float
    fuses: bool = False  # it loads weights as vLLM does, whose layers it shares or mirrors
    widens_scales: bool = False  # it holds one-byte scales of experts in FP32
    caches_honoured: tuple[str, ...] = ()  # tools whose FP8 cache flag it obeys
    split_by: SplitBy = "tensor"
    kv_cell_multiple: int = 16
    device_classes: tuple[int, ...] = (0, _BIG_CARD_BYTES)
    memory_total: MemoryTotal = "torch"  # each asks cudaMemGetInfo, SGLang and TGI by PyTorch

    def utilization(self, workload: Workload) -> float:
        return workload.memory_utilization or self.default_utilization

    def kv_dtype_sources(self, workload: Workload) -> tuple[str, ...]:
        return self.caches_honoured

    def loader(self, profile: ModelProfile, workload: Workload) -> Loader:
        if self.fuses:
            return VllmLoader(
                profile, workload, vllm_release(None), buffers=False, wide_scales=self.widens_scales
            )
        return super().loader(profile, workload)

    def step_tokens(self, placement: Placement) -> int:
        arch, workload = placement.arch, placement.workload
        whole = 0 if arch is None or arch.generates else workload.context
        return workload.max_num_batched_tokens or max(_STEP_TOKENS[placement.device_class], whole)

    def activations(self, placement: Placement) -> Amount:
        """Return max(forward, sampler), in 16 bits and FP32.

        forward = step tokens x 2 bytes x (3 x MLP width / TP + 3 x hidden);
        sampler = logit copies x 4 bytes x sequences x vocabulary, not divided by TP.
        """
        arch = placement.arch
        if arch is None:
            return fitted(0.1 * GIB, 0.5 * GIB, 2 * GIB)
        usual = max(_SEQUENCES[placement.device_class], placement.users_each)
        sequences = placement.workload.max_num_seqs or usual
        hidden, width = arch.hidden_size or 0, arch.intermediate_size or 0
        per_token = 2 * (3 * width / placement.split.tensor + 3 * hidden)
        forward = self.step_tokens(placement) * per_token
        sampler = 0.0
        if arch.generates:
            vocabulary = arch.vocab_size or 0
            sampler = _LOGIT_COPIES * 4 * sequences * vocabulary + _SAMPLER_BASE_BYTES
        likely = max(forward, sampler)
        return fitted(likely * 0.5, likely, likely * 1.5 + 0.5 * GIB)

    def overhead(self, placement: Placement) -> Overhead:
        """Return bytes of context and communicators, in use before an engine reads free memory."""
        inside = fitted(*_CONTEXT_BYTES)
        if placement.split.tensor > 1:
            inside = inside + fitted(*_TOGETHER[placement.device_class])
        graphs = fitted(0, 0, 0) if placement.workload.enforce_eager else fitted(*_GRAPH_BYTES)
        return Overhead(inside, graphs)


@dataclass(frozen=True, eq=False, kw_only=True)
class SglangEngine(ServingEngine):
    """Engine with a pool for each kind of layer; sliding layers get a share of the full pool."""

    # Its share is of what is free before weights are loaded, and holds weights and cache;
    # activations and graphs lie in the rest (`profile_max_num_token`,
    # srt/model_executor/model_runner.py; ai-dynamo/aisimulate pull request 263).
    device_classes: tuple[int, ...] = (0, UNIFIED, _BIG_CARD_BYTES)

    def device_class(
        self, memory_bytes: int, name: str, stack: str = "CUDA", *, fabric: bool = True
    ) -> int:
        return UNIFIED if is_unified(name, stack) else by_memory(memory_bytes)

    def overhead(self, placement: Placement) -> Overhead:
        """Return the usual overhead, plus the system's use if memory is unified."""
        usual = super().overhead(placement)
        system = fitted(*_SYSTEM_BYTES) if placement.device_class == UNIFIED else fitted(0, 0, 0)
        return Overhead(usual.inside + system, usual.outside)

    def sequence_bytes(self, placement: Placement, context: int) -> int:
        """Return tokens x bytes of every full layer, and a fixed share of that for sliding ones."""
        # The pools are sized by that share whatever a sequence needs of its window. The model's own
        # draft layers have a pool of as many tokens (`draft_runner_cache_size`,
        # srt/model_executor/model_runner.py). With speculation a recurrent state has one more for
        # each token that is verified: those and the next (`intermediate_ssm_state_cache`,
        # srt/mem_cache/memory_pool.py).
        arch, workload = placement.arch, placement.workload
        if arch is None or not arch.generates:
            return 0
        if compresses(arch.layer_plan):
            return super().sequence_bytes(placement, context)
        if workload.own_draft_tokens:
            arch = _with_draft_layer(arch)
        states = workload.draft_tokens + 2 if workload.draft_tokens else 1
        caches = cache_of(arch, workload.kv_dtype, placement.split, 0, vllm_release(None))
        stages = [stage for stage in caches if isinstance(stage, Cache)]
        return max(
            sum(
                kind.layers
                * (
                    kind.state * states
                    + round(context * kind.token * (1.0 if kind.window is None else _WINDOW_SHARE))
                )
                for kind in stage.kinds
            )
            for stage in stages
        )


def _with_draft_layer(arch: Architecture) -> Architecture:
    lasting = [run.layer for run in arch.layer_plan if run.layer.lasts]
    draft = tuple(LayerRun(layer) for layer in lasting[-1:])
    return replace(arch, layer_plan=(*arch.layer_plan, *draft))


def by_memory(memory_bytes: int) -> int:
    """Return the class of a card with memory of its own."""
    return _BIG_CARD_BYTES if memory_bytes >= _BIG_CARD_BYTES else 0


SGLANG = SglangEngine(**stated("sglang"))
TENSORRT_LLM = ServingEngine(**stated("tensorrt-llm"))
TGI = ServingEngine(**stated("tgi"))
