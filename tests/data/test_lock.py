"""`requirements.lock` agrees with the pins of `requirements*.txt` and names no address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text("utf-8")
_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(?: ; ([^\\]+?))?(?: \\)?$")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*])?==([^\s;]+)")


def locked() -> dict[str, dict[str, str]]:
    """Versions of each package, with the marker under which each is installed."""
    versions: dict[str, dict[str, str]] = {}
    for line in LOCK.splitlines():
        entry = _ENTRY.match(line)
        if entry:
            name = canonicalize_name(entry[1])
            versions.setdefault(name, {})[entry[2]] = entry[3] or ""
    return versions


def pins(file: str) -> dict[str, str]:
    """Pinned versions by package; every line of a requirements file is a pin or an include."""
    lines = [line for line in (ROOT / file).read_text("utf-8").splitlines() if line.strip()]
    found = [_PIN.match(line) for line in lines if not line.startswith("-r ")]
    assert all(found), file
    return {canonicalize_name(pin[1]): pin[2] for pin in found if pin}


def test_every_package_of_the_application_is_locked_at_its_pin() -> None:
    versions = locked()
    wanted = pins("requirements.txt")
    assert len(wanted) >= 10
    assert {name: [version] for name, version in wanted.items()} == {
        name: list(versions.get(name, {})) for name in wanted
    }


@pytest.mark.parametrize("file", ["requirements-dev.txt", "requirements-measure.txt"])
def test_other_requirements_do_not_contradict_it(file: str) -> None:
    versions = locked()
    assert {
        name: version
        for name, version in pins(file).items()
        if name in versions and version not in versions[name]
    } == {}


def test_every_package_has_hashes() -> None:
    blocks = re.split(r"\n(?=[A-Za-z0-9])", LOCK)[1:]
    assert len(blocks) >= len(locked()) > 50
    for block in blocks:
        name = block.partition("==")[0]
        assert _ENTRY.match(block.splitlines()[0]), name
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), name


def test_it_names_no_index_and_no_path() -> None:
    assert "://" not in LOCK
    assert not re.search(r"^\s*(-|.* @ )(?!-hash)", LOCK, re.M)


def test_markers_can_be_read() -> None:
    markers = [marker for of in locked().values() for marker in of.values() if marker]
    assert markers
    for marker in markers:
        Marker(marker)
