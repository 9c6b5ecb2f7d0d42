"""How old each kind of data is, what the page says of it, and how it is refreshed."""

from __future__ import annotations

import csv
import importlib.util
import re
from collections.abc import Sequence

import pytest

from gpusizer.answers.data_ages import DATED_TABLES, GPU_TABLE, DataAge, data_ages, fingerprint
from gpusizer.core.paths import DATA_DIR, GENERATED_DIR
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.pieces.frame import data_ages_html
from gpusizer.ui.presenters.pieces.words import Words
from scripts.refresh import GATE, STEPS, refresh, summary
from tests.each import each


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


ROOT = DATA_DIR.parent
WORKFLOW = (ROOT / ".github" / "workflows" / "refresh.yml").read_text("utf-8")


class Recorder:
    """Runs nothing: remembers commands, and fails those that name a module."""

    def __init__(self, failing: str = "") -> None:
        self.commands: list[tuple[str, ...]] = []
        self._failing = failing

    def __call__(self, arguments: Sequence[str]) -> tuple[int, str]:
        self.commands.append(tuple(arguments))
        fails = self._failing and self._failing in arguments
        return (1, "one source refused\n") if fails else (0, "well\n\ndone\n")


def test_steps_run_in_their_order_and_tests_at_last() -> None:
    run = Recorder()
    results = refresh(run, ["accuracy", "models", "prices", "gpus"])
    assert run.commands == [*STEPS.values(), GATE]
    assert [result.name for result in results] == ["models", "prices", "gpus", "accuracy", "tests"]


def test_a_refused_source_stops_nothing() -> None:
    run = Recorder("scrapers.prices")
    results = refresh(run, list(STEPS))
    assert len(run.commands) == len(STEPS) + 1
    assert [result.name for result in results if result.status] == ["prices"]
    text = summary(results)
    assert "## prices: exit status 1" in text and "one source refused" in text
    assert "## tests: done" in text


@each("command", [*STEPS.values(), GATE])
def test_modules_and_tests_of_the_steps_exist(command: tuple[str, ...]) -> None:
    assert command[0] == "-m"
    assert importlib.util.find_spec(command[1]) is not None
    paths = [argument for argument in command if argument.startswith("tests/")]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_workflow_runs_the_command_on_a_schedule_and_asks_a_person() -> None:
    assert re.search(r"schedule:\n\s+- cron: ", WORKFLOW)
    assert "python -m scripts.refresh --summary" in WORKFLOW
    assert "gh pr create" in WORKFLOW
    assert "run: .ci/run" in WORKFLOW
