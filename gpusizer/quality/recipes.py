"""How a quantization of that name is made: its family and nominal bits, from a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table

COLUMNS = ("slug", "family", "bits", "source")
PLAIN, TRAINED = "plain", "trained"
GGUF_FAMILIES = ("k", "legacy", "iq", "pure", "tuned")
"""Families of GGUF files, which are made with an importance matrix or without one."""

_EXL = re.compile(r"(exl[23])-(\d+(?:\.\d+)?)")
_MADE_OF = {"hqq": "rounded", "bitsandbytes": "rounded", "mxfp4": "mxfp4", "nvfp4": "nvfp4"}
"""Methods of checkpoints outside the table; others of 4 bits and fewer are calibrated."""


@dataclass(frozen=True, slots=True)
class QualityRecipe:
    """What the loss of a quantization depends on besides the model.

    Attributes:
        slug: of the quantization.
        family: formats and methods that lose alike; fitted levels are by family.
        bits: nominal bits per weight; of GGUF recipes those of a whole file of Llama-3.1-8B.
        chain: quantizations of one chain lose more with fewer bits, always.
    """

    slug: str
    family: str
    bits: float

    @property
    def is_gguf(self) -> bool:
        return self.family in GGUF_FAMILIES

    @property
    def chain(self) -> str:
        return f"ud-{self.family}" if self.slug.startswith("ud-") else self.family


@cache
def _table() -> dict[str, tuple[str, float]]:
    rows = read_table(DATA_DIR / "quality_recipes.csv", _row, COLUMNS)
    return {slug: (family, bits) for slug, family, bits in rows}


def _row(row: TableRow) -> tuple[str, str, float]:
    return row.text("slug"), row.text("family"), row.number("bits")


def recipe_of(slug: str, bits: float, *, gguf: bool) -> QualityRecipe:
    """The recipe of a slug; one outside the table is known by its width in bits.

    A mix of Unsloth (UD, XL) counts as the recipe whose name it has, with the bits of its file.
    """
    name = slug.partition("@")[0]
    plain = name.removeprefix("ud-")
    for known in (name, plain, plain.replace("_xl", "_l")):
        if known in _table():
            return QualityRecipe(name, *_table()[known])
    match = _EXL.fullmatch(name)
    if match:
        return QualityRecipe(name, match[1], float(match[2]))
    if gguf:
        return QualityRecipe(name, "tuned", bits)
    return QualityRecipe(name, _family(name, bits), bits)


def _family(name: str, bits: float) -> str:
    method = name.partition("-")[0]
    if bits >= 16:
        return PLAIN
    if method == "bitnet":
        return TRAINED
    if bits >= 8:
        return "fp8" if method in ("fp8", "fbgemm_fp8", "torchao") else "int8"
    families = {family for family, _ in _table().values()}
    return _MADE_OF.get(method, method if method in families else "calibrated")
