"""Where the files that ship with gpusizer lie (`data/README.md` lists them), and their version."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

DATA_DIR = Path(__file__).resolve().parents[2] / "data"
"""Tables that people edit."""

GENERATED_DIR = DATA_DIR / "generated"
"""Folder of files that commands write and that are not edited by hand."""

SNAPSHOTS_DIR = GENERATED_DIR / "models"
"""Snapshots of well-known models, embedded so that they need no Hub."""


@cache
def data_version() -> str:
    """A hash of the files in `data/`, read once for a process: 12 hexadecimal digits."""
    digest = sha256()
    for path in sorted(path for path in DATA_DIR.rglob("*") if path.is_file()):
        digest.update(path.relative_to(DATA_DIR).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
