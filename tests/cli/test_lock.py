"""`gpusizer lock` and `check-lock`: files, exit codes, a comment and a badge."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_cli import run

MODEL = "Qwen/Qwen3-8B"


def locked(folder: Path, gpu: str) -> Path:
    path = folder / "gpusizer.lock"
    written = run("lock", MODEL, "--gpu", gpu, "--offline", "--output", str(path))
    assert (written.returncode, written.stderr) == (0, "")
    return path


def test_a_lock_holds_until_its_gpu_is_a_smaller_one(tmp_path: Path) -> None:
    path, badge = locked(tmp_path, "4090"), tmp_path / "badge.json"
    held = run("check-lock", str(path), "--offline", "--badge", str(badge))
    assert held.returncode == 0 and held.stdout.rstrip().endswith("holds")
    shown = json.loads(badge.read_text("utf-8"))
    assert (shown["schemaVersion"], shown["color"]) == (1, "brightgreen")

    path.write_text(path.read_text("utf-8").replace('"4090"', '"gtx 1060"'), "utf-8")
    broken = run("check-lock", str(path), "--offline", "--json")
    document = json.loads(broken.stdout)
    assert (broken.returncode, document["holds"]) == (4, False)
    assert "gpu" in {change["fields"].get("field") for change in document["changes"]}


def test_a_comment_of_a_check_is_code(tmp_path: Path) -> None:
    path = locked(tmp_path, "4090")
    path.write_text(path.read_text("utf-8").replace("q8_0", "bf16"), "utf-8")
    comment = run("check-lock", str(path), "--offline", "--markdown").stdout.splitlines()
    assert comment[0].startswith("**") and comment[2:]
    assert all(line.startswith("- `") and line.endswith("`") for line in comment[2:])


def test_what_does_not_fit_is_not_locked(tmp_path: Path) -> None:
    path = tmp_path / "gpusizer.lock"
    refused = run(
        "lock", MODEL, "--gpu", "gtx 1060", "--quant", "bf16", "--offline", "--output", str(path)
    )
    assert refused.returncode == 4 and not path.exists()


def test_a_model_that_cannot_be_read_cannot_be_told(tmp_path: Path) -> None:
    path = locked(tmp_path, "4090")
    path.write_text(path.read_text("utf-8").replace(MODEL, "no/model"), "utf-8")
    assert run("check-lock", str(path), "--offline").returncode == 3


def test_a_missing_or_huge_lock_is_refused(tmp_path: Path) -> None:
    assert run("check-lock", str(tmp_path / "none"), "--offline").returncode == 2
    huge = tmp_path / "huge"
    huge.write_text(" " * 1_000_001, "utf-8")
    assert run("check-lock", str(huge), "--offline").returncode == 2
