"""Everything that SECURITY.md names as a guard or a test is there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SECURITY = (ROOT / "SECURITY.md").read_text("utf-8")
THREATS = ("SSRF", "tokens", "XSS", "CSV", "SVG", "Exhaustion", "Poisoned", "Dependencies")


def rows() -> list[list[str]]:
    """The cells of the table of threats."""
    lines = [line for line in SECURITY.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def test_every_threat_has_a_guard_and_a_test() -> None:
    for threat, guard, tests in rows():
        assert guard, threat
        assert re.search(r"`tests/[\w/]+\.py`", tests), threat


def test_files_that_are_named_exist() -> None:
    names = re.findall(
        r"`((?:tests|gpusizer|scrapers|bench)/[\w/]+\.py|requirements\.lock)`", SECURITY
    )
    assert len(names) > 25
    assert [name for name in names if not (ROOT / name).is_file()] == []


def test_the_threats_that_everybody_asks_about_are_there() -> None:
    table = " ".join(cell for row in rows() for cell in row)
    assert [threat for threat in THREATS if threat not in table] == []
