"""Compares expected losses of quantizations with published ones, and fits the constants.

    python -m bench.quality [--worst N] [--write]

Every ratio of perplexities of `data/measurements/quality.jsonl` is predicted twice, without its
whole source and without its whole model (every relative of it by name), each time with constants
fitted on the remaining rows. Errors are factors between increases of perplexity, both at least 0.3
%; a word is right if measurement and prediction agree in it. `--write` writes the constants and
bands that gpusizer uses.

The fit is linear in the logarithm of the loss, with a level and a slope of each model in addition
to the constants (ridge), each source as heavy as the square root of its rows, and less weight for
outliers. If no perplexity of a format is published, benchmarks replace it: a share s of the score
above chance that is lost counts as a loss of s / 0.65 (22 files of Llama-3-8B), one number for each
source and width.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from statistics import fmean

import numpy as np
import numpy.typing as npt
import pandas as pd

from bench.errors import Comparison
from bench.first_contact import not_fitted_on
from gpusizer.quality.evidence import (
    MeasuredLoss,
    Row,
    case_of_row,
    evidence_of,
    increase_of,
    kin_of,
    losses,
    published,
    read_rows,
    series_of,
)
from gpusizer.quality.prediction import BASES, NATIVE, PredictedLoss, predict
from gpusizer.quality.quality import word_of
from gpusizer.quality.relation import FLOOR, GGUF_FAMILIES, TABLE, Constants, LossCase

# weights that hold a model's own level and slope, and the level of its series, at zero
LEVEL_RIDGE, SLOPE_RIDGE, SERIES_RIDGE = 0.3, 4.0, 6.0

# expected value and weight of constants; 4.3 and 0.5 are those of single models
_PRIORS = {
    "bits": (4.3, 0.05),
    "bits_squared": (0.0, 0.3),
    "file_bits": (0.0, 0.1),
    "size": (0.5, 0.3),
    "recent": (0.0, 1.0),
    "no_matrix": (0.0, 0.3),
}
_LEVEL, _PRIOR_WEIGHT = -3.75, 0.3
_OUTLIER, _ROUNDS = 0.3, 12
_CHANCE = {"mmlu": 25, "ceval": 25, "cmmlu": 25, "gpqa": 25, "arc_challenge": 25, "hellaswag": 25}
_CHANCE |= {"winogrande": 50, "piqa": 50, "mmlu_pro": 10}
_PER_KLD, _BENCHMARK_WEIGHT = 0.65, 1.5
_BENCHMARK_FAMILIES = ("fp8", "int8", "int8_activations", "nvfp4", "mxfp4", "mlx", "exl2", "exl3")
_TAIL = 0.08
_FEWEST = 15  # rows for which a basis has a band of its own

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scored:
    """One row and its prediction without `left_out` ("source" or "model")."""

    left_out: str
    one: MeasuredLoss
    predicted: PredictedLoss


def main() -> None:
    """Print the errors, or write the constants."""
    parser = argparse.ArgumentParser(prog="python -m bench.quality")
    parser.add_argument("--worst", type=int, default=5, help="worst rows shown")
    parser.add_argument("--write", action="store_true", help="write constants and bands")
    arguments = parser.parse_args()
    rows = [row for row in read_rows() if row["id"] not in not_fitted_on()]
    if arguments.write:
        bands = bands_of([*score(rows, "source"), *score(rows, "model")])
        TABLE.write_text(table({**fit(rows), **bands}), "utf-8")
    for left_out in ("source", "model"):
        print("\n".join(report_lines(score(rows, left_out, bands_only()), arguments.worst)))


def bands_only() -> Constants:
    """Return the bands in use, for predictions with other constants."""
    bands = pd.read_csv(TABLE, index_col="name")["value"] if TABLE.is_file() else pd.Series()
    return {str(name): float(bands[name]) for name in bands.index if _is_band(str(name))}


def _is_band(name: str) -> bool:
    end, _, basis = name.partition("_")
    return end in ("low", "high") and basis in BASES


def table(constants: Constants) -> str:
    """Return the text of the file of constants."""
    lines = [f"{name},{value:.4f}" for name, value in constants.items()]
    return "\n".join(["name,value", *lines, ""])


def compare(row: Row) -> Iterator[Comparison]:
    """Compare the increase of perplexity of a row with the expected one."""
    for one in losses([row]):
        maker = row.get("maker", "").casefold()
        expected = predict(one.case, published(), [kin_of(row["repo"])], maker)
        yield Comparison.with_error(
            row,
            "quality",
            "loss",
            increase_of(one.log),
            max(expected.likely, increase_of(log(FLOOR))),
            variant=one.case.recipe.family,
            in_bytes=False,
            band=(expected.low, expected.high),
        )


def fit(rows: Iterable[Row]) -> dict[str, float]:
    """Return the constants that fit these rows."""
    listed = list(rows)
    found = losses(listed)
    cases = [one.case for one in found]
    targets, weights = [one.log for one in found], [one.weight for one in found]
    models = [kin_of(one.row["repo"]) for one in found]
    for case, target in benchmark_losses(listed):
        cases.append(case)
        targets.append(target)
        weights.append(_BENCHMARK_WEIGHT)
        models.append("")
    frame = pd.DataFrame([case.features() for case in cases]).fillna(0.0)
    own = pd.get_dummies(pd.Series(models)).astype(float).drop(columns=[""], errors="ignore")
    series = pd.get_dummies(pd.Series(map(series_of, models))).astype(float)
    series = series.drop(columns=[""], errors="ignore")
    slopes = own.mul([case.x for case in cases], axis=0)
    matrix = np.hstack([each.to_numpy() for each in (frame, own, slopes, series)])
    held = [_PRIORS.get(str(name), (_LEVEL, _PRIOR_WEIGHT)) for name in frame]
    priors = np.array([prior for prior, _ in held] + [0.0] * (matrix.shape[1] - len(held)))
    ridge = [weight for _, weight in held]
    ridge += [LEVEL_RIDGE] * own.shape[1] + [SLOPE_RIDGE] * own.shape[1]
    ridge += [SERIES_RIDGE] * series.shape[1]
    solution = _solve(matrix, np.array(targets), np.array(weights), priors, np.array(ridge))
    constants = dict(zip(frame, map(float, solution), strict=False))
    ridges = {"level": LEVEL_RIDGE, "slope": SLOPE_RIDGE, "series": SERIES_RIDGE}
    return {**constants, **{f"{name}_ridge": weight for name, weight in ridges.items()}}


def _solve(
    matrix: Floats, targets: Floats, weights: Floats, priors: Floats, ridge: Floats
) -> Floats:
    # Robust ridge; values and targets below the floor have no weight.
    solution, floor = priors.copy(), log(FLOOR)
    for _ in range(_ROUNDS):
        values = matrix @ solution
        errors = np.abs(targets - np.maximum(values, floor))
        heavy = weights / np.maximum(1.0, errors / _OUTLIER)
        heavy[(values < floor) & (targets <= floor)] = 0.0
        weighted = matrix * heavy[:, None]
        solution = np.linalg.solve(
            matrix.T @ weighted + np.diag(ridge), weighted.T @ targets + ridge * priors
        )
    return solution


def benchmark_losses(rows: Iterable[Row]) -> Iterator[tuple[LossCase, float]]:
    """Yield the loss behind a source's benchmarks of a family and width."""
    shares: dict[tuple[str, str, float], list[tuple[Row, float]]] = defaultdict(list)
    for row in rows:
        chance = next((c for name, c in _CHANCE.items() if row["metric"].startswith(name)), 0)
        if (
            row["family"] in _BENCHMARK_FAMILIES
            and row["about"].startswith("weights")
            and row["higher_is_better"]
            and "bits_per_weight" in row
            and row["baseline_value"] > chance + 10
            and row["metric"] != "top1_agreement"
        ):
            share = (row["value"] - chance) / (row["baseline_value"] - chance)
            shares[row["source_group"], row["family"], row["bits_per_weight"]].append((row, share))
    for found in shares.values():
        lost = (1.0 - fmean(share for _, share in found)) / _PER_KLD
        yield case_of_row(found[0][0]), log(max(lost, FLOOR))


