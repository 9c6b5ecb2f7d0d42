"""Run a command in an environment of its own, which is made on first use.

    python3 scripts/environment.py app requirements.txt python app.py

The environments of the app, the shell and the tests are the folders `app`, `shell` and `tests` of
`.venv`, or of $GPUSIZER_VENV. One is made again if its requirement files or the interpreter
changed, or after an interrupted start, so that it never holds packages that its files do not name.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if os.name == "nt":
    import msvcrt
else:
    import fcntl

ROOT = Path(__file__).resolve().parents[1]
# Versions of Python for which every pinned package has a wheel.
OLDEST, NEWEST = (3, 11), (3, 14)
# Variables by which an environment would use packages of another.
_FROM_OTHERS = ("PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE", "__PYVENV_LAUNCHER__")


class CannotPrepare(Exception):
    """Raised if the environment cannot be made; the text is the reason, in a sentence."""


def main(name: str, requirements: str, *command: str) -> int:
    """Make the environment `name` if it is not up to date, then run the command in it.

    Returns 1 without an environment.
    """
    folder = Path(os.environ.get("GPUSIZER_VENV") or ROOT / ".venv").absolute() / name
    try:
        refuse_other_pythons(sys.version_info[:2])
        prepare(folder, ROOT / requirements)
    except CannotPrepare as error:
        print(f"gpusizer: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("gpusizer: interrupted; the next start begins anew", file=sys.stderr)
        return 130
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    environment = {key: value for key, value in os.environ.items() if key not in _FROM_OTHERS}
    environment["VIRTUAL_ENV"] = str(folder)
    environment["PATH"] = f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}"
    program = shutil.which(command[0], path=environment["PATH"]) or command[0]
    # On POSIX the command takes the place of this process.
    if os.name != "nt":
        # Signals reach the command, and no orphan keeps its port if this process is killed.
        os.execve(program, [program, *command[1:]], environment)
    try:
        return subprocess.run([program, *command[1:]], env=environment).returncode
    except KeyboardInterrupt:
        return 130


def refuse_other_pythons(version: tuple[int, ...]) -> None:
    """Raise CannotPrepare for an interpreter without wheels of the pinned packages."""
    if not OLDEST <= version <= NEWEST:
        oldest, newest, this = (".".join(map(str, one)) for one in (OLDEST, NEWEST, version))
        raise CannotPrepare(
            f"it needs Python {oldest} to {newest}, and this is {this}: "
            f"name another one, as in PYTHON=python{newest} ./scripts/app"
        )


def prepare(folder: Path, requirements: Path) -> None:
    """Make the environment again, unless it is up to date. Raises CannotPrepare."""
    stamp = folder / "installed"
    expected = fingerprint(requirements)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with only_one(folder.with_suffix(".lock")):
            if stamp.is_file() and stamp.read_text(encoding="utf-8") == expected:
                return
            print(f"gpusizer: making the environment {folder} …", file=sys.stderr)
            make(folder, requirements)
            stamp.write_text(expected, encoding="utf-8")
    except OSError as error:
        raise CannotPrepare(
            f"{folder} cannot be written ({error.strerror}): "
            "set GPUSIZER_VENV to a folder that can be"
        ) from error


def make(folder: Path, requirements: Path) -> None:
    """Make an environment and install its requirements. Raises CannotPrepare, OSError."""
    shutil.rmtree(folder, ignore_errors=True)
    # The base interpreter, so that the environment of this process lends nothing to the new one.
    try:
        venv.create(folder, symlinks=os.name != "nt", with_pip=True)
    except subprocess.CalledProcessError as error:
        raise CannotPrepare(
            "this Python cannot make virtual environments (on Debian: apt install python3-venv)"
        ) from error
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    pip = [str(python), "-I", "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    if subprocess.run([*pip, "-r", str(requirements)]).returncode:
        raise CannotPrepare(
            f"the packages of {requirements.name} cannot be installed: "
            "the first start needs a network that reaches PyPI (pip says more above)"
        )
    # `python -m gpusizer` finds the checkout from any folder.
    (packages,) = folder.glob("Lib/site-packages" if os.name == "nt" else "lib/*/site-packages")
    (packages / "checkout.pth").write_text(f"{ROOT}\n", encoding="utf-8")


@contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Wait until no other process makes the same environment."""
    with lock.open("a") as file:
        if os.name == "nt":
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def fingerprint(requirements: Path) -> str:
    """Hash the version of the interpreter and every requirement file that is included."""
    digest = hashlib.sha256(sys.version.encode())
    for path in included(requirements):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def included(requirements: Path) -> list[Path]:
    """Return the file and those that it includes with `-r`."""
    paths = [requirements]
    for line in requirements.read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            paths += included(requirements.parent / line[3:].strip())
    return paths


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
