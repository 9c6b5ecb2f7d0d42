"""diffusers: image and video pipelines, whose steps run one after another on one GPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount, Provenance, exactly, fitted
from gpusizer.memory.engines.abilities import stated
from gpusizer.memory.engines.base import Loaded, Loader, Placement, SplitBy
from gpusizer.memory.engines.local import LocalEngine
from gpusizer.memory.engines.pipeline_steps import UNKNOWN, Bytes, PipelineStep, pipeline_steps
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.memory.workload import OFFLOADS, Workload
from gpusizer.model.pipeline_shape import PipelineShape
from gpusizer.model.profile import ModelProfile

_FLOAT32_BITS = 28  # components stored with more bits per parameter compute in 32 bits
_FLOAT16_BYTES = 2


@dataclass(frozen=True, eq=False, kw_only=True)
class DiffusersEngine(LocalEngine):
    """Pipelines whose memory is the peak over text encoding, denoising and decoding."""

    split_by: SplitBy = "none"

    def activations(self, placement: Placement) -> Amount:
        """Return a wide guess for unknown pipelines; `with_streaming` replaces it for others."""
        return fitted(*UNKNOWN)

    def loader(self, profile: ModelProfile, workload: Workload) -> Loader:
        """Return a loader of the peak: everything, one step's components, or one layer."""
        plain = super().loader(profile, workload)
        shape = profile.pipeline
        if shape is None:
            return plain

        def load(sizes: WeightSizes, placement: Placement, *, native: bool) -> Loaded:
            # `enable_model_cpu_offload` brings each component to the GPU for its step,
            # `enable_sequential_cpu_offload` one layer at a time:
            # docs/source/en/optimization/memory.md and pipelines/pipeline_utils.py of diffusers.
            # Without offload all components stay there.
            wider = _kept_in_float32(profile, shape, sizes)
            if workload.cpu_offload == OFFLOADS[0] and not wider:
                return plain(sizes, placement, native=native)
            weights, _ = _peak(profile, shape, workload, sizes)
            amount = exactly(weights, Provenance.DERIVED)
            return Loaded(amount, amount)

        return load

    def with_streaming(self, placement: Placement, sizes: WeightSizes, usual: Amount) -> Amount:
        """Return working memory of the step at the peak; its width follows the quantization."""
        shape = placement.profile.pipeline
        if shape is None:
            return usual
        return _peak(placement.profile, shape, placement.workload, sizes)[1]


def _peak(
    profile: ModelProfile, shape: PipelineShape, workload: Workload, sizes: WeightSizes
) -> tuple[int, Amount]:
    """Return bytes of weights on the GPU at the likely peak, and working memory on top."""
    held = component_bytes(profile, shape, sizes)
    # Pipelines upcast only float16 before decoding.
    narrow = frozenset(group.component for group in profile.groups if group.dtype == "BF16")
    steps = pipeline_steps(shape, workload, _widths(profile, sizes), narrow)
    needs = [_need(step, held, workload.cpu_offload, profile, sizes) for step in steps]
    weights, (_, likely, _) = max(needs, key=lambda pair: pair[0] + pair[1][1])
    # The step that needs most may differ at the ends of the band; all is relative to the weights of
    # the likely step.
    low = max(0.0, max(w + need[0] for w, need in needs) - weights)
    high = max(w + need[2] for w, need in needs) - weights
    return weights, fitted(min(low, likely), likely, high)


def _need(
    step: PipelineStep,
    held: Mapping[str, int],
    mode: str,
    profile: ModelProfile,
    sizes: WeightSizes,
) -> tuple[int, Bytes]:
    """Return the weights on the GPU during a step, and its working memory."""
    low, likely, high = step.need
    if step.upcast is not None and mode != OFFLOADS[2]:
        extra = held.get(step.upcast, 0)  # upcasting from 16 to 32 bits doubles the weights
        likely, high = likely + extra, high + extra
    if mode == OFFLOADS[0]:
        weights = sum(held.values())
    elif mode == OFFLOADS[1]:
        weights = max(
            (sum(held.get(name, 0) for name in names) for names in step.together), default=0
        )
    else:
        weights = _largest_matrix(profile, sizes)
    return weights, (low, likely, high)


def component_bytes(
    profile: ModelProfile, shape: PipelineShape, sizes: WeightSizes
) -> dict[str, int]:
    """Return bytes of each component's weights in memory."""
    held: dict[str, int] = {}
    for group, amount in zip(profile.groups, sizes.by_group, strict=True):
        held[group.component] = held.get(group.component, 0) + amount
    for name, amount in _kept_in_float32(profile, shape, sizes).items():
        held[name] += amount
    return held


def _kept_in_float32(
    profile: ModelProfile, shape: PipelineShape, sizes: WeightSizes
) -> dict[str, int]:
    """Return bytes that T5's output projections (`wo`) take beyond the file in float16."""
    names = {encoder.component for encoder in shape.encoders if encoder.keeps_float32}
    extra: dict[str, int] = {}
    for group, amount in zip(profile.groups, sizes.by_group, strict=True):
        widened = group.component in names and group.dtype == "F16" and ".wo." in group.pattern
        if widened and amount == group.elements * group.count * _FLOAT16_BYTES:
            extra[group.component] = extra.get(group.component, 0) + amount
    return extra


def _largest_matrix(profile: ModelProfile, sizes: WeightSizes) -> int:
    each = zip(profile.groups, sizes.by_group, strict=True)
    return max((-(-amount // max(1, group.count)) for group, amount in each), default=0)


def _widths(profile: ModelProfile, sizes: WeightSizes) -> dict[str, int]:
    """Return bytes of one number in each component's computations: 4 for 32-bit weights."""
    totals: dict[str, tuple[int, int]] = {}
    for group, amount in zip(profile.groups, sizes.by_group, strict=True):
        parameters, held = totals.get(group.component, (0, 0))
        totals[group.component] = (parameters + group.parameters, held + amount)
    return {
        name: 4 if held * 8 > _FLOAT32_BITS * parameters else 2
        for name, (parameters, held) in totals.items()
    }


DIFFUSERS = DiffusersEngine(**stated("diffusers"))
