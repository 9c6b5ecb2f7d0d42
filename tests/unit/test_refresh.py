"""How data that ages is refreshed."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence

import pytest

from gpusizer.core.paths import DATA_DIR
from scripts.refresh import GATE, STEPS, refresh, summary

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
    results = refresh(run, ["accuracy", "models", "prices"])
    assert run.commands == [*STEPS.values(), GATE]
    assert [result.name for result in results] == ["models", "prices", "accuracy", "tests"]


def test_a_refused_source_stops_nothing() -> None:
    run = Recorder("scripts.prices")
    results = refresh(run, list(STEPS))
    assert len(run.commands) == len(STEPS) + 1
    assert [result.name for result in results if result.status] == ["prices"]
    text = summary(results)
    assert "## prices: exit status 1" in text and "one source refused" in text
    assert "## tests: done" in text


@pytest.mark.parametrize("command", [*STEPS.values(), GATE])
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
