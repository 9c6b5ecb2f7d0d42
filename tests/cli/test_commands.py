"""Commands of the shell: plans, models for a machine, summaries, model cards, tokens."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gpusizer.cli.arguments import USUAL
from tests.cli.test_cli import ROOT, checkpoint, run
from tests.hub_emulator import HubEmulator, llama_repo


def test_licences_in_both_spellings() -> None:
    asked = ("models-for", "4090", "--offline", "--json", "--top", "3")
    british, american = (run(*asked, f"--licen{letter}e", "mit") for letter in "cs")
    assert british.stdout == american.stdout
    assert {row["license"] for row in json.loads(british.stdout)["models"]} == {"mit"}
    line = json.dumps({"task": "models-for", "gpu": "4090", "licence": "mit", "top": 3})
    batch = json.loads(run("batch", "--offline", stdin=line).stdout)
    assert batch["models"] == json.loads(american.stdout)["models"]


@pytest.mark.parametrize("command", USUAL)
def test_help_tells_of_twenty_options(command: str) -> None:
    usual, every = (run(command, name).stdout for name in ("--help", "--help-all"))
    options = [set(re.findall(r"^  (?:-h, )?(--[a-z-]+)", shown, re.M)) for shown in (usual, every)]
    assert options[0] < options[1]
    assert len(options[0] - {"--help", "--help-all"}) <= 21
    assert usual.rstrip().splitlines()[-1] == "more: --help-all"
    assert "more:" not in every


CARD = """\
It needs 80 GB of VRAM.

```
vllm serve name --tensor-parallel-size 2 --max-model-len 1024
```
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    name = checkpoint(tmp_path)
    (tmp_path / "README.md").write_text(CARD)
    return name


def test_json(folder: str) -> None:
    report = json.loads(run("size", folder, "--json").stdout)
    card = report["model_card"]
    assert card["url"] == ""
    assert [item["verdict"] for item in card["statements"]] == ["needs_less", "not_comparable"]


def test_no_card(folder: str) -> None:
    assert "model_card" not in json.loads(run("size", folder, "--json", "--no-card").stdout)
    assert "It needs 80 GB of VRAM." not in run("size", folder, "--no-card", "--details").stdout


def test_as_card(folder: str) -> None:
    report = json.loads(run("size", folder, "--json", "--as-card", "true").stdout)
    assert report["workload"]["tensor_parallel"] == 2
    assert report["workload"]["context"] == 1024


OWN = "hf_users_own"


def ask(hub: HubEmulator, folder: Path, *arguments: str, **environment: str) -> dict[str, object]:
    """Return the JSON that `gpusizer size org/gated` prints."""
    places = {
        "HF_ENDPOINT": hub.endpoint,
        "GPUSIZER_CDN_ORIGINS": hub.cdn_endpoint,
        "GPUSIZER_CACHE_DIR": str(folder / "cache"),
        "HF_HOME": str(folder),
    }
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("HF_", "HUGGING"))}
    printed = subprocess.run(
        [sys.executable, "-m", "gpusizer", "size", "org/gated", "--json", *arguments],
        cwd=ROOT,
        env=inherited | places | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, object] = json.loads(printed.stdout)
    return answer


def test_a_gated_model_is_sized_with_the_users_own_token(tmp_path: Path) -> None:
    with HubEmulator([llama_repo("org/gated", layers=4, gated="manual")]) as hub:
        hub.options.valid_tokens = {OWN: {"org/gated"}}
        whole = ask(hub, tmp_path, "--token", OWN)
        cache = whole["estimates"]
        hub.reset_log()
        (tmp_path / "token").write_text(OWN)
        assert ask(hub, tmp_path)["estimates"] == cache, "the saved login"
        assert {request.headers.get("authorization") for request in hub.requests_to("hub")} == {
            f"Bearer {OWN}"
        }
        totals = ask(hub, tmp_path, HF_HUB_DISABLE_IMPLICIT_TOKEN="1")
        assert totals["estimates"] != cache, "nothing that the token opened is kept for another"
