"""How old each kind of data is, and what the page says of it."""

from __future__ import annotations

import csv
import re

import pytest

from gpusizer.answers.data_ages import DATED_TABLES, GPU_TABLE, DataAge, data_ages, fingerprint
from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.data_ages import data_ages_html
from gpusizer.ui.presenters.words import Words


def test_every_kind_of_data_has_dates() -> None:
    ages = data_ages()
    assert [age.kind for age in ages] == ["models", "gpus", "rents", "purchases", "accuracy"]
    for age in ages:
        assert re.fullmatch(r"\d{4}(-\d\d){0,2}", age.oldest), age
        assert re.fullmatch(r"\d{4}(-\d\d){1,2}", age.newest), age
        assert age.oldest <= age.newest, age


def test_dates_are_those_of_the_rows() -> None:
    ages = {age.kind: age for age in data_ages()}
    rows = csv.DictReader((GENERATED_DIR / "rental_prices.csv").read_text("utf-8").splitlines())
    days = sorted(row["date"] for row in rows)
    assert (ages["rents"].oldest, ages["rents"].newest) == (days[0], days[-1])


def test_the_catalogue_was_dated_when_it_last_changed() -> None:
    """After a change of the catalogue: `python -m scripts.refresh gpus`."""
    rows = csv.DictReader(DATED_TABLES.read_text("utf-8").splitlines())
    dated = {row["table"]: row["fingerprint"] for row in rows}
    assert dated == {GPU_TABLE: fingerprint(DATA_DIR / GPU_TABLE)}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_names_a_day_or_the_days_between(language: Language) -> None:
    ages = [
        DataAge("models", "2026-01-02", "2026-01-02"),
        DataAge("rents", "2026-03", "2026-04-05"),
    ]
    html = str(data_ages_html(ages, Words(language)))
    assert html.count("<li>") == 2
    assert html.count("2026-01-02") == 1
    assert html.index("2026-03") < html.index("2026-04-05")
