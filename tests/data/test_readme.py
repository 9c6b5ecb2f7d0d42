"""`data/README.md` names every file of the folder once, under the heading it belongs to."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpusizer.core.paths import DATA_DIR, GENERATED_DIR

EDITED, WRITTEN = (DATA_DIR / "README.md").read_text("utf-8").split("\n## ")[1:]
DOCUMENTS = {"README.md", "SOURCES.md", GENERATED_DIR.name}


@pytest.mark.parametrize(("section", "folder"), [(EDITED, DATA_DIR), (WRITTEN, GENERATED_DIR)])
def test_every_file_is_named_once(section: str, folder: Path) -> None:
    first_cells = re.findall(r"^\| (`.*?) \|", section, re.M)
    names = [name.rstrip("/") for cell in first_cells for name in re.findall(r"`(.+?)`", cell)]
    assert sorted(names) == sorted(
        path.name for path in folder.iterdir() if path.name not in DOCUMENTS
    )


def test_every_generated_file_names_its_command() -> None:
    rows = [line for line in WRITTEN.splitlines() if line.startswith("| `")]
    assert len(rows) >= 7
    assert all(re.search(r"\| `python -m [\w.]+", row) for row in rows)
