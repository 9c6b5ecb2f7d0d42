"""The agent's skill and the page on embedding name what there is."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import yaml

from gpusizer.cli.arguments import build_parser
from gpusizer.fit.verdict import Verdict
from gpusizer.ui.page_scripts import TAB_ID
from gpusizer.ui.page_state import PageState
from tests.each import each

ROOT = Path(__file__).resolve().parents[1]
SKILL = (ROOT / "skills" / "gpusizer" / "SKILL.md").read_text("utf-8")
EMBEDDING = (ROOT / "docs" / "embedding.md").read_text("utf-8")
LINES = re.findall(r"^gpusizer (?!COMMAND)(.+?)(?: +#.*)?$", SKILL, re.M)


def test_the_skill_has_a_head() -> None:
    head = yaml.safe_load(SKILL.split("---\n")[1])
    assert head["name"] == "gpusizer" and 50 < len(head["description"]) <= 1024


@each("line", LINES)
def test_the_skills_commands_are_understood(line: str) -> None:
    words = shlex.split(line)
    arguments = build_parser(words).parse_args(words)
    assert arguments.command == words[0] and arguments.json


def test_the_skill_names_every_verdict() -> None:
    """Those of `ranking[].verdict`, in the words of the JSON."""
    (line,) = re.findall(r"^- `ranking\[\]\.verdict`: (.+?)\. ", SKILL, re.M | re.S)
    assert {verdict.value for verdict in Verdict} == set(re.findall(r"`(\w+)`", line))


def test_the_skill_shows_most_commands() -> None:
    assert len({line.split()[0] for line in LINES}) == len(LINES) - 1 >= 7


def test_parameters_of_an_embedded_page_are_those_of_its_address() -> None:
    rows = re.findall(r"^\| (`.+?`) \|", EMBEDDING.split("## A badge")[0], re.M)
    names = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert names - {"embed", "__theme"} == set(PageState.__slots__)


def test_tabs_that_an_address_opens_are_those_of_the_page() -> None:
    (row,) = re.findall(r"^\| `tab` \| (.+) \|$", EMBEDDING, re.M)
    page = (ROOT / "gpusizer" / "ui" / "page.py").read_text("utf-8")
    assert re.findall(r"`(\w+)`", row) == re.findall(r'_tab\("(\w+)"', page)
    assert TAB_ID == "gs-tab-"
