"""What continuous integration installs. Nothing is installed here."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


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


def _write_program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/bash\n{text}\n", "utf-8")
    path.chmod(0o755)
