"""Memory of image and sound encoders while vLLM measures its peak at start-up.

`profile_run` (vllm/v1/worker/gpu_model_runner.py) runs the encoder on its largest budget, keeps
its output and then runs the decoder.
"""

from __future__ import annotations

from gpusizer.memory.engines.base import Split
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Kind, Part
from gpusizer.model.weights import WeightGroup

_WIDE = 2
_COPIES = 2  # embeddings of the encoder's budget: its output and the cached ones
_UNBOUNDED = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_5")
_LARGEST_IMAGE = 16384  # embeddings: 12,845,056 pixels, the largest image of Qwen2-VL's family
_PIXELS = 3 * 32 * 32  # values of the image behind one embedding
_MERGED = 4  # patches that become one embedding: spatial_merge_size 2 of this family
_STATES = 3  # of a patch at a block's widest point: residual, its norm, what leaves the MLP
_MATRIX = 2  # dimensions


def batch_bytes(profile: ModelProfile, sequences: int) -> float:
    """Return bytes of an encoder's states for a full batch, which V0 ran beside the decoder."""
    positions = (
        group.elements
        for group in profile.groups
        if group.part is Part.ENCODER and group.kind is Kind.POSITION
    )
    # Three copies of sequences x positions x width, in 16 bits (Whisper).
    return 3.0 * _WIDE * sequences * sum(positions)


def embeddings_bytes(profile: ModelProfile, arch: Architecture, step_tokens: int) -> float:
    """Return bytes of a step's images and embeddings, held while the decoder is measured."""
    if not any(group.part is Part.VISION for group in profile.groups):
        return 0.0
    tokens = _budget(arch, step_tokens)
    return tokens * _WIDE * (_COPIES * (arch.hidden_size or 0) + _PIXELS)


def tower_bytes(profile: ModelProfile, arch: Architecture, step_tokens: int, split: Split) -> float:
    """Return the peak bytes of the tower of Qwen's vision models on the largest image.

    Patches x 16 bits x (a patch's values + 3 x width + the MLP's inner states / TP).
    """
    if not arch.model_type.startswith(_UNBOUNDED):
        return 0.0
    tower = [group for group in profile.groups if group.part is Part.VISION]
    patch = next((group for group in tower if group.kind is Kind.CONV), None)
    if patch is None:
        return 0.0
    width, values = patch.shape[0], patch.elements // patch.shape[0]
    # Inner states are two where the MLP is gated, and one more for their product or activation
    # (`Qwen3_VisionBlock`, vllm/model_executor/models/qwen3_vl.py). Qwen3.5-9B on an L40S printed
    # 1.78 GiB beside all else, by this rule 1.66.
    entering = [group.shape[0] for group in tower if _enters_mlp(group, width)]
    inner = sum(entering) + max(entering, default=0)
    patches = _MERGED * _budget(arch, step_tokens)
    return patches * _WIDE * (values + _STATES * width + inner / split.tensor)


def _budget(arch: Architecture, step_tokens: int) -> int:
    unbounded = arch.model_type.startswith(_UNBOUNDED)
    return max(step_tokens, _LARGEST_IMAGE) if unbounded else step_tokens


def _enters_mlp(group: WeightGroup, width: int) -> bool:
    if group.kind is not Kind.LINEAR or group.layers is None:
        return False
    shape = group.shape
    widens = len(shape) == _MATRIX and shape[1] == width
    return widens and shape[0] not in (width, 3 * width)
