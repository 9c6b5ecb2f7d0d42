"""Workflows of GitHub: pins by commit, few rights, and commands that exist. None is run here."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
WORKFLOWS: dict[str, Any] = {file.stem: yaml.safe_load(file.read_text("utf-8")) for file in FILES}
JOBS = [(name, job) for name, workflow in WORKFLOWS.items() for job in workflow["jobs"].values()]
STEPS = [step for _, job in JOBS for step in job["steps"]]
COMMANDS = [line for step in STEPS for line in step.get("run", "").splitlines()]
WRITES = {"refresh", "model-types"}  #
NEWEST = "pip install --upgrade transformers"  #
# YAML 1.1 reads the key `on` as a truth value.
_ON = True


def test_actions_are_pinned_by_commit_and_alike() -> None:
    lines = [line for file in FILES for line in file.read_text("utf-8").splitlines()]
    used = [line.split("uses:")[1].strip() for line in lines if "uses:" in line]
    assert len(used) == len([step for step in STEPS if "uses" in step]) > 0
    for pin in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", pin), pin
    assert len(set(used)) == len({pin.split("@")[0] for pin in used})


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_only_reads(name: str) -> None:
    assert WORKFLOWS[name]["permissions"] == {"contents": "read"}
    assert WORKFLOWS[name]["concurrency"]["group"]
    # What a stranger's pull request runs has neither secrets nor a token that writes.
    assert WORKFLOWS[name][_ON].keys().isdisjoint({"pull_request_target", "workflow_run"})


@pytest.mark.parametrize("name, job", JOBS)
def test_a_job_ends_and_keeps_its_rights_to_itself(name: str, job: dict[str, Any]) -> None:
    assert 0 < job["timeout-minutes"] <= 120
    assert "permissions" not in job or name in WRITES
    assert "environment" in job or "secrets." not in str(job)
    for step in job["steps"]:
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("command", [line for line in COMMANDS if "pip install" in line])
def test_packages_are_pinned(command: str) -> None:
    pinned = re.search(r"pip install (\S+==\S+|.*-r \S*requirements\S*)$", command)
    assert pinned or command == NEWEST
