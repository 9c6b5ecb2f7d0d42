"""Rules of image processors that cut a picture into tiles, or scale it to a budget of squares.

Files named in comments are those of transformers 5.24.0 below src/transformers/models, or of the
models' repositories on the Hub.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor, log, sqrt

# `image_grid_pinpoints` of llava_next/configuration_llava_next.py and
# llava_onevision/configuration_llava_onevision.py, in pixels of height and width
NEXT_CANVASES = ((336, 672), (672, 336), (672, 672), (1008, 336), (336, 1008))
ONEVISION_CANVASES = tuple((384 * rows, 384 * cols) for rows in range(1, 7) for cols in range(1, 7))


@dataclass(frozen=True, slots=True)
class AnyResolution:
    """The tokens of a small copy and of the tiles of one of several canvases, without padding.

    Each row of tokens ends with one of its own.
    """

    side: int  # pixels of a tile
    across: int  # tokens along a side of a tile
    canvases: tuple[tuple[int, int], ...]  # pixels of height and width
    most: int | None = None  # tiles whose tokens are kept; more are scaled down to as many

    def tokens(self, width: int, height: int) -> int:
        """Return the tokens of the copy, and of the canvas that shows most of the picture."""
        # `_get_number_of_features`, llava_next/processing_llava_next.py and
        # llava_onevision/processing_llava_onevision.py
        tall, wide = max(self.canvases, key=lambda canvas: _shown(canvas, width, height))
        rows, columns = self.across * (tall // self.side), self.across * (wide // self.side)
        if width / height > columns / rows:
            rows -= (rows - int(round(height * (columns / width), 7))) // 2 * 2
        else:
            columns -= (columns - int(round(width * (rows / height), 7))) // 2 * 2
        if self.most is not None:
            ratio = sqrt(rows * columns / (self.most * self.across**2))
            if ratio > 1.1:
                rows, columns = int(rows // ratio), int(columns // ratio)
        return self.across**2 + rows * (columns + 1)


def _shown(canvas: tuple[int, int], width: int, height: int) -> tuple[int, int]:
    # The picture's pixels on a canvas, and of equal ones the smallest canvas
    # (`select_best_resolution`, ../image_processing_utils.py).
    tall, wide = canvas
    scale = min(wide / width, tall / height)
    pixels = min(int(width * scale) * int(height * scale), width * height)
    return pixels, -tall * wide


@dataclass(frozen=True, slots=True)
class CanvasTiles:
    """The tokens and a mark of each tile of a canvas, and a small copy beside several tiles."""

    side: int  # pixels of a tile
    most: int
    each: int  # tokens of a tile

    def tokens(self, width: int, height: int) -> int:
        """Return the tokens of the tiles of the canvas that scales the picture least."""
        tiles = min(self._canvases(width, height))[-1]
        return self.each if tiles == 1 else tiles * (self.each + 1) + self.each

    def _canvases(self, width: int, height: int) -> Iterator[tuple[bool, float, int]]:
        # `get_best_fit`, llama4/image_processing_llama4.py: the least enlargement; without one the
        # least reduction; of equal ones the fewest tiles. `_prompt_split_image` of
        # processing_llama4.py marks the end of each tile.
        for columns in range(1, self.most + 1):
            for rows in range(1, self.most // columns + 1):
                scale = min(columns * self.side / width, rows * self.side / height)
                yield scale < 1, abs(scale - 1), columns * rows


@dataclass(frozen=True, slots=True)
class SplitTiles:
    """The tokens of each tile of an enlarged picture, with marks, and of a small copy."""

    side: int  # pixels of a tile
    longest: int  # pixels to which the longer side is scaled
    each: int  # tokens of a tile

    def tokens(self, width: int, height: int) -> int:
        """Return the tokens of the tiles and the copy."""
        # `get_number_of_image_patches`, idefics3/image_processing_idefics3.py, and `<row_1_col_1>`
        # after a mark, with an end of line after each row, of processing_idefics3.py
        ratio = width / height
        shorter = int(self.longest / ratio) if width >= height else int(self.longest * ratio)
        few = ceil(max(1, shorter + shorter % 2) / self.side)
        many = ceil(self.longest / self.side)
        columns, rows = (many, few) if width >= height else (few, many)
        tiles = rows * (columns * (self.each + 2) + 1) if columns * rows > 1 else 0
        return tiles + self.each


@dataclass(frozen=True, slots=True)
class Slices:
    """The tokens of a small copy and, with marks, of each slice of a picture."""

    side: int  # pixels of a slice
    most: int
    each: int  # tokens of a slice

    def tokens(self, width: int, height: int) -> int:
        """Return the tokens of the copy and the slices."""
        # `get_sliced_grid`, `get_grid_placeholder` of MiniCPM-V 4.5, image_processing_minicpmv.py:
        # an end of line parts the rows.
        columns, rows = self._grid(width, height)
        slices = columns * rows
        return self.each + (slices * (self.each + 2) + rows - 1 if slices > 1 else 0)

    def _grid(self, width: int, height: int) -> tuple[int, int]:
        count = min(ceil(width * height / self.side**2), self.most)
        if count < 2:
            return 1, 1
        counts = [n for n in (count - 1, count, count + 1) if 1 < n <= self.most]
        grids = [(c, n // c) for n in counts for c in range(1, n + 1) if n % c == 0]
        return min(grids, key=lambda grid: abs(log(width / height) - log(grid[0] / grid[1])))


@dataclass(frozen=True, slots=True)
class UnpaddedTiles:
    """The tokens of a small copy and of a grid of tiles without padding, with an end for each
    row."""

    side: int  # pixels of a tile
    patch: int  # pixels of a patch; every second one of a row and of a column has a token
    most: int  # tiles

    def tokens(self, width: int, height: int) -> int:
        """Return the tokens of the copy, a mark and the tiles."""
        # `dynamic_preprocess` and `num_img_tokens`,
        # phi4_multimodal/image_processing_phi4_multimodal.py
        columns, rows = ceil(width / self.side), ceil(height / self.side)
        if columns * rows > self.most:
            columns, rows = nearest_grid(width, height, self.side, 1, self.most)
        wide, tall = columns * self.side, rows * self.side
        scale = min(wide / width, tall / height)
        is_wide = wide / width < tall / height
        seen = (wide, int(height * scale)) if is_wide else (int(width * scale), tall)
        across, down = (
            ceil((length - (length - pixels) // self.patch * self.patch) // self.patch / 2)
            for length, pixels in zip((wide, tall), seen, strict=True)
        )
        copy = ceil(self.side // self.patch / 2)
        return copy * (copy + 1) + 1 + down * (across + 1)


def nearest_grid(width: int, height: int, side: int, least: int, most: int) -> tuple[int, int]:
    """Return columns and rows of tiles of `side` pixels, `least` to `most` in all, whose ratio is
    the nearest; of equal ones the most tiles that the picture half fills."""
    # `get_optimal_tiled_canvas`, got_ocr2/image_processing_got_ocr2.py
    counts = range(1, most + 1)
    grids = [(c, r) for c in counts for r in counts if least <= c * r <= most]
    best, nearest = (1, 1), float("inf")
    for grid in sorted(grids, key=lambda grid: grid[0] * grid[1]):
        apart = abs(width / height - grid[0] / grid[1])
        fills = width * height > 0.5 * side**2 * grid[0] * grid[1]
        if apart < nearest or (apart == nearest and fills):
            best, nearest = grid, apart
    return best


@dataclass(frozen=True, slots=True)
class FittedSquares:
    """A token for each square of patches of a picture that is scaled to a budget of squares."""

    side: int  # pixels of a square
    most: int

    def tokens(self, width: int, height: int) -> int:
        """Return the squares of the scaled picture."""
        # `get_aspect_ratio_preserving_size`, gemma4/image_processing_gemma4.py
        factor = sqrt(self.most * self.side**2 / (width * height))
        columns, rows = (floor(factor * pixels / self.side) for pixels in (width, height))
        # A picture narrower than a square becomes a row, which fills the budget.
        return columns * rows or self.most


@dataclass(frozen=True, slots=True)
class PaddedSquares:
    """A token for each square of patches of a picture that is reduced to limits and padded."""

    patch: int  # pixels of a patch
    merged: int  # patches along a side of a square
    most: int  # patches of a picture
    most_along: int  # patches along a side of a picture

    def tokens(self, width: int, height: int) -> int:
        """Return the squares of the padded picture."""
        # `navit_resize`, kimi_k25/image_processing_kimi_k25.py
        patches = max(1, width // self.patch) * max(1, height // self.patch)
        along = self.most_along * self.patch
        scale = min(1.0, sqrt(self.most / patches), along / height, along / width)
        sides = (min(max(1, int(pixels * scale)), along) for pixels in (width, height))
        columns, rows = (ceil(side / (self.merged * self.patch)) for side in sides)
        return columns * rows
