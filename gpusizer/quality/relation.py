"""Recipes of quantizations, and the relation that predicts an unmeasured loss.

ln(loss) = level(family) + bits x + bits_squared x^2 + file_bits ln(b / file)
           + size ln(8 / min(P, 30)) + no_matrix m + recent r,    x = ln(4.5 / b)
"""

# loss is ln(perplexity / perplexity of the reference), b the nominal bits of the recipe, `file` the
# bits of the whole file, P billions of parameters, m whether a GGUF file below 8 bits lacks an
# importance matrix (0.5 if unknown), r whether the model is of 2024 or later. Constants are those
# of data/generated/quality_constants.csv, which `python -m bench.quality --write` fits.

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from gpusizer.core.tables import read_table

TABLE = GENERATED_DIR / "quality_constants.csv"
FLOOR = 0.003  # Loss that perplexity cannot resolve; rows and predictions count as at least this.

_REFERENCE_BITS, _REFERENCE_SIZE, _LARGEST = 4.5, 8.0, 30.0
_NO_MATRIX_BELOW = 8.0

Constants = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LossCase:
    """Inputs of a predicted loss, measurements apart."""

    recipe: QualityRecipe
    # bits per weight of the whole file; None if unknown or if the format's bits are those of its
    # linear layers
    file_bits: float | None
    parameters: int  # all of them, experts included
    matrix: bool | None  # whether an importance matrix was used, None if unknown
    recent: bool  # whether the model was published in 2024 or later

    @property
    def x(self) -> float:
        """Logarithm of 4.5 bits over the recipe's bits."""
        return math.log(_REFERENCE_BITS / self.recipe.bits)

    def features(self) -> dict[str, float]:
        """Return the factor of each constant."""
        gguf = self.recipe.is_gguf
        billions = min(max(self.parameters / 1e9, 0.1), _LARGEST)
        file_bits = self.file_bits if gguf and self.file_bits else self.recipe.bits
        asked = gguf and self.recipe.bits < _NO_MATRIX_BELOW
        without = {True: 0.0, False: 1.0, None: 0.5}[self.matrix] if asked else 0.0
        return {
            f"level_{self.recipe.family}": 1.0,
            "bits": self.x,
            "bits_squared": self.x**2,
            "file_bits": math.log(self.recipe.bits / file_bits),
            "size": math.log(_REFERENCE_SIZE / billions),
            "no_matrix": without,
            "recent": float(self.recent),
        }


def log_loss(case: LossCase, constants: Constants) -> float:
    """Return the natural logarithm of the loss that the relation expects."""
    default = {f"level_{case.recipe.family}": constants["level_calibrated"]}
    return sum(
        constants.get(name, default.get(name, 0.0)) * value
        for name, value in case.features().items()
    )


@cache
def fitted() -> Constants:
    """Return the constants in use."""
    rows = read_table(TABLE, lambda row: (row.text("name"), row.number("value")))
    return dict(rows)


COLUMNS = ("slug", "family", "bits", "source")
PLAIN, TRAINED = "plain", "trained"

# Families of GGUF files, which are made with an importance matrix or without one.
GGUF_FAMILIES = ("k", "legacy", "iq", "pure", "tuned")

_EXL = re.compile(r"(exl[23])-(\d+(?:\.\d+)?)")
# Methods of checkpoints outside the table; others of 4 bits and fewer are calibrated.
_MADE_OF = {"hqq": "rounded", "bitsandbytes": "rounded", "mxfp4": "mxfp4", "nvfp4": "nvfp4"}


@dataclass(frozen=True, slots=True)
class QualityRecipe:
    """Facts of a quantization that determine its loss."""

    slug: str
    family: str  # formats and methods with equal losses; fitted levels are by family
    bits: float  # nominal bits per weight; for GGUF recipes those of a whole file of Llama-3.1-8B

    @property
    def is_gguf(self) -> bool:
        return self.family in GGUF_FAMILIES

    @property
    def chain(self) -> str:
        """Name of its chain; within one, fewer bits always lose more."""
        return f"ud-{self.family}" if self.slug.startswith("ud-") else self.family


@cache
def _table() -> dict[str, tuple[str, float]]:
    rows = read_table(DATA_DIR / "quality_recipes.csv", lambda row: row, COLUMNS)
    return {row.text("slug"): (row.text("family"), row.number("bits")) for row in rows}


def recipe_of(slug: str, bits: float, *, gguf: bool) -> QualityRecipe:
    """Return the recipe of a slug; one outside the table is known by its width in bits."""
    # A mix of Unsloth (UD, XL) counts as the recipe whose name it has, with the bits of its file.
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
