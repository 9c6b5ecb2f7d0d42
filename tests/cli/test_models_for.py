"""`models-for` in the shell: families with their copies, licences, and the figures of use."""

from __future__ import annotations

import json

from tests.cli.test_cli import run


def test_one_row_for_each_family() -> None:
    result = run("models-for", "4090", "--top", "4", "--offline", "--details")
    assert result.returncode == 0
    assert "181 of 225 run in 152 families" in result.stdout
    assert "Order: verdict (fits, tight, offload, from_disk); then age" in result.stdout
    assert "Embedded figures of use: 2026-10-05." in result.stdout
    assert "Qwen/Qwen3.6-35B-A3B-FP8" not in result.stdout
    listed = run("models-for", "4090", "--top", "4", "--offline", "--copies").stdout
    assert "  Qwen/Qwen3.6-35B-A3B-FP8" in listed


def test_live_without_the_hub_says_so() -> None:
    result = run("models-for", "4090", "--top", "1", "--offline", "--live", "true", "--json")
    answer = json.loads(result.stdout)
    assert (result.returncode, answer["use"]["live"]) == (0, False)
    assert [note["code"] for note in answer["notes"]] == ["use_offline"]
    assert answer["trending"] == []


def test_licences_in_both_spellings() -> None:
    asked = ("models-for", "4090", "--offline", "--json", "--top", "3")
    british, american = (run(*asked, f"--licen{letter}e", "mit") for letter in "cs")
    assert british.stdout == american.stdout
    assert {row["license"] for row in json.loads(british.stdout)["models"]} == {"mit"}
    line = json.dumps({"task": "models-for", "gpu": "4090", "licence": "mit", "top": 3})
    batch = json.loads(run("batch", "--offline", stdin=line).stdout)
    assert batch["models"] == json.loads(american.stdout)["models"]
