"""The machine that a command runs on: programs that stand in for those of real ones."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from gpusizer.cli.here_command import find_machine, here_text, with_this_machine
from gpusizer.cli.this_machine import MAX_BYTES, AskedProgram, ask
from gpusizer.core.errors import InvalidRequest
from gpusizer.gpus import load_catalogue
from gpusizer.text import LANGUAGES, say_error
from gpusizer.usecases.requests.request import SizeRequest
from tests.cli.test_cli import run

CATALOGUE = load_catalogue()
CSV = "name, memory.total [MiB], memory.used [MiB]\nNVIDIA GeForce RTX 4090, 24564 MiB, 900 MiB\n"
FOUND = (
    AskedProgram("nvidia-smi --query-gpu", "read", CSV),
    AskedProgram("nvidia-smi", "failed"),
    AskedProgram("rocm-smi", "missing"),
    AskedProgram("/proc/meminfo", "read", "MemTotal:       65753932 kB\n"),
)
NOTHING = (AskedProgram("nvidia-smi", "missing"), AskedProgram("lspci", "timeout"))
MACHINE = "rtx-4090-24gb (900 MiB used) + 62.71 GB RAM"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that alone is on PATH, with a shell to run what is put there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def put(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_this_machine_is_told_with_how_it_was_found() -> None:
    found = find_machine(CATALOGUE, lambda: FOUND)
    assert found.report.text == MACHINE
    said = here_text(found)
    assert "nvidia-smi, /proc/meminfo: read" in said
    assert "rocm-smi: not on this machine" in said


def test_a_machine_without_a_gpu_says_that_none_was_named() -> None:
    found = find_machine(CATALOGUE, lambda: FOUND[1:])
    assert found.report.text == "62.71 GB RAM"
    assert "No program named a GPU" in here_text(found)


def test_nothing_is_guessed() -> None:
    with pytest.raises(InvalidRequest) as refused:
        find_machine(CATALOGUE, lambda: NOTHING)
    assert refused.value.fields["reason"] == "nothing_here"
    for language in LANGUAGES:
        assert "lspci" in say_error(refused.value, language)


def test_here_stands_for_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    fields = with_this_machine({"model": "a/b", "gpu": "Here"}, CATALOGUE, lambda: FOUND)
    request = SizeRequest.from_fields(fields)
    assert request.gpus == (MACHINE,)
    assert {note.code for note in request.about_machine} == {"report_read"}
    assert MACHINE in capsys.readouterr().err
    compared = with_this_machine({"gpus": ["here", "3090"]}, CATALOGUE, lambda: FOUND)
    assert compared["gpus"] == [MACHINE, "3090"]
    listed = with_this_machine({"gpu": "3090, here"}, CATALOGUE, lambda: FOUND)
    assert listed["gpu"] == f"3090, {MACHINE}"
    others = {"gpu": "4090, 3090"}
    assert with_this_machine(others, CATALOGUE, lambda: NOTHING) == others


def test_programs_are_run_in_bounds(programs: Path) -> None:
    put(programs, "says", "echo NVIDIA; echo no >&2")
    put(programs, "fails", "echo NVIDIA; exit 3")
    put(programs, "waits", "while :; do :; done")
    put(programs, "floods", "while :; do echo 0123456789012345678901234567890123456789; done")
    assert ask(["says"]) == AskedProgram("says", "read", "NVIDIA\n")
    assert ask(["fails"]).state == "failed"
    assert ask(["waits"], seconds=0.3) == AskedProgram("waits", "timeout")
    flood = ask(["floods"], seconds=60)
    assert flood.state == "read" and len(flood.output) == MAX_BYTES
    assert ask(["nosuch"]) == AskedProgram("nosuch", "missing")


def test_an_argument_is_no_shell(programs: Path) -> None:
    put(programs, "says", 'echo "$1"')
    assert ask(["says", "$(echo x); echo y"]).output == "$(echo x); echo y\n"


def test_the_shell_asks_this_machine() -> None:
    shown = run("here", "--json")
    machine = json.loads(shown.stdout)
    assert shown.returncode == 0
    assert "GB RAM" in machine["machine"]
    assert {"name": "/proc/meminfo", "state": "read"} in machine["asked"]
    sized = run("size", "Qwen/Qwen3-8B", "--gpu", "here", "--offline", "--json")
    assert "This machine: " in sized.stderr
    assert "report_read" in {note["code"] for note in json.loads(sized.stdout)["notes"]}
