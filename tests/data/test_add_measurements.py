"""Rows are added once, with what was said of them; what no table can hold is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench.measurements import FILES, FOLDER, PROFILED, load
from scripts.add_measurements import add, faults_of, main

PRESENT = load([FOLDER / "serving.jsonl"])[0]
NEW: dict[str, Any] = {**PRESENT, "id": "a-new-run", "dup_group": "a-new-run"}
LOSS = load([FOLDER / "quality.jsonl"])[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of tables with one row."""
    (tmp_path / "serving.jsonl").write_text(json.dumps(PRESENT) + "\n", "utf-8")
    return tmp_path


def test_a_row_is_added_once_and_its_first_errors_are_recorded(folder: Path) -> None:
    first = add([PRESENT, NEW, NEW], folder)
    assert first[0].startswith("serving.jsonl: 1 new rows of 3, ")
    assert load([folder / "serving.jsonl"]) == [PRESENT, NEW]
    contacts = pd.read_csv(folder / "first_contact.csv")
    assert set(contacts["id"]) == {"a-new-run"} and "weights" in set(contacts["quantity"])
    assert add([NEW], folder) == ["serving.jsonl: 0 new rows of 1, 0 first errors"]


def test_rows_go_to_the_table_of_their_kind(folder: Path) -> None:
    add([NEW, LOSS], folder)
    assert load([folder / "quality.jsonl"]) == [LOSS]


def test_every_table_holds_its_kind_alone_and_models_that_are_known() -> None:
    for kind, name in FILES.items():
        rows = load([FOLDER / name])
        assert {row["kind"] for row in rows} == {kind}
        assert kind not in PROFILED or all("profile" in row for row in rows)


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        ({"kind": "song"}, "a-new-run is of kind song, which no table holds"),
        ({"source_url": "unpublished"}, "a-new-run has no public address: unpublished"),
        ({"source_group": ""}, "a-new-run states no source_group"),
        (
            {"profile": "nobody/nothing"},
            "a-new-run names no model that scripts.add_model has read as its profile",
        ),
    ],
)
def test_a_row_that_no_table_can_hold_is_refused(
    changed: dict[str, Any],
    fault: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert faults_of(NEW) == []
    row = {**NEW, **changed}
    assert faults_of(row) == [fault]
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n", "utf-8")
    monkeypatch.setattr("sys.argv", ["add_measurements", str(path)])
    with pytest.raises(SystemExit):
        main()
    assert fault in capsys.readouterr().err
