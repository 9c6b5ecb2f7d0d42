"""Workflows of GitHub: pins by commit, few rights, and commands that exist. None is run here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
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
WRITES = {"refresh", "model-types"}
"""Workflows with a job that has a token: a pull request or an issue is opened."""
NEWEST = "pip install --upgrade transformers"
"""Not pinned: the job looks at what was released, without a token."""
# YAML 1.1 reads the key `on` as a truth value.
_ON = True


def test_actions_are_pinned_by_commit_and_alike() -> None:
    lines = [line for file in FILES for line in file.read_text("utf-8").splitlines()]
    used = [line.split("uses:")[1].strip() for line in lines if "uses:" in line]
    assert len(used) == len([step for step in STEPS if "uses" in step]) > 0
    for pin in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", pin), pin
    assert len(set(used)) == len({pin.split("@")[0] for pin in used})


def test_new_versions_of_actions_are_proposed() -> None:
    (update,) = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text("utf-8"))["updates"]
    assert update["package-ecosystem"] == "github-actions"
    assert update["schedule"] == {"interval": "weekly"}


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


def test_what_is_not_pinned_runs_without_a_token() -> None:
    unpinned = [
        (WORKFLOWS[name]["jobs"], job)
        for name, job in JOBS
        if any(NEWEST in step.get("run", "") for step in job["steps"])
    ]
    ((jobs, job),) = unpinned
    assert "permissions" not in job and "github.token" not in str(job)
    assert jobs["tell"]["permissions"] == {"issues": "write"}
    assert not [step for step in jobs["tell"]["steps"] if "uses" in step]


@pytest.mark.parametrize(
    "open_issue, told", [("", "issue create --title"), ("7", "issue edit 7 --body-file")]
)
def test_what_is_wrong_of_model_types_stays_one_issue(
    tmp_path: Path, open_issue: str, told: str
) -> None:
    (step,) = WORKFLOWS["model-types"]["jobs"]["tell"]["steps"]
    listed = f'if [ "$2" = list ]; then echo "{open_issue}"; exit; fi'
    record = 'echo "$*" > "$RUNNER_TEMP/told"; cp "${!#}" "$RUNNER_TEMP/body"'
    _write_program(tmp_path / "gh", f"{listed}\n{record}")
    environment = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
        "REPORT": "1 of 2 right; $(rm -r /) `x`",
        "TITLE": step["env"]["TITLE"],
    }
    subprocess.run(["/bin/bash", "-e", "-c", step["run"]], env=environment, check=True)
    assert (tmp_path / "told").read_text("utf-8").startswith(told)
    assert (tmp_path / "body").read_text("utf-8") == environment["REPORT"] + "\n"


def test_tests_run_by_one_command_that_installs_what_they_need() -> None:
    assert WORKFLOWS["ci"][_ON] == {"push": {"branches": ["main"]}, "pull_request": None}
    calling = {name for name, job in JOBS for step in job["steps"] if step.get("run") == ".ci/run"}
    assert calling == {"ci", "nightly", "refresh"}
    assert not [line for line in COMMANDS if "apt-get" in line]


def test_packages_are_audited_each_week_and_before_the_tests() -> None:
    """A week's audit needs an answer; continuous integration goes on without one."""
    assert "schedule" in WORKFLOWS["audit"][_ON]
    audits = [line for line in COMMANDS if "audit" in line]
    assert audits == ["python scripts/audit.py --required"]
    lines = (ROOT / ".ci" / "run").read_text("utf-8").splitlines()
    programs = [line.rpartition("/")[2] for line in lines if line.startswith('"${PYTHON')]
    assert programs == ["smoke.py", "audit.py"] and lines[-1] == "./scripts/test"


@pytest.mark.parametrize(
    "user, has, named, installed",
    [
        (0, (), "", "chromium redis-server nginx nodejs npm"),
        (0, ("node", "nginx", "redis-server", "chromium"), "", ""),
        (1001, ("node", "nginx", "google-chrome"), "", "redis-server"),
        (1001, ("node", "nginx", "redis-server", "my-chrome"), "my-chrome", ""),
    ],
)
def test_missing_packages_are_installed(
    tmp_path: Path, user: int, has: tuple[str, ...], named: str, installed: str
) -> None:
    """As root on Debian, with sudo elsewhere; no Chromium where there is a Chrome."""
    told = tmp_path / "told"
    programs = {"id": f"echo {user}", "apt-get": f'echo "apt-get $*" >> {told}'}
    programs["sudo"] = f'echo -n "sudo " >> {told}; shift; "$@"'
    for name, text in {**dict.fromkeys(has, ""), **programs}.items():
        _write_program(tmp_path / name, text)
    environment = {"PATH": str(tmp_path), "CHROMIUM": named}
    subprocess.run(["/bin/bash", ROOT / ".ci" / "packages"], env=environment, check=True)
    sudo = "sudo " if user else ""
    options = "install -y -qq --no-install-recommends fonts-noto-cjk"
    expected = [f"{sudo}apt-get update -qq", f"{sudo}apt-get {options} {installed}"]
    lines = told.read_text("utf-8").splitlines() if told.exists() else []
    assert lines == (expected if installed else [])


def test_a_space_gets_the_tracked_files_by_options_that_exist(tmp_path: Path) -> None:
    (upload,) = (step for step in STEPS if "hf upload" in step.get("run", ""))
    assert set(upload["env"]) == {"HF_TOKEN", "SPACE"}
    lists = 'cd "$3" && find . -type f > "$RUNNER_TEMP/files"'
    _write_program(tmp_path / "hf", f'printf "%s\\n" "$@" > "$RUNNER_TEMP/told"; {lists}')
    environment = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "RUNNER_TEMP": str(tmp_path),
        "SPACE": "owner/gpusizer",
        "GITHUB_REF_NAME": "v1",
        "GITHUB_SHA": "0" * 40,
    }
    subprocess.run(["/bin/bash", "-e", "-c", upload["run"]], cwd=ROOT, env=environment, check=True)
    tracked = subprocess.check_output(
        ["git", "ls-tree", "-r", "-z", "--name-only", "HEAD"], cwd=ROOT, text=True
    )
    sent = (tmp_path / "files").read_text("utf-8").splitlines()
    assert {path.removeprefix("./") for path in sent} == set(tracked.split("\0")) - {""}
    arguments = (tmp_path / "told").read_text("utf-8").splitlines()
    assert {"upload", "owner/gpusizer", "--repo-type=space", "--delete=*"} <= set(arguments)
    assert '. --repo-type=space --delete="*"\n' in (ROOT / "docs" / "deploy.md").read_text("utf-8")
    # An option that is not there is refused before `--help` is heard.
    assert _hf(*arguments, "--help") == 0 and _hf(*arguments, "--no-such", "--help") == 2


def _write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/bash\n{text}\n", "utf-8")
    path.chmod(0o755)


def _hf(*arguments: str) -> int:
    """The exit status of the installed `hf`, which asks no server."""
    program = Path(sys.executable).with_name("hf")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    return subprocess.run([program, *arguments], env=environment, capture_output=True).returncode
