"""Files that others read: the lock, addresses of mirrors, SECURITY.md, the README of the data."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from gpusizer.core.paths import DATA_DIR, SNAPSHOTS_DIR
from gpusizer.model.profile import build_profile
from scrapers.cache.stored import EmbeddedSnapshots
from scrapers.repository.completion import mirrors_of
from scripts.requirements import requirement_files

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
    lines = (ROOT / file).read_text("utf-8").splitlines()
    found = [_PIN.match(line) for line in lines if line and not line.startswith(("-r ", "#"))]
    assert all(found), file
    return {canonicalize_name(pin[1]): pin[2] for pin in found if pin}


def test_every_package_of_the_application_is_locked_at_its_pin() -> None:
    versions = locked()
    wanted = pins("requirements.txt")
    assert len(wanted) >= 10
    assert {name: [version] for name, version in wanted.items()} == {
        name: list(versions.get(name, {})) for name in wanted
    }


def test_requirement_files_follow_from_the_project() -> None:
    """`python -m scripts.requirements` would change nothing."""
    for name, text in requirement_files().items():
        assert (ROOT / name).read_text("utf-8") == text


def test_other_requirements_do_not_contradict_it() -> None:
    versions = locked()
    assert {
        name: version
        for name, version in pins("requirements-dev.txt").items()
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


EDITED, WRITTEN = (DATA_DIR / "README.md").read_text("utf-8").split("\n## ")[1:]


ROWS = list(csv.DictReader((DATA_DIR / "mirrors.csv").read_text("utf-8").splitlines()))


def test_lookup_ignores_case_and_keeps_the_order() -> None:
    expected = tuple(r["mirror"] for r in ROWS if r["repo"] == "meta-llama/Llama-2-7b-hf")
    assert len(expected) > 1
    assert mirrors_of("Meta-Llama/llama-2-7B-hf") == expected
    assert mirrors_of("org/unknown") == ()


SECURITY = (ROOT / "SECURITY.md").read_text("utf-8")


def test_files_that_are_named_exist() -> None:
    names = re.findall(
        r"`((?:tests|gpusizer|scrapers|bench)/[\w/]+\.py|requirements\.lock)`", SECURITY
    )
    assert len(names) > 25
    assert [name for name in names if not (ROOT / name).is_file()] == []


# The truth set of huggingface.js, packages/hub/src/lib/parse-safetensors-metadata.spec.ts.
COUNTS = {
    "openai/gpt-oss-120b": 116_829_156_672,
    "openai/gpt-oss-20b": 20_914_757_184,
    "unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit": 8_030_261_248,
    "RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16": 70_553_706_496,
    "bigscience/bloom": 176_247_271_424,
}


@pytest.mark.parametrize("repo_id", COUNTS)
def test_published_counts(repo_id: str) -> None:
    snapshot = EmbeddedSnapshots(SNAPSHOTS_DIR).get(repo_id)
    assert snapshot is not None
    assert build_profile(snapshot).parameters == COUNTS[repo_id]
