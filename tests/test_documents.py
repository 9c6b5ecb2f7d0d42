"""Documents: what they name exists; contract, skill, front matter and examples are of today.

tests/test_snippets.py runs their commands.
"""

from __future__ import annotations

import doctest
import importlib
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpusizer import __version__
from gpusizer.cli.command_list import COMMANDS
from gpusizer.core import errors
from gpusizer.core.paths import SNAPSHOTS_DIR
from gpusizer.fit.verdict import Verdict
from gpusizer.ui.page.forms import FORMS
from gpusizer.ui.page.handlers import PARTS
from gpusizer.ui.page.page_scripts import TAB_ID
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.server.endpoints import PUBLIC
from gpusizer.ui.server.http_status import STATUSES
from gpusizer.usecases.requests.request_docs import described_fields
from gpusizer.usecases.use_cases import USE_CASES
from scrapers.cache.stored import EmbeddedSnapshots
from scripts.write_contract import PAGE, updated
from tests.snippets import snippets

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


def test_a_readme_is_one_page() -> None:
    for name in ("README.md", "README.zh.md", "README.pt.md"):
        assert len((ROOT / name).read_text("utf-8").splitlines()) < 120, name


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


def test_every_endpoint_is_there() -> None:
    assert {endpoint.name for endpoint in PUBLIC} <= set(re.findall(r"`/(\w+)`", TEXT))
    assert {endpoint.command for endpoint in PUBLIC} <= set(re.findall(r"/v1/([\w-]+)`", TEXT))


HEAD: dict[str, Any] = yaml.safe_load((ROOT / "README.md").read_text("utf-8").split("---\n")[1])
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_a_space_runs_what_is_tested() -> None:
    pinned = re.search(
        r"^gradio\[.*\]==(.+)$", (ROOT / "requirements.txt").read_text("utf-8"), re.M
    )
    assert pinned is not None and HEAD["sdk_version"] == pinned[1]
    assert HEAD["app_file"] == "app.py" and (ROOT / "app.py").is_file()
    assert HEAD["suggested_hardware"] == "cpu-basic"


def test_the_hub_accepts_what_the_space_says_of_itself() -> None:
    """By the Hub's reference of a Space's configuration, huggingface.co/docs/hub."""
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {HEAD["colorFrom"], HEAD["colorTo"]} <= colours
    assert (HEAD["sdk"], HEAD["title"]) == ("gradio", PROJECT["name"])
    assert len(HEAD["short_description"]) <= 60
    assert {"gpu", "vram", "mcp-server"} <= set(HEAD["tags"])
    assert HEAD["hf_oauth"] is True and HEAD["hf_oauth_scopes"] == ["gated-repos"]


def test_models_of_the_space_are_embedded() -> None:
    assert set(HEAD["models"]) <= set(EmbeddedSnapshots(SNAPSHOTS_DIR).ids())


def test_the_licence_is_the_same_everywhere() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text("utf-8")[:200]
    assert HEAD["license"] == PROJECT["license"].lower() == CITATION["license"].lower()


def test_the_citation_is_of_this_version() -> None:
    assert CITATION["version"] == __version__
    assert CITATION["title"].startswith(PROJECT["name"])


SKILL = (ROOT / "skills" / "gpusizer" / "SKILL.md").read_text("utf-8")
EMBEDDING = (ROOT / "docs" / "embedding.md").read_text("utf-8")


def test_the_skill_has_a_head() -> None:
    head = yaml.safe_load(SKILL.split("---\n")[1])
    assert head["name"] == "gpusizer" and 50 < len(head["description"]) <= 1024


def test_the_skill_names_every_verdict() -> None:
    """Those of `ranking[].verdict`, in the words of the JSON."""
    (line,) = re.findall(r"^- `ranking\[\]\.verdict`: (.+?)\. ", SKILL, re.M | re.S)
    assert {verdict.value for verdict in Verdict} == set(re.findall(r"`(\w+)`", line))


def test_the_skill_shows_most_commands() -> None:
    """Each for one JSON document."""
    block = [snippet.text for snippet in snippets("skills/gpusizer/SKILL.md") if snippet.in_block]
    assert all(text.endswith(" --json") for text in block)
    assert set(COMMANDS) - {text.split()[1] for text in block} == {"batch", "serve"}


def test_parameters_of_an_embedded_page_are_those_of_its_address() -> None:
    rows = re.findall(r"^\| (`.+?`) \|", EMBEDDING.split("## A badge")[0], re.M)
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    own = {*PageState.__slots__} - {"stated"}
    assert names - {"embed", "lang", "__theme"} == own | {"gpu"}
    (row,) = re.findall(r"^\| any other field of the form \| (.+) \|$", EMBEDDING, re.M)
    assert set(re.findall(r"`(\w+)`", row)) < set(FORMS["size"].names)


def test_tabs_that_an_address_opens_are_those_of_the_page() -> None:
    (row,) = re.findall(r"^\| `tab` \| (.+) \|$", EMBEDDING, re.M)
    page = (ROOT / "gpusizer" / "ui" / "page" / "blocks.py").read_text("utf-8")
    assert re.findall(r"`(\w+)`", row) == [*re.findall(r'_tab\("(\w+)"', page), *PARTS]
    assert TAB_ID == "gs-tab-"


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