def score(rows: Sequence[Row], left_out: str, bands: Constants | None = None) -> list[Scored]:
    """Predict every row without its source or without its model."""
    key = {"source": lambda row: row["source_group"], "model": lambda row: kin_of(row["repo"])}
    groups: dict[str, list[MeasuredLoss]] = defaultdict(list)
    for one in losses(rows):
        groups[key[left_out](one.row)].append(one)
    scored = []
    for group, members in groups.items():
        others = [row for row in rows if key[left_out](row) != group]
        evidence = evidence_of(others, {**fit(others), **(bands or {})})
        for one in members:
            maker = one.row.get("maker", "").casefold()
            expected = predict(one.case, evidence, [kin_of(one.row["repo"])], maker)
            scored.append(Scored(left_out, one, expected))
    return scored


def bands_of(scored: Iterable[Scored]) -> dict[str, float]:
    """Return factors below and above the likely increase, for each basis."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for each in scored:
        ratios[each.predicted.basis].append(_ratio(each))
    bands: dict[str, float] = {}
    everything = [ratio for found in ratios.values() for ratio in found]
    for basis in BASES:
        if basis != NATIVE:
            found = ratios[basis] if len(ratios[basis]) >= _FEWEST else everything
            low, high = np.quantile(found, (_TAIL, 1 - _TAIL))
            bands[f"low_{basis}"] = max(1.2, 1 / float(low))
            bands[f"high_{basis}"] = max(1.2, float(high))
    return bands


def _ratio(each: Scored) -> float:
    # Both at least the floor.
    return increase_of(each.one.log) / increase_of(max(each.predicted.logged, log(FLOOR)))


def errors_of(scored: Iterable[Scored]) -> pd.DataFrame:
    """Return a line for each row: factor, steps between words, whether the band held."""
    return pd.DataFrame(
        {
            "basis": each.predicted.basis,
            "family": each.one.case.recipe.family,
            "source": each.one.row["source_group"],
            "factor": max(_ratio(each), 1 / _ratio(each)),
            "steps": abs(
                word_of(increase_of(log(max(each.one.loss, 1e-9)))).rank
                - word_of(each.predicted.likely).rank
            ),
            "held": each.predicted.low <= increase_of(each.one.log) <= each.predicted.high,
        }
        for each in scored
    )


def report_lines(scored: Sequence[Scored], worst: int) -> Iterator[str]:
    """Yield the errors of all rows, by basis and by family, and the worst rows."""
    frame = errors_of(scored)
    yield f"without the row's {scored[0].left_out}: rows, factor (median, 80 %), word, next, band"
    yield _line("all", frame)
    yield _line("GGUF", frame[frame["family"].isin(GGUF_FAMILIES)])
    for column in ("basis", "family", "source"):
        for name, part in frame.groupby(column):
            yield _line(str(name), part)
    order = frame["factor"].sort_values(ascending=False).index[:worst]
    for each in (scored[int(place)] for place in order):
        row = each.one.row
        yield (
            f"  {row['repo']} {row['quant']}: measured {row['ln_ratio']:.3f},"
            f" expected {each.predicted.likely:.3f}  {row['source_url']}"
        )


def _line(name: str, part: pd.DataFrame) -> str:
    return (
        f"  {name:24}{len(part):>5}{part['factor'].median():>7.2f}"
        f"{part['factor'].quantile(0.8):>7.2f}{(part['steps'] == 0).mean():>7.1%}"
        f"{(part['steps'] <= 1).mean():>7.1%}{part['held'].mean():>7.1%}"
    )


if __name__ == "__main__":
    main()
