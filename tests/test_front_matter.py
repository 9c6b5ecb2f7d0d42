"""The front matter of README.md, which sets up a Space, and what the project says of itself."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from gpusizer import __version__
from gpusizer.core.paths import SNAPSHOTS_DIR
from scrapers.embedded import EmbeddedSnapshots

ROOT = Path(__file__).resolve().parents[1]
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
