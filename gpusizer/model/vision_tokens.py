"""Tokens that a picture takes in a prompt, by the rule of each family's image processor.

Marks around a whole picture, one to three tokens, are not counted; marks of its rows and tiles are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil, floor, sqrt
from typing import Protocol

from gpusizer.core.loose_values import JsonObject, JsonValue, object_in, whole_in
from gpusizer.hub.snapshot import Config
from gpusizer.model.tiled_pictures import (
    NEXT_CANVASES,
    ONEVISION_CANVASES,
    AnyResolution,
    CanvasTiles,
    FittedSquares,
    PaddedSquares,
    Slices,
    SplitTiles,
    UnpaddedTiles,
    nearest_grid,
)

_MOST_SIDE = 8192  # pixels of a patch or a tile; more is no processor's
_MOST_TOKENS = 65_536  # of a picture, and of a tile
_MOST_TILES = 64
_MOST_CANVASES = 64


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
    widens: bool = False  # whether a picture narrower than a square is first enlarged to one

    def tokens(self, width: int, height: int) -> int:
        """Return the squares of the scaled picture."""
        # `smart_resize`, transformers/models/qwen2_vl/image_processing_qwen2_vl.py and
        # glm4v/image_processing_glm4v.py, which enlarges
        if self.widens and min(width, height) < self.side:
            scale = max(self.side / height, self.side / width)
            width, height = int(width * scale), int(height * scale)
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
        columns, rows = nearest_grid(width, height, self.side, self.least, self.most)
        tiles = columns * rows
        return self.each * (tiles + 1 if self.has_copy and tiles > 1 else tiles)


_Reader = Callable[[JsonObject, JsonObject], PictureRule | None]


def picture_rule(config: Config | None) -> PictureRule | None:
    """Return the rule of a model's configuration, None for an unknown or an incomplete one."""
    stated = object_in(config)
    family, embedding = stated.get("model_type"), object_in(stated.get("embd_layer"))
    vision = object_in(stated.get("vision_config", embedding.get("image_embd_layer")))
    reader = _READERS.get(family) if isinstance(family, str) else None
    return reader(stated, vision) if reader and vision else None


