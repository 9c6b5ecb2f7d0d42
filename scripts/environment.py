"""Run a command in the project's own virtual environment, which is created on first use.

    python3 scripts/environment.py requirements.txt python app.py

The environment lives in `.venv` (or $GPUSIZER_VENV). It is brought up to date when the
requirement files change, and left alone otherwise. Needs only Python 3.11 or newer.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MINIMUM = (3, 11)


def main(requirements: str, *command: str) -> int:
    """Create or update the environment for a requirements file, then run the command in it."""
    if sys.version_info < MINIMUM:
        version = ".".join(map(str, sys.version_info[:3]))
        print(f"gpusizer needs Python 3.11 or newer; this is {version}", file=sys.stderr)
        return 1
    folder = Path(os.environ.get("GPUSIZER_VENV") or ROOT / ".venv").absolute()
    prepare(folder, ROOT / requirements)
    binaries = folder / ("Scripts" if os.name == "nt" else "bin")
    environment = {
        **os.environ,
        "VIRTUAL_ENV": str(folder),
        "PATH": f"{binaries}{os.pathsep}{os.environ.get('PATH', '')}",
    }
    environment.pop("PYTHONHOME", None)
    program = shutil.which(command[0], path=environment["PATH"]) or command[0]
    return subprocess.run([program, *command[1:]], env=environment).returncode


def prepare(folder: Path, requirements: Path) -> None:
    """Create or update the environment; do nothing when it is up to date."""
    stamp = folder / f"{requirements.name}.installed"
    expected = fingerprint(requirements)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == expected:
        return
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.is_file():
        print(f"Creating {folder} …", file=sys.stderr)
        venv.create(folder, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    print(f"Installing {requirements.name} …", file=sys.stderr)
    subprocess.run([*pip, "-r", str(requirements)], check=True)
    stamp.write_text(expected, encoding="utf-8")


def fingerprint(requirements: Path) -> str:
    """Hash the version of the interpreter and every requirements file that is included."""
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
