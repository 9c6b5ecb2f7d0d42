"""Documents: what they name exists; contract, skill, front matter and examples are of today.

tests/test_snippets.py runs their commands.
"""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpusizer.core import errors
from gpusizer.ui.server.http_status import STATUSES
from gpusizer.usecases.requests.request_docs import described_fields
from gpusizer.usecases.use_cases import USE_CASES
from scripts.write_contract import PAGE, updated

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in (
        "*.md",
        "docs/*.md",
        "bench/*.md",
        "data/*.md",
        "data/measurements/*.md",
        "skills/*/*.md",
    )
    for path in ROOT.glob(pattern)
)
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)")


def anchors(document: Path) -> set[str]:
    """Anchors of a document's headings, as GitHub and the Hub make them."""
    titles = re.findall(r"^#+ (.+)$", document.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    document = ROOT / name
    for path, anchor in _LINK.findall(document.read_text("utf-8")):
        target = document.parent / path if path else document
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


TEXT = PAGE.read_text("utf-8")


def test_the_page_is_current() -> None:
    """`python -m scripts.write_contract` would change nothing."""
    assert updated(TEXT) == TEXT


@pytest.mark.parametrize("name", USE_CASES)
def test_every_field_has_a_meaning_and_a_row(name: str) -> None:
    for field in described_fields(USE_CASES[name].request).values():
        assert field.meaning and not field.meaning.endswith("."), field.name
        assert f"| `{field.name}` |" in TEXT
        if field.kind in (int, float):
            assert field.bounds_text, f"{field.name} of {name} has no bounds"


def test_every_error_code_is_there() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type)]
    codes = {kind.code for kind in classes if issubclass(kind, errors.GpusizerError)}
    named_codes = set(re.findall(r"`(\w+)`", TEXT.partition("Codes:")[2].partition("##")[0]))
    assert named_codes == codes


def test_every_status_is_there() -> None:
    rows = re.findall(r"^\| (\d{3}) \| (.+) \|$", TEXT, re.M)
    statuses = {code: int(status) for status, codes in rows for code in re.findall(r"\w+", codes)}
    assert statuses == {code: int(status) for code, status in STATUSES.items()}


HEAD: dict[str, Any] = yaml.safe_load((ROOT / "README.md").read_text("utf-8").split("---\n")[1])
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def test_a_space_runs_what_is_tested() -> None:
    pinned = re.search(
        r"^gradio\[.*\]==(.+)$", (ROOT / "requirements.txt").read_text("utf-8"), re.M
    )
    assert pinned is not None and HEAD["sdk_version"] == pinned[1]
    assert HEAD["app_file"] == "app.py" and (ROOT / "app.py").is_file()
    assert HEAD["suggested_hardware"] == "cpu-basic"


SKILL = (ROOT / "skills" / "gpusizer" / "SKILL.md").read_text("utf-8")


PACKAGES = ("gpusizer", "scrapers", "bench", "scripts")
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_right(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0
    assert results.failed == 0
