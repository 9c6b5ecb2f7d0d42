"""The errors of expected losses stay what docs/quality.md says of them."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from bench import first_contact, quality
from bench.evaluation import compared
from gpusizer.quality.evidence import read_rows
from gpusizer.quality.relation import fitted

DOCUMENT = Path(__file__).resolve().parents[1] / "docs" / "quality.md"
ROWS = read_rows()
ANY = next(row for row in ROWS if row["quant"] == "q3_k_m" and "ln_ratio" in row)


@pytest.fixture(scope="module")
def without_source() -> pd.DataFrame:
    return quality.errors_of(quality.score(ROWS, "source", quality.bands_only()))


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
    rows = [row for row in ROWS if row["id"] not in first_contact.not_fitted_on()]
    for name, value in quality.fit(rows).items():
        assert fitted()[name] == pytest.approx(value, abs=2e-4), name


def test_a_new_row_is_recorded_with_its_first_error(tmp_path: Path) -> None:
    row = {**ANY, "id": "new", "repo": "org/Unseen-9B", "ln_ratio": 0.07}
    path = tmp_path / "first_contact.csv"
    assert first_contact.record([row], compared, path) == 1
    (line,) = first_contact.read(path).to_dict("records")
    assert (line["id"], line["quantity"]) == ("new", "loss")
    assert -1 < line["error"] < 2 and line["in_band"] in (0, 1)
