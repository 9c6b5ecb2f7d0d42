"""rental_prices.csv and rental_labels.csv: rows are valid, and labels name boards."""

from __future__ import annotations

import csv
import re

import pytest

from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from gpusizer.gpus import load_catalogue
from gpusizer.gpus.costs.rental import read_labels, read_offers

PRICES, LABELS = GENERATED_DIR / "rental_prices.csv", DATA_DIR / "rental_labels.csv"
CATALOGUE = load_catalogue()
ROWS = list(csv.DictReader(PRICES.read_text("utf-8").splitlines()))


def test_labels_name_boards_of_the_catalogue_or_say_why_not() -> None:
    slugs = {gpu.slug for gpu in CATALOGUE.gpus}
    rows = list(csv.DictReader(LABELS.read_text("utf-8").splitlines()))
    assert len({row["label"] for row in rows}) == len(rows)
    for row in rows:
        assert set(row["slugs"].split()) <= slugs
        assert bool(row["slugs"]) != bool(row["excluded_because"]), row["label"]


def test_every_label_of_the_prices_is_known() -> None:
    assert {row["label"] for row in ROWS} <= read_labels(LABELS).keys()


@pytest.mark.parametrize(
    "label", ["A40 16GB", "RTX 6000 Pro 24GB", "RTX 6000 Pro 48GB", "GB200 186GB", "GB300 288GB"]
)
def test_labels_wrong_at_the_source_are_excluded(label: str) -> None:
    assert read_labels(LABELS)[label] == ()


def test_rows_are_complete_and_within_reason() -> None:
    for row in ROWS:
        assert 0.01 <= float(row["usd_per_gpu_hour"]) <= 60
        assert re.fullmatch(r"\d{4}(-\d\d-\d\d)?", row["date"])
        assert row["spot"] in ("true", "false") and row["marketplace"] in ("true", "false")
        assert row["provider"] and row["source"]


def test_marketplaces_are_marked() -> None:
    assert {row["provider"] for row in ROWS if row["marketplace"] == "true"} == {"Vast.ai"}


def test_memory_on_a_label_is_that_of_its_boards() -> None:
    """The label counts GB or GiB, total or usable: within a tenth of the label in the catalogue."""
    for label, slugs in read_labels(LABELS).items():
        size = re.search(r"(\d+)GB$", label)
        for slug in slugs:
            assert size is not None
            assert float(size[1]) == pytest.approx(
                CATALOGUE.find(slug).memory_marketing_gb, rel=0.1
            )


def test_offers_are_found_by_board() -> None:
    offers = read_offers(PRICES, LABELS)
    assert len(offers["rtx-4090-24gb"]) == 5
    assert {offer.provider for offer in offers["gh200-96gb"]} == {"Lambda"}
