"""Published measurements by model: single losses, and a model's distance from the relation."""

# A model's own level and slope over bits are estimated from the residuals of its rows by ridge
# regression, with less weight for outliers and for each row of a source that has many.

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import exp, expm1, log
from statistics import fmean, median

from gpusizer.core.loose_values import StoredObject
from gpusizer.core.paths import DATA_DIR
from gpusizer.quality.relation import (
    FLOOR,
    PLAIN,
    Constants,
    LossCase,
    QualityRecipe,
    fitted,
    log_loss,
    recipe_of,
)

FILE = DATA_DIR / "measurements" / "quality.jsonl"
WEIGHTS = "weights"
Row = StoredObject

# flags of rows without information about a conversion of the model in question
_UNFIT = {"trained", "noisy_baseline", "lossy_baseline", "failed", "withdrawn"}

# makers whose plain recipes have an importance matrix even if the source does not state it
_WITH_MATRIX = ("unsloth",)

_NOT_OF_THE_MODEL = re.compile(
    r"[-_.](gguf|fp8(-(dynamic|block))?|awq|gptq|exl[23]|mlx|nvfp4|mxfp4|bnb|unsloth|hf|instruct"
    r"|chat|it|pt|base|thinking|\d{4}|quantized|w\da\d+|int[48]|[48]-?bit|g\d+|bf16|i1)(?=[-_.]|$)"
)
_SIZE = re.compile(r"-\d+(?:\.\d+)?[bm](?=-|$)")
_IDLE_RESIDUAL = 0.5  # in logarithms; beyond it a row counts less
_ROUNDS = 6


def kin_of(repo_id: str) -> str:
    """Return the name that a model shares with its tuned and quantized copies.

    >>> kin_of("bartowski/Meta-Llama-3.1-8B-Instruct-GGUF"), kin_of("unsloth/Qwen3.5-9B-GGUF")
    ('llama-3.1-8b', 'qwen3.5-9b')
    """
    name = repo_id.rpartition("/")[2].casefold()
    name = re.sub(r"^(meta-|qwen_)", "", name)
    return _NOT_OF_THE_MODEL.sub("", name)


def series_of(kin: str) -> str:
    """Return the name that all sizes of one release share.

    >>> series_of("qwen3.5-9b"), series_of("llama-3.1-8b"), series_of("glm-4.5")
    ('qwen3.5', 'llama-3.1', 'glm-4.5')
    """
    return _SIZE.split(kin, maxsplit=1)[0]


@dataclass(frozen=True, slots=True)
class MeasuredLoss:
    """One published ratio of perplexities: its natural logarithm, and its weight among all rows."""

    row: Row
    case: LossCase
    loss: float
    weight: float

    @property
    def log(self) -> float:
        return log(max(self.loss, FLOOR))


def case_of_row(row: Row) -> LossCase:
    """Return the case that a row measures."""
    bits = row.get("bits_per_weight") or 4.5
    family = row["family"]
    gguf = family in ("k", "legacy", "iq", "pure", "tuned")
    recipe = recipe_of(row["quant"], bits, gguf=gguf)
    if recipe.family != family:
        recipe = QualityRecipe(row["quant"], family, bits)
    matrix = row.get("importance_matrix")
    if matrix is None and row.get("maker") in _WITH_MATRIX:
        matrix = True
    file_bits = bits if row.get("bits_scope") == "file" and "bits_per_weight" in row else None
    return LossCase(recipe, file_bits, row["parameters"], matrix, row["released"] >= "2024")


def is_evidence(row: Row) -> bool:
    """Return whether a row's ratio of perplexities is a conversion's loss."""
    return (
        row["about"] == WEIGHTS
        and "ln_ratio" in row
        and ("bits_per_weight" in row or row["family"] == "k")
        and row["family"] not in (PLAIN, "other", "low_activations")
        and not _UNFIT & set(row.get("flags", ()))
    )


def losses(rows: Iterable[Row]) -> tuple[MeasuredLoss, ...]:
    """Return the rows that are evidence; each source counts as the square root of its rows."""
    fit = [row for row in rows if is_evidence(row)]
    of_source = Counter(row["source_group"] for row in fit)
    mean = fmean(of_source[row["source_group"]] ** -0.5 for row in fit) if fit else 1.0
    return tuple(
        MeasuredLoss(
            row, case_of_row(row), row["ln_ratio"], of_source[row["source_group"]] ** -0.5 / mean
        )
        for row in fit
    )


@dataclass(frozen=True, slots=True)
class OwnLevel:
    """Distance of a model's losses from the relation: level + slope x, in logarithms."""

    level: float
    slope: float
    rows: int


@dataclass(frozen=True, slots=True)
class Ladder:
    """Logarithms of measured losses by recipe, never less for fewer bits of a chain."""

    steps: Mapping[str, tuple[QualityRecipe, float, tuple[MeasuredLoss, ...]]]

    def within(self, recipe: QualityRecipe, value: float) -> float:
        """Return `value`, bounded by the losses of the chain with fewer and with more bits."""
        chain = [step for step in self.steps.values() if step[0].chain == recipe.chain]
        above = [logged for other, logged, _ in chain if other.bits > recipe.bits]
        below = [logged for other, logged, _ in chain if other.bits < recipe.bits]
        return max([min([value, *below]), *above])


