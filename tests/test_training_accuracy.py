"""Training and quality: predictions against every published row."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from bench import first_contact, quality
from bench.measurements import TRAINING, load
from bench.training import (
    compare,
    predict,
    predictions,
    sections,
    verdicts,
)
from gpusizer.quality.evidence import read_rows
from gpusizer.quality.relation import fitted

ROWS = load([TRAINING])


def test_the_bar() -> None:
    """Mean and 90th percentile of absolute errors, bias, and shares of runs inside their bands."""
    errors = sections(predictions(ROWS))
    single, several = errors.loc["peak_one_gpu"], errors.loc["peak_several_gpus"]
    assert single["n"] >= 160 and several["n"] >= 45
    assert single["mean"] <= 0.10 and single["p90"] <= 0.25
    assert several["mean"] <= 0.08
    assert abs(single["bias"]) <= 0.03 and abs(several["bias"]) <= 0.03
    assert single["inside"] >= 0.80 and several["inside"] >= 0.90


def test_verdicts() -> None:
    out, ran = verdicts(ROWS)
    assert len(out) >= 5 and len(ran) >= 200
    assert sum(not run.fits for run in out) >= 0.90 * len(out)
    assert sum(bool(run.fits) for run in ran) >= 0.95 * len(ran)


def test_comparisons_use_the_numbers_of_the_answer() -> None:
    row = next(r for r in ROWS if r["stack"] == "ms-swift" and r.get("micro_batch") == 8)
    run = predict(row)
    assert run is not None
    (estimate,) = [e for e in run.answer["estimates"] if e["asked"]]
    name = "reserved_bytes" if row["metric"] == "reserved" else "total_bytes"
    assert run.predicted == estimate["per_gpu"][name]
    assert run.fits == (run.answer["ranking"][0]["verdict"] in ("fits", "tight"))


def test_counts_and_loaded_weights_are_compared_where_stated() -> None:
    row = next(r for r in ROWS if r["repo"] == "unsloth/Llama-3.3-70B-Instruct")
    errors = {c.component: c.predicted / c.measured - 1 for c in compare(row)}
    assert errors.keys() == {"trainable_parameters", "loaded_weights"}
    assert errors["trainable_parameters"] == 0
    assert abs(errors["loaded_weights"]) < 0.05


DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "quality.md"
LOSSES = read_rows()


@pytest.fixture(scope="module")
def without_source() -> pd.DataFrame:
    return quality.errors_of(quality.score(LOSSES, "source", quality.bands_only()))


def test_rows_without_their_source_stay_within_the_bar(without_source: pd.DataFrame) -> None:
    assert without_source["factor"].median() <= 1.5
    assert without_source["factor"].quantile(0.8) <= 2.1
    assert without_source["held"].mean() >= 0.8
    assert (without_source["steps"] == 0).mean() >= 0.65
    assert (without_source["steps"] <= 1).mean() >= 0.97


def test_the_document_says_these_errors(without_source: pd.DataFrame) -> None:
    row = re.search(r"^\| its source \| (\d+) \| ([\d.]+) \| ([\d.]+) ", DOCUMENT.read_text(), re.M)
    assert row is not None
    assert int(row[1]) == len(without_source)
    assert float(row[2]) == pytest.approx(without_source["factor"].median(), abs=0.011)
    assert float(row[3]) == pytest.approx(without_source["factor"].quantile(0.8), abs=0.021)


def test_the_constants_in_use_are_those_of_the_rows() -> None:
    rows = [row for row in LOSSES if row["id"] not in first_contact.not_fitted_on()]
    for name, value in quality.fit(rows).items():
        assert fitted()[name] == pytest.approx(value, abs=2e-4), name