def _merged(patch: int, least: int, most: int, *, widens: bool = False) -> _Reader:
    def read(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
        side = _side(vision.get("patch_size", patch))
        merged = whole_in(vision.get("spatial_merge_size", 2), 16)
        # The limits are those of preprocessor_config.json, in pixels: 3,136 to 12,845,056 of
        # Qwen2-VL and Qwen2.5-VL, 65,536 to 16,777,216 of Qwen3-VL and Qwen3.5, 3,136 to 11,289,600
        # of dots.ocr; of GLM-4.1V to GLM-4.6V 12,544 to 9,633,792, where a picture is two frames.
        return MergedPatches(side * merged, least, most, widens) if side and merged else None

    return read


def _fixed(name: str) -> _Reader:
    def read(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
        count = whole_in(stated.get(name, 256), _MOST_TOKENS)
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
    merged = whole_in(stated.get("spatial_merge_size", 1), 16)
    return BrokenRows(patch * merged, image) if patch and image and merged else None


def _internvl(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    patch = _side(vision.get("patch_size"))
    tile = _side(stated.get("force_image_size")) or _side(vision.get("image_size"))
    least = whole_in(stated.get("min_dynamic_patch", 1), _MOST_TILES)
    most = whole_in(stated.get("max_dynamic_patch", 12), _MOST_TILES)
    ratio = stated.get("downsample_ratio", 0.5)
    if not (patch and tile and least and most) or ratio != 0.5 or least > most:
        return None
    each = (tile // patch) ** 2 // 4  # a token for four patches
    if stated.get("dynamic_image_size", True) is False:
        return FixedTokens(each)
    return Tiles(tile, least, most, each, stated.get("use_thumbnail", True) is True)


def _llava_next(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    return _any_resolution(stated, vision, "default", NEXT_CANVASES)


def _llava_onevision(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    # The limit of a picture that is alone in its list, as engines pass each.
    limit = stated.get("vision_aspect_ratio", "anyres_max_9")
    named = re.fullmatch(r"anyres_max_(\d{1,2})", limit) if isinstance(limit, str) else None
    most = whole_in(int(named[1]), _MOST_TILES) if named else 0
    return _any_resolution(stated, vision, "full", ONEVISION_CANVASES, most) if most else None


def _any_resolution(
    stated: JsonObject,
    vision: JsonObject,
    strategy: str,
    canvases: tuple[tuple[int, int], ...],
    most: int | None = None,
) -> PictureRule | None:
    # "default" drops the token of CLIP's class, which SigLIP lacks.
    kept = (
        vision.get("model_type"),
        stated.get("vision_feature_select_strategy", strategy),
    )
    image, patch = _side(vision.get("image_size")), _side(vision.get("patch_size"))
    pairs = stated.get("image_grid_pinpoints")
    if pairs is not None:
        canvases = _canvases(pairs)
    is_known = kept in (("clip_vision_model", "default"), ("siglip_vision_model", "full"))
    if not (is_known and canvases and 0 < patch <= image <= min(map(min, canvases))):
        return None
    return AnyResolution(image, image // patch, canvases, most)


def _canvases(pairs: JsonValue) -> tuple[tuple[int, int], ...]:
    # None of them if one is not a height and a width.
    if not isinstance(pairs, list) or len(pairs) > _MOST_CANVASES:
        return ()
    sides = [pair if isinstance(pair, list) and len(pair) == 2 else [0, 0] for pair in pairs]
    read = tuple(
        (whole_in(height, _MOST_SIDE), whole_in(width, _MOST_SIDE)) for height, width in sides
    )
    return read if all(map(all, read)) else ()


def _llama4(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    image, patch = _side(vision.get("image_size")), _side(vision.get("patch_size"))
    if not patch or image < 2 * patch or vision.get("pixel_shuffle_ratio", 0.5) != 0.5:
        return None
    # `max_patches` of llama4/image_processing_llama4.py
    return CanvasTiles(image, 16, (image // patch) ** 2 // 4)


def _idefics(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    image, patch = _side(vision.get("image_size")), _side(vision.get("patch_size"))
    merged = whole_in(stated.get("scale_factor", 2), 16)
    # `size` is four tiles in preprocessor_config.json of Idefics3 and SmolVLM, and 4,096 pixels
    # (`MAX_IMAGE_SIZE`) are the most.
    if not (patch and merged and 4 * image <= 4096 and image >= patch * merged):
        return None
    return SplitTiles(image, 4 * image, (image // patch) ** 2 // merged**2)


def _minicpm(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    each = whole_in(stated.get("query_num"), _MOST_TOKENS)
    if not each or stated.get("slice_mode", True) is False:
        return FixedTokens(each) if each else None
    # `scale_resolution` and `max_slice_nums` of preprocessor_config.json from MiniCPM-V 2 to 4.5
    return Slices(448, 9, each)


def _phi4(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    # `patch_size` of the processor, `dynamic_hd` of preprocessor_config.json
    side = _side(vision.get("crop_size", 448))
    return UnpaddedTiles(side, 14, 36) if side >= 28 else None


def _gemma4(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    patch, pooled = _side(vision.get("patch_size", 16)), vision.get("pooling_kernel_size", 3)
    merged = whole_in(pooled, 16)
    most = whole_in(stated.get("vision_soft_tokens_per_image", 280), _MOST_TOKENS)
    return FittedSquares(patch * merged, most) if patch and merged and most else None


def _kimi(stated: JsonObject, vision: JsonObject) -> PictureRule | None:
    patch, merged = _side(vision.get("patch_size", 14)), vision.get("merge_kernel_size", [2, 2])
    # `max_patches` and `size` of kimi_k25/image_processing_kimi_k25.py
    return PaddedSquares(patch, 2, 16_384, 512) if patch and merged == [2, 2] else None


def _side(value: JsonValue) -> int:
    first = value[0] if isinstance(value, list) and value else value
    return whole_in(first, _MOST_SIDE)


_QWEN2, _QWEN3 = _merged(14, 4, 16_384), _merged(16, 64, 16_384)
_DOTS = _merged(14, 4, 14_400)
_GLM = _merged(14, 8, 6144, widens=True)
_READERS: Mapping[str, _Reader] = {
    **dict.fromkeys(("qwen2_vl", "qwen2_5_vl"), _QWEN2),
    **dict.fromkeys(("qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"), _QWEN3),
    **dict.fromkeys(("glm4v", "glm4v_moe", "glm46v", "glm_ocr"), _GLM),
    "dots_ocr": _DOTS,
    # Pan and scan of Gemma 3 is off by default.
    "gemma3": _fixed("mm_tokens_per_image"),
    "gemma3n": _fixed("vision_soft_tokens_per_image"),
    **dict.fromkeys(("gemma4", "gemma4_unified"), _gemma4),
    "llava": _llava,
    "llava_next": _llava_next,
    "llava_onevision": _llava_onevision,
    "llama4": _llama4,
    "mistral3": _mistral,
    **dict.fromkeys(("idefics3", "smolvlm"), _idefics),
    **dict.fromkeys(("internvl", "internvl_chat"), _internvl),
    "kimi_k25": _kimi,
    **dict.fromkeys(("minicpmv", "minicpmo"), _minicpm),
    **dict.fromkeys(("phi4mm", "phi4_multimodal"), _phi4),
}
