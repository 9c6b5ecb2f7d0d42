"""Paths of the files that ship with gpusizer (`data/README.md` lists them), and versions."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path

PACKAGE_DIR = Path(__file__).resolve().parents[1]  # Folder of the package `gpusizer`.


def find_folder(package: Path, name: str) -> Path:
    """Return a folder that ships: inside an installed package, or beside that of a checkout."""
    installed = package / name
    # A folder beside an installed package belongs to another package.
    return installed if installed.is_dir() else package.parent / name


DATA_DIR = find_folder(PACKAGE_DIR, "data")  # Tables that people edit.

DOCS_DIR = find_folder(PACKAGE_DIR, "docs")  # Documents; only `accuracy.md` ships.

# Folder of files that commands write and that are not edited by hand.
GENERATED_DIR = DATA_DIR / "generated"

# Snapshots of well-known models, embedded so that they need no Hub.
SNAPSHOTS_DIR = GENERATED_DIR / "models"


@cache
def data_version() -> str:
    """Return a hash of the files in `data/`: 12 hexadecimal digits, read once for a process."""
    return _hash_of(DATA_DIR, "**/*")


@cache
def code_version() -> str:
    """Return a hash of all modules and words: 12 hexadecimal digits, read once for a process."""
    # Another version may answer the same request about the same commit differently.
    return _hash_of(
        PACKAGE_DIR.parent, "gpusizer/**/*.py", "gpusizer/**/*.toml", "scrapers/**/*.py"
    )


def _hash_of(folder: Path, *patterns: str) -> str:
    digest = sha256()
    paths = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    for path in sorted(paths):
        digest.update(path.relative_to(folder).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
