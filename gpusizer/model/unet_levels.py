"""Multiplied elements of a UNet at each resolution, from names and shapes of its tensors."""

# A weight is multiplied at every position of its level: 2 operations for each of its elements and
# positions. Level 0 is the latent picture; each level below has half its rows and columns. Names
# are those of `UNet2DConditionModel` in diffusers (models/unets/unet_2d_condition.py):
# `down_blocks.i` is level i, its downsampler's output level i + 1, `up_blocks.i` the levels
# backwards, its upsampler's output the level above. Time and size embeddings, computed once for a
# picture, are left out.

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gpusizer.hub.tensors import TensorGroup

COUNTED_KIND = "UNet2DConditionModel"  # Class of the UNets with these tensor names.
_ONCE = ("time_embedding.", "add_embedding.", "class_embedding.", "encoder_hid_proj.")
_EDGES = ("conv_in.", "conv_out.")
_BLOCK = re.compile(r"(down|up)_blocks\.(\d{1,2})\.|(mid)_block\.")
_KNOWN = re.compile(
    r"resnets\.\d+\.(conv1|conv2|conv_shortcut)|attentions\.\d+\.(proj_in|proj_out|"
    r"transformer_blocks\.\d+\.(attn[12]\.to_(q|k|v|out\.0)|ff\.net\.(0\.proj|2)))|"
    r"(down|up)samplers\.0\.conv"
)
_OF_TIME = ".time_emb_proj."


@dataclass(frozen=True, slots=True)
class UNetLevel:
    """Multiplications at one resolution."""

    weights: int  # elements multiplied at each position
    attended: int  # sum of the widths of all self-attentions of the positions
    read: int  # sum of the widths of all attentions of the positions to the text
    text_weights: int  # elements multiplied for each token of the text

    def flops(self, positions: int, text: int) -> float:
        """Return the operations (FLOP) of one picture."""
        # An attention compares and adds: 4 operations for each pair of positions and unit of width.
        each = 2 * self.weights + 4 * (self.attended * positions + self.read * text)
        return each * positions + 2 * self.text_weights * text


def unet_levels(tensors: Iterable[TensorGroup], levels: int) -> tuple[UNetLevel, ...]:
    """Return the levels; empty if a weight is packed, missing or of an unknown kind."""
    weights, attended, read, text = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    for group in tensors:
        if len(group.shape) < 2 or _OF_TIME in group.pattern:
            continue
        for name in group.names():
            if name.startswith(_ONCE):
                continue
            level = _level(name, levels)
            if level is None or group.dtype not in ("F32", "F16", "BF16"):
                return ()
            of_text = ".attn2.to_k." in name or ".attn2.to_v." in name
            (text if of_text else weights)[level] += math.prod(group.shape)
            if name.endswith("to_q.weight"):
                (read if ".attn2." in name else attended)[level] += group.shape[0]
    if not all(weights[level] for level in range(levels)):
        return ()
    return tuple(UNetLevel(weights[n], attended[n], read[n], text[n]) for n in range(levels))


def _level(name: str, levels: int) -> int | None:
    if name.startswith(_EDGES):
        return 0
    block = _BLOCK.match(name)
    if block is None or _KNOWN.match(name, block.end()) is None:
        return None
    if block[3]:
        return levels - 1
    level = int(block[2]) if block[1] == "down" else levels - 1 - int(block[2])
    if "samplers." in name:
        level += 1 if block[1] == "down" else -1
    return level if 0 <= level < levels else None
