"""Environments of `scripts/environment.py`: made once, made anew, and apart from each other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts import environment
from scripts.environment import ROOT, CannotPrepare, make, prepare, refuse_other_pythons


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that `prepare` makes, without making them."""
    folders: list[Path] = []

    def record(folder: Path, requirements: Path) -> None:
        folder.mkdir(exist_ok=True)
        folders.append(folder)

    monkeypatch.setattr(environment, "make", record)
    return folders


def test_it_is_made_once_for_the_same_files(tmp_path: Path, made: list[Path]) -> None:
    requirements, base = tmp_path / "requirements.txt", tmp_path / "base.txt"
    base.write_text("one==1\n")
    requirements.write_text("-r base.txt\n")
    folder = tmp_path / "venv" / "app"
    for _ in range(2):
        prepare(folder, requirements)
    assert made == [folder]
    base.write_text("one==2\n")
    prepare(folder, requirements)
    assert made == [folder, folder]


def test_an_interrupted_start_is_made_anew(
    tmp_path: Path, made: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("one==1\n")
    folder = tmp_path / "app"

    def interrupt(folder: Path, requirements: Path) -> None:
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(environment, "make", interrupt)
        with pytest.raises(KeyboardInterrupt):
            prepare(folder, requirements)
    prepare(folder, requirements)
    assert made == [folder]


@pytest.mark.parametrize("version", [(3, 10), (3, 15), (4, 0)])
def test_other_versions_of_python_are_refused_in_a_sentence(version: tuple[int, int]) -> None:
    with pytest.raises(CannotPrepare, match=r"3\.11 to 3\.14"):
        refuse_other_pythons(version)


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13), (3, 14)])
def test_versions_with_wheels_are_taken(version: tuple[int, int]) -> None:
    refuse_other_pythons(version)


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path, made: list[Path]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotPrepare, match="GPUSIZER_VENV"):
        prepare(tmp_path / "file" / "app", ROOT / "requirements.txt")


def test_packages_that_cannot_be_had_are_a_sentence(tmp_path: Path) -> None:
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("--no-index\nno-such-package==1\n")
    with pytest.raises(CannotPrepare, match="network"):
        make(tmp_path / "venv", requirements)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no exec")
def test_the_command_takes_the_place_of_the_program(tmp_path: Path) -> None:
    """It sees the checkout, no package of another environment, and the signals meant for it."""
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("")
    ask = (
        "import os, sys, importlib.util as u; print(os.getpid(), sys.prefix,"
        "u.find_spec('requests'), u.find_spec('gpusizer') is not None)"
    )
    process = subprocess.Popen(
        [sys.executable, ROOT / "scripts/environment.py", "x", requirements, "python", "-c", ask],
        cwd=tmp_path,
        env={**os.environ, "GPUSIZER_VENV": str(tmp_path / "v"), "PYTHONPATH": ":".join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    shown, _ = process.communicate()
    assert shown.split() == [str(process.pid), str(tmp_path / "v" / "x"), "None", "True"]
