"""Effect of quantization on pictures, by LPIPS if measured: another of similar quality."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from statistics import median

from gpusizer.quality.evidence import Row, read_rows
from gpusizer.quality.quality import LossWord

_METRIC = "lpips_vs_bf16"
# LPIPS below which a word holds; int8 is near 0.09, 4 bits between 0.18 and 0.34, with ImageReward
# within 8 % and FID within noise (SVDQuant).
_WORDS = ((0.05, LossWord.NONE), (0.12, LossWord.VERY_SMALL), (0.35, LossWord.SMALL))
_BY_BITS = ((8, LossWord.VERY_SMALL), (4.1, LossWord.SMALL))


@cache
def _distances() -> Mapping[tuple[str, str], tuple[float, Row]]:
    # median LPIPS and one of its rows, by model in small letters and quantization
    found: dict[tuple[str, str], list[Row]] = {}
    for row in read_rows():
        if row["about"] == "image_weights" and row["metric"] == _METRIC:
            slug = row["quant"].partition("-w4a4")[0]
            found.setdefault((row["repo"].casefold(), slug), []).append(row)
    return {key: (median(row["value"] for row in rows), rows[0]) for key, rows in found.items()}


def picture_distance(repo_id: str, slug: str) -> tuple[float, Row] | None:
    """Return the LPIPS to pictures of 16-bit weights, or None if unpublished."""
    return _distances().get((repo_id.casefold(), slug.removesuffix("-dq")))


def picture_word(distance: float | None, bits: float) -> LossWord:
    """Return the word for a distance, or by bits without one."""
    if distance is None:
        steps = ((bits >= least, word) for least, word in _BY_BITS)
        return next((word for holds, word in steps if holds), LossWord.NOTICEABLE)
    return next((word for most, word in _WORDS if distance < most), LossWord.NOTICEABLE)
