"""Memory of vLLM beside the files' weights: tables, copies and padding."""

from __future__ import annotations

from gpusizer.core.units import GIB
from gpusizer.memory.engines.base import Placement, Split
from gpusizer.memory.engines.vllm.releases import VllmRelease
from gpusizer.memory.engines.vllm.version_defaults import is_pcie, is_rocm, is_xpu
from gpusizer.memory.engines.vllm.weights import is_expert_scale
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.model.architecture import Architecture
from gpusizer.model.architecture.rotary import Rotary
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part, Slot

_WIDE = 2  # bytes of 16-bit arithmetic
_SECTIONED_FACTOR = 4  # MRotaryEmbedding keeps four times the positions
_MXFP4_STEP = {"hidden": 256, "width": 128}  # Marlin's tiles; SwiGLU width is per rank
_MXFP4_STEP_XPU = {"hidden": 128, "width": 1}  # `current_platform.is_xpu()`, quantization/mxfp4.py
_MXFP4_SCALES = 32  # weights that share a scale byte
_HOPPER_CLASS = 70 * GIB  # cards of this class use Triton's kernels for MXFP4
_HIP_LIBRARIES = 0.1 * GIB
_DEEPSTACK = "deepstack_merger"
_TRITON = ((0, 11, 1), (0, 17, 0))  # versions whose Triton layout pads one side, values only


def rotary_bytes(arch: Architecture, *, wide: bool) -> int:
    """Return bytes of sine and cosine tables on every GPU: positions x rotated width x element.

    `wide` models in FP32 keep FP32 tables. (vllm/model_executor/layers/rotary_embedding)
    """
    return sum(_rows(rotary) * rotary.width for rotary in arch.rotary) * (
        2 * _WIDE if wide else _WIDE
    )


def _rows(rotary: Rotary) -> int:
    # Each scaling stretches the positions of the table.
    if rotary.sectioned:
        return rotary.positions * _SECTIONED_FACTOR
    if rotary.kind in ("linear", "dynamic"):
        return int(rotary.positions * rotary.factor)
    if rotary.kind == "yarn" and rotary.original:
        return int(rotary.original * rotary.factor)
    if rotary.kind in ("longrope", "su"):
        return rotary.positions + rotary.original
    return rotary.positions


def absorbed_elements(profile: ModelProfile, split: Split, release: VllmRelease) -> int:
    """Return elements of MLA's up-projection once more on one GPU.

    W_UK and W_UV, the elements of kv_b, let decoding work in the latent space.
    """
    arch = profile.architecture
    plan = arch.layer_plan if arch else ()
    latents = [run.layer.latent for run in plan for _ in range(run.count) if run.layer.latent]
    if arch is None or not latents or release.latent == "expanded":
        return 0
    if release.latent == "exact":
        elements = sum(
            g.parameters for g in profile.groups if g.slot is Slot.KV_B and g.part is Part.TEXT
        )
        return elements // (split.tensor * split.pipeline)
    # V0 multiplied them into the query and output projections beforehand: hidden or query latent x
    # heads x (latent + rotary part), and back; in the weights' own width where they are FP8, else
    # 16-bit.
    heads, hidden = arch.attention_heads or 1, arch.hidden_size or 0
    query = next(
        (g.shape[0] for g in profile.groups if g.pattern.endswith("q_a_proj.weight")), hidden
    )
    first = latents[0]
    per_layer = heads * (query * first.key_width + first.latent_width * hidden)
    return len(latents) * per_layer // (split.tensor * split.pipeline)


def padding_bytes(placement: Placement, sizes: WeightSizes, release: VllmRelease) -> int:
    """Return growth in bytes of MXFP4 experts on one GPU: sides are padded to whole tiles."""
    arch, split, card = placement.arch, placement.split, placement.device_class
    if arch is None or sizes.quant != "mxfp4" or not arch.experts or not arch.hidden_size:
        return 0
    experts = sum(
        amount
        for amount, group in zip(sizes.by_group, placement.profile.groups, strict=True)
        if group.part is Part.TEXT and (group.kind is Kind.EXPERT or is_expert_scale(group))
    )
    # Marlin: hidden to 256, width per rank to 128, scales too. Triton on Hopper up to 0.16: the
    # values of one side only; from 0.17 on both sides, of values only. Intel's kernels: hidden to
    # 128 at most.
    step = _MXFP4_STEP_XPU if is_xpu(card) else _MXFP4_STEP
    hidden = _grown(arch.hidden_size, step["hidden"])
    expert_width = arch.expert_width or arch.hidden_size
    width_per_rank = expert_width if split.expert > 1 else expert_width // split.tensor
    width = _grown(width_per_rank, step["width"])
    share = hidden * width
    hopper = card >= _HOPPER_CLASS and not is_pcie(card) and not is_xpu(card)
    if hopper and release.since >= _TRITON[0]:
        experts = experts * _MXFP4_SCALES // (_MXFP4_SCALES + 2)  # half bytes, a scale per 32
        if release.since < _TRITON[1]:
            share = hidden
    return int(experts * (share - 1)) // split.gpus  # data-parallel ranks share the experts too


def library_bytes(device_class: int) -> int:
    """Return bytes of PyTorch's memory that HIP's libraries hold once weights are loaded."""
    # 0.06, 0.11 and 0.12 GiB beyond the weights in three logs of two sources; CUDA's hold nothing.
    return int(_HIP_LIBRARIES) if is_rocm(device_class) else 0


def deepstack_bytes(profile: ModelProfile, arch: Architecture, step_tokens: int) -> int:
    """Return bytes of buffers for images' features of the first layers, whole on every rank."""
    # A level for each merger, of a step's tokens x hidden in 16 bits: `deepstack_input_embeds` of
    # vllm/model_executor/models/qwen3_vl.py.
    levels = max(
        (
            group.count
            for group in profile.groups
            if _DEEPSTACK in group.pattern and group.kind is Kind.LINEAR
        ),
        default=0,
    )
    return levels * step_tokens * (arch.hidden_size or 0) * _WIDE


def _grown(side: int, step: int) -> float:
    return -(-side // step) * step / side if side else 1.0
