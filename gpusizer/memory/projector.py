"""The projector of a multimodal model: its vision and audio encoders, with what joins them to text.

llama.cpp's converter writes them to a file of their own beside that of the text (`mmproj`,
tools/mtmd/README.md), which is loaded where pictures or sound are asked about (`--mmproj`).
"""

from __future__ import annotations

from gpusizer.memory.weight_sizes import WeightSizes
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Part

_PARTS = frozenset({Part.VISION, Part.AUDIO, Part.PROJECTOR})


def projector_bytes(profile: ModelProfile, sizes: WeightSizes) -> int:
    """Bytes of the projector's file; 0 for text models and for GGUF files, read as they are."""
    if profile.format == "gguf" or not sizes.by_group:
        return 0
    pairs = zip(profile.groups, sizes.by_group, strict=True)
    return sum(amount for group, amount in pairs if group.part in _PARTS)


def tower_parameters(profile: ModelProfile) -> int:
    """Parameters of the projector."""
    return sum(group.parameters for group in profile.groups if group.part in _PARTS)