@dataclass(frozen=True)
class Evidence:
    """All measured losses with constants, indexed once."""

    constants: Constants
    by_kin: Mapping[str, tuple[MeasuredLoss, ...]]
    _ladders: dict[tuple[str, str, bool | None], Ladder] = field(default_factory=dict)
    _levels: dict[str, OwnLevel] = field(default_factory=dict)

    def level(self, kin: str) -> OwnLevel:
        """Return the own level of a model, shrunk towards other sizes of its series."""
        if kin not in self._levels:
            series = series_of(kin)
            others = [
                one
                for name in self.by_kin
                if series_of(name) == series
                for one in self.by_kin[name]
            ]
            ridge = self.constants["series_ridge"]
            shared = own_level(others, {**self.constants, "level_ridge": ridge, "slope_ridge": 1e9})
            self._levels[kin] = own_level(self.by_kin.get(kin, ()), self.constants, shared.level)
        return self._levels[kin]

    def ladder(self, kin: str, maker: str, matrix: bool | None) -> Ladder:
        """Return the measured recipes of a model, by this maker if there are any."""
        key = (kin, maker, matrix)
        if kin not in self.by_kin:
            return Ladder({})
        if key not in self._ladders:
            self._ladders[key] = _ladder(self.by_kin[kin], maker, matrix)
        return self._ladders[key]


def evidence_of(rows: Iterable[Row], constants: Constants) -> Evidence:
    """Index rows by model."""
    by_kin: dict[str, list[MeasuredLoss]] = defaultdict(list)
    for loss in losses(rows):
        by_kin[kin_of(loss.row["repo"])].append(loss)
    return Evidence(constants, {kin: tuple(found) for kin, found in by_kin.items()})


def read_rows() -> list[Row]:
    """Return every row of the table of measured losses."""
    return [json.loads(line) for line in FILE.read_text("utf-8").splitlines() if line]


@cache
def published() -> Evidence:
    """Return all published measurements with the constants in use."""
    return evidence_of(read_rows(), fitted())


def own_level(found: Sequence[MeasuredLoss], constants: Constants, shared: float = 0.0) -> OwnLevel:
    """Return the ridge regression of the residuals above a shared level."""
    level = slope = 0.0
    expected = [log_loss(one.case, constants) + shared for one in found]
    floor = log(FLOOR)
    for _ in range(_ROUNDS):
        a, b, d = constants["level_ridge"], 0.0, constants["slope_ridge"]
        u = v = 0.0
        for one, base in zip(found, expected, strict=True):
            x = one.case.x
            value = base + level + slope * x
            # losses below the floor carry no information
            if value < floor and one.log <= floor:
                continue
            weight = one.weight / max(1.0, abs(one.log - value) / _IDLE_RESIDUAL)
            a, b, d = a + weight, b + weight * x, d + weight * x * x
            u, v = u + weight * (one.log - base), v + weight * (one.log - base) * x
        determinant = a * d - b * b
        level, slope = (d * u - b * v) / determinant, (a * v - b * u) / determinant
    least = constants["bits"] - 3.0 * abs(constants["bits_squared"])  # steepness at one bit
    return OwnLevel(shared + level, max(slope, 1.0 - least), len(found))


def _ladder(found: Iterable[MeasuredLoss], maker: str, matrix: bool | None) -> Ladder:
    by_slug: dict[str, list[MeasuredLoss]] = defaultdict(list)
    for one in found:
        own = one.row.get("maker", "").casefold()
        if maker in ("", own) and matrix in (None, one.case.matrix):
            by_slug[one.case.recipe.slug].append(one)
    chains: dict[str, list[tuple[QualityRecipe, float, int]]] = defaultdict(list)
    for same in by_slug.values():
        chains[same[0].case.recipe.chain].append(
            (same[0].case.recipe, _of_sources(same), len(same))
        )
    steps = {}
    for chain in chains.values():
        for recipe, value in _never_less(sorted(chain, key=lambda step: -step[0].bits)):
            steps[recipe.slug] = (recipe, value, tuple(by_slug[recipe.slug]))
    return Ladder(steps)


def _of_sources(same: Iterable[MeasuredLoss]) -> float:
    # mean logarithm over the sources of the median of each
    by_source: dict[str, list[float]] = defaultdict(list)
    for one in same:
        by_source[one.row["source_group"]].append(one.log)
    return fmean(map(median, by_source.values()))


def _never_less(
    steps: Sequence[tuple[QualityRecipe, float, int]],
) -> list[tuple[QualityRecipe, float]]:
    # isotonic regression: neighbours in the wrong order share their mean, by rows
    blocks: list[tuple[float, int, list[QualityRecipe]]] = []
    for recipe, value, rows in steps:
        members = [recipe]
        while blocks and blocks[-1][0] > value:
            mean, before, earlier = blocks.pop()
            total = before + rows
            value, rows, members = (mean * before + value * rows) / total, total, earlier + members
        blocks.append((value, rows, members))
    return [(recipe, block[0]) for block in blocks for recipe in block[2]]


def increase_of(logged: float) -> float:
    """Return the increase of perplexity as a share, from the logarithm of a loss.

    >>> round(increase_of(log(0.02)), 4)
    0.0202
    """
    return expm1(min(exp(logged), 50.0))
