"""Projector of a multimodal model: vision and audio encoders, and layers that join them to text.

llama.cpp's converter writes them to a file of their own (`mmproj`, tools/mtmd/README.md), which
is loaded with `--mmproj` for pictures or sound.
"""

from __future__ import annotations

from gpusizer.core.byte_ranges import Amount, fitted
from gpusizer.core.units import MIB
from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part

_PARTS = frozenset({Part.VISION, Part.AUDIO, Part.PROJECTOR})
_F32 = 4
# Towers of any image size are warmed up with 46 x 46 tokens of 2 x 2 patches (tools/mtmd/clip.cpp).
_ANY_SIZE = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_5")
_ANY_SIZE_PATCHES = 46 * 46 * 4
_HEAD_WIDTH = 72  # 64 in CLIP, 72 in SigLIP, 80 in Qwen2-VL; heads come in fours
_WINDOWED = "qwen2_5_vl"
_MASK_BYTES = 4 + 2  # of windows, for every pair of patches: FP32, and 16 bits for flash attention
_SPARE_BYTES = 64 * MIB


def projector_bytes(profile: ModelProfile, sizes: WeightSizes) -> int:
    """Return bytes of the projector's file; 0 for text models and for GGUF files."""
    if profile.format == "gguf" or not sizes.by_group:
        return 0
    pairs = zip(profile.groups, sizes.by_group, strict=True)
    return sum(amount for group, amount in pairs if group.part in _PARTS)


def tower_parameters(profile: ModelProfile) -> int:
    """Return the number of the projector's parameters."""
    return sum(group.parameters for group in profile.groups if group.part in _PARTS)


def projector_buffer(profile: ModelProfile, *, flash_attention: bool) -> Amount:
    """Return bytes of the vision tower's compute buffer, a graph beside that of the text."""
    tower = [group for group in profile.groups if group.part is Part.VISION]
    wide = [g.shape for g in tower if g.kind is Kind.LINEAR and g.layers and len(g.shape) == 2]
    patches = _patches(profile)
    if not wide or not patches:
        return fitted(0, 0, 0)
    # For every patch of one picture, in FP32: the widest states of a feed-forward block and three
    # states; without flash attention six states and the scores of all heads. Gemma 3's 4,096
    # patches of 4,304 and 1,152 values are the 121 and 1,132 MiB that llama.cpp reports, Qwen2-VL's
    # 8,464 come to 289 and 4,620 of 267 and 4,598 MiB (gpustack/gguf-parser-go issue 44). Merged
    # features that Qwen3-VL keeps beside them are in the band.
    hidden, inner = min(map(min, wide)), max(map(max, wide))
    likely = patches * (inner + 3 * hidden) * _F32
    if not flash_attention:
        heads = max(1, round(hidden / _HEAD_WIDTH / 4)) * 4
        likely = patches * (6 * hidden + patches * heads) * _F32
    if profile.architecture is not None and profile.architecture.model_type.startswith(_WINDOWED):
        likely += patches * patches * (_MASK_BYTES if flash_attention else _F32)
    return fitted(likely * 0.8, likely, likely * 1.5 + _SPARE_BYTES)


def _patches(profile: ModelProfile) -> int:
    """Return patches of the picture that a tower is warmed up with; 0 if unknown."""
    arch = profile.architecture
    if arch is not None and arch.model_type.startswith(_ANY_SIZE):
        return _ANY_SIZE_PATCHES
    places = (
        group.shape[0]
        for group in profile.groups
        if group.part is Part.VISION and group.kind is Kind.POSITION and len(group.shape) == 2
    )
    return max(places, default=0)
