"""The model card in the shell: of a folder on this machine, which needs no Hub."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_cli import checkpoint, run

CARD = """\
It needs 80 GB of VRAM.

```
vllm serve name --tensor-parallel-size 2 --max-model-len 1024
```
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    name = checkpoint(tmp_path)
    (tmp_path / "README.md").write_text(CARD)
    return name


def test_json(folder: str) -> None:
    report = json.loads(run("size", folder, "--json").stdout)
    card = report["model_card"]
    assert card["url"] == ""
    assert [item["verdict"] for item in card["statements"]] == ["needs_less", "not_comparable"]


def test_text(folder: str) -> None:
    shown = run("size", folder, "--details").stdout
    assert "the author says" in shown and "needs less" in shown


def test_no_card(folder: str) -> None:
    assert "model_card" not in json.loads(run("size", folder, "--json", "--no-card").stdout)
    assert "the author says" not in run("size", folder, "--no-card", "--details").stdout


def test_as_card(folder: str) -> None:
    report = json.loads(run("size", folder, "--json", "--as-card", "true").stdout)
    assert report["workload"]["tensor_parallel"] == 2
    assert report["workload"]["context"] == 1024
