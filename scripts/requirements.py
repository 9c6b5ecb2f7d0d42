"""Write the requirement files from `pyproject.toml`: `python -m scripts.requirements`."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_HEAD = "# Written by `python -m scripts.requirements` from pyproject.toml.\n"


def requirement_files() -> Mapping[str, str]:
    """Return the text of each requirement file by its name."""
    # A Space installs `requirements.txt` alone, so that this file includes no other.
    document = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = document["project"]["optional-dependencies"]
    lines = {
        "requirements.txt": extras["web"],
        "requirements-shell.txt": document["project"]["dependencies"],
        "requirements-redis.txt": ["-r requirements.txt", *extras["redis"]],
        "requirements-dev.txt": [
            "-r requirements-redis.txt",
            *document["dependency-groups"]["test"],
        ],
    }
    return {name: _HEAD + "".join(f"{line}\n" for line in of) for name, of in lines.items()}


def main() -> int:
    """Write every file."""
    for name, text in requirement_files().items():
        (ROOT / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
