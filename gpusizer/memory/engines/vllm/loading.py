"""Loader of one model under vLLM, at any width and split, with the LoRA adapters it serves."""

from __future__ import annotations

from functools import cached_property
from operator import mul

from gpusizer.core.byte_ranges import Provenance
from gpusizer.memory.engines.bands import band
from gpusizer.memory.engines.base import Loaded, Placement, Split
from gpusizer.memory.engines.vllm import extras, weights
from gpusizer.memory.engines.vllm.releases import VllmRelease
from gpusizer.memory.engines.vllm.version_defaults import limits_of
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part, Slot, is_expert
from gpusizer.model.weights import WeightGroup

_ELEMENT_BYTES = 2  # lora_dtype follows the model's 16 bits
_ROW_PARALLEL = (Slot.O, Slot.DOWN)


def adapter_bytes(placement: Placement) -> int:
    """Return bytes of `lora_a_stacked` and `lora_b_stacked` on one GPU (vllm/lora/layers).

    Each linear of the decoder has max_loras x max_lora_rank x (inputs + outputs) numbers. Routed
    experts are left out.
    """
    workload, split = placement.workload, placement.split
    if not workload.max_loras:
        return 0
    adapted = filter(_adapts, placement.profile.groups)
    numbers = sum(_numbers(group, split.tensor) for group in adapted)
    of_stage = -(-numbers // split.pipeline)
    return workload.max_loras * workload.max_lora_rank * of_stage * _ELEMENT_BYTES


def _adapts(group: WeightGroup) -> bool:
    return (
        group.part is Part.TEXT
        and group.kind is Kind.LINEAR
        and group.layers is not None
        and len(group.shape) == 2
        and not is_expert(group.pattern)
    )


def _numbers(group: WeightGroup, ranks: int) -> int:
    outputs, inputs = group.shape
    # A rank holds all inputs and its part of the outputs of layers that divide their outputs, and
    # the reverse of layers that divide their inputs.
    if group.slot in _ROW_PARALLEL:
        inputs = -(-inputs // ranks)
    else:
        outputs = -(-outputs // ranks)
    return group.count * (inputs + outputs)


class VllmLoader:
    """Loader of one model's weights; caches results that do not depend on width or split.

    Engines that share vLLM's layers do not have its `buffers` beside the weights; with
    `wide_scales` they hold one-byte scales of experts in FP32.
    """

    def __init__(
        self,
        profile: ModelProfile,
        workload: Workload,
        release: VllmRelease,
        *,
        buffers: bool = True,
        wide_scales: bool = False,
    ) -> None:
        self._profile = profile
        self._workload = workload
        self._era = release
        self._has_buffers = buffers
        self._has_wide_scales = wide_scales
        self._stages: dict[int, tuple[weights.GroupNumbers, ...]] = {}
        self._held: dict[tuple[str, bool, Split], weights.GroupNumbers] = {}
        self._extras: dict[Split, int] = {}

    @cached_property
    def _plan(self) -> weights.ShardingPlan:
        return weights.plan_of(self._profile)

    @cached_property
    def _factors(self) -> weights.GroupNumbers:
        # Growth of each group by padding or widening, 0 for groups that are not loaded.
        loaded = weights.kept_groups(self._profile, self._workload)
        padded = tuple(map(mul, loaded, weights.vocabulary_growth(self._profile)))
        if not self._has_wide_scales:
            return padded
        return tuple(map(mul, padded, weights.scale_growth(self._profile)))

    def __call__(self, sizes: WeightSizes, placement: Placement, *, native: bool) -> Loaded:
        split = placement.split
        stages = self._weights(sizes, split, native)
        extra = self._extra(sizes, placement)
        around = band("vllm", self._era.family, "weights").around
        everything = (round(sum(stages)) + extra * split.pipeline) * split.ranks
        return Loaded(
            around(round(max(stages)) + extra, Provenance.DERIVED),
            around(everything, Provenance.DERIVED),
        )

    def _weights(self, sizes: WeightSizes, split: Split, native: bool) -> weights.GroupNumbers:
        """Return bytes on one GPU of every stage; they do not depend on the class of card."""
        key = (sizes.quant, native, split)
        if key not in self._held:
            if split.pipeline not in self._stages:
                self._stages[split.pipeline] = self._plan.stages(split.pipeline)
            by_group = tuple(map(mul, sizes.by_group, self._factors))
            stages = self._stages[split.pipeline]
            self._held[key] = weights.held(self._plan, by_group, split, stages)
        return self._held[key]

    def _extra(self, sizes: WeightSizes, placement: Placement) -> int:
        arch, split = placement.arch, placement.split
        if arch is None:
            return 0
        if split not in self._extras:
            self._extras[split] = extras.absorbed_elements(self._profile, split, self._era)
        element = 1 if sizes.quant == "fp8" and self._era.latent == "padded" else 2
        return (
            extras.rotary_bytes(arch, wide=sizes.quant == "fp32")
            + self._extras[split] * element
            + extras.padding_bytes(placement, sizes, self._era)
            + (self._buffers(arch, placement) if self._has_buffers else 0)
        )

    def _buffers(self, arch: Architecture, placement: Placement) -> int:
        """Return bytes of buffers of libraries and adapters, and of images' features if served."""
        others = adapter_bytes(placement) + extras.library_bytes(placement.device_class)
        if self._workload.text_only:
            return others
        tokens = limits_of(placement, self._era).tokens
        return others + extras.deepstack_bytes(self._profile, arch, tokens)
