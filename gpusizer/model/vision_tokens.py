"""Tokens that a picture takes in a prompt, by the rule of each family's image processor.

Marks around a picture, one or two tokens of the chat template, are not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, floor, sqrt
from typing import Protocol

from gpusizer.core.loose_values import JsonObject, JsonValue, object_in
from gpusizer.hub.snapshot import Config

_MOST_SIDE = 8192  # pixels of a patch or a tile; more is no processor's
_MOST_TOKENS = 65_536  # of a picture, and of a tile
_MOST_TILES = 64


class PictureRule(Protocol):
    """Rule of an image processor."""

    def tokens(self, width: int, height: int) -> int:
        """Return the tokens of one picture of `width` by `height` pixels."""
        ...


@dataclass(frozen=True, slots=True)
class FixedTokens:
    """A fixed number of tokens for any picture, which is scaled to one size."""

    count: int

    def tokens(self, width: int, height: int) -> int:
        """Return the number."""
        return self.count


@dataclass(frozen=True, slots=True)
class MergedPatches:
    """A token for each square of merged patches, between a least and a most number of them."""

    side: int  # pixels of a square
    least: int
    most: int

    def tokens(self, width: int, height: int) -> int:
        """Return the squares of the scaled picture."""
        # `smart_resize`, transformers/models/qwen2_vl/image_processing_qwen2_vl.py
        side, area = self.side, width * height
        across, down = (max(1, round(pixels / side)) for pixels in (width, height))
        if across * down > self.most:
            shrink = sqrt(area / (self.most * side**2))
            across, down = (max(1, floor(p / shrink / side)) for p in (width, height))
        elif across * down < self.least:
            grow = sqrt(self.least * side**2 / area)
            across, down = (ceil(pixels * grow / side) for pixels in (width, height))
        return across * down


@dataclass(frozen=True, slots=True)
class BrokenRows:
    """A token for each square of patches, and one that ends each row."""

    side: int  # pixels of a square
    longest: int  # pixels of a side, to which larger pictures are scaled

    def tokens(self, width: int, height: int) -> int:
        """Return the squares of the scaled picture and its rows."""
        # `get_resize_output_image_size` of transformers/models/pixtral/image_processing_pixtral.py,
        # [IMG_BREAK] and [IMG_END] of processing_pixtral.py
        ratio = max(1.0, width / self.longest, height / self.longest)
        columns, rows = (
            (max(1, floor(pixels / ratio)) - 1) // self.side + 1 for pixels in (width, height)
        )
        return rows * (columns + 1)


@dataclass(frozen=True, slots=True)
class Tiles:
    """The tokens of each tile of a grid, and of a small copy beside several tiles."""

    side: int  # pixels of a tile
    least: int
    most: int
    each: int  # tokens of a tile
    has_copy: bool

    def tokens(self, width: int, height: int) -> int:
        """Return the tokens of the tiles of the nearest grid."""
        columns, rows = self._grid(width, height)
        tiles = columns * rows
        return self.each * (tiles + 1 if self.has_copy and tiles > 1 else tiles)

    def _grid(self, width: int, height: int) -> tuple[int, int]:
        # `get_optimal_tiled_canvas`, transformers/models/got_ocr2/image_processing_got_ocr2.py: the
        # nearest ratio of sides, of equal ones the most tiles that the picture half fills.
        counts = range(1, self.most + 1)
        grids = [(c, r) for c in counts for r in counts if self.least <= c * r <= self.most]
        best, least = (1, 1), float("inf")
        for grid in sorted(grids, key=lambda grid: grid[0] * grid[1]):
            apart = abs(width / height - grid[0] / grid[1])
            fills = width * height > 0.5 * self.side**2 * grid[0] * grid[1]
            if apart < least or (apart == least and fills):
                best, least = grid, apart
        return best


def picture_rule(config: Config | None) -> PictureRule | None:
    """Return the rule of a model's configuration, None for an unknown or an incomplete one."""
    stated = object_in(config)
    family, vision = stated.get("model_type"), object_in(stated.get("vision_config"))
    reader = _READERS.get(family) if isinstance(family, str) else None
    return reader(stated, vision) if reader and vision else None


def _merged(patch: int, least: int) -> Callable[[JsonObject, JsonObject], PictureRule | None]:
    def read(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
        side = _side(vision.get("patch_size", patch))
        merged = _whole(vision.get("spatial_merge_size", 2), 16)
        # The limits are those of preprocessor_config.json, in pixels: 3,136 to 12,845,056 of
        # Qwen2-VL and Qwen2.5-VL, 65,536 to 16,777,216 of Qwen3-VL and Qwen3.5.
        return MergedPatches(side * merged, least, 16_384) if side and merged else None

    return read


def _fixed(name: str) -> Callable[[JsonObject, JsonObject], PictureRule | None]:
    def read(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
        count = _whole(stated.get(name, 256), _MOST_TOKENS)
        return FixedTokens(count) if count else None

    return read


def _llava(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    patch, image = _side(vision.get("patch_size")), _side(vision.get("image_size"))
    if not patch or not image:
        return None
    if vision.get("model_type") == "pixtral":
        return BrokenRows(patch, image)
    # "default" drops the token of CLIP's class (`get_image_features`, modeling_llava.py).
    drops = stated.get("vision_feature_select_strategy", "default") == "default"
    clip = vision.get("model_type") == "clip_vision_model"
    return FixedTokens((image // patch) ** 2) if clip and drops else None


def _mistral(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    patch, image = _side(vision.get("patch_size")), _side(vision.get("image_size"))
    merged = _whole(stated.get("spatial_merge_size", 1), 16)
    return BrokenRows(patch * merged, image) if patch and image and merged else None


def _internvl(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    patch = _side(vision.get("patch_size"))
    tile = _side(stated.get("force_image_size")) or _side(vision.get("image_size"))
    least = _whole(stated.get("min_dynamic_patch", 1), _MOST_TILES)
    most = _whole(stated.get("max_dynamic_patch", 12), _MOST_TILES)
    ratio = stated.get("downsample_ratio", 0.5)
    if not (patch and tile and least and most) or ratio != 0.5 or least > most:
        return None
    each = (tile // patch) ** 2 // 4  # a token for four patches
    if stated.get("dynamic_image_size", True) is False:
        return FixedTokens(each)
    return Tiles(tile, least, most, each, stated.get("use_thumbnail", True) is True)


def _side(value: JsonValue) -> int:
    first = value[0] if isinstance(value, list) and value else value
    return _whole(first, _MOST_SIDE)


def _whole(value: JsonValue, most: int) -> int:
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return value if is_whole and isinstance(value, int) and 0 < value <= most else 0


_QWEN2, _QWEN3 = _merged(14, 4), _merged(16, 64)
_READERS: Mapping[str, Callable[[JsonObject, JsonObject], PictureRule | None]] = {
    **dict.fromkeys(("qwen2_vl", "qwen2_5_vl"), _QWEN2),
    **dict.fromkeys(("qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"), _QWEN3),
    # Pan and scan of Gemma 3 is off by default.
    "gemma3": _fixed("mm_tokens_per_image"),
    "gemma3n": _fixed("vision_soft_tokens_per_image"),
    "llava": _llava,
    "mistral3": _mistral,
    **dict.fromkeys(("internvl", "internvl_chat"), _internvl),
}
