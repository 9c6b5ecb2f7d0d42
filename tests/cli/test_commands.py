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

TARGET = ("--requests-per-second", "5", "--prompt-tokens", "1000", "--answer-tokens", "300")


def test_a_plan_is_a_table_and_a_document() -> None:
    asked = ("size", "Qwen/Qwen3-8B", "--offline", "--quant", "native", "--top", "3", *TARGET)
    result = run(*asked, "--ttft-ms", "500", "--details")
    assert result.returncode == 0
    told = " ".join(result.stdout.split())
    target = ("requests per second 5", "prompt tokens 1000", "answer tokens 300", "ttft ms 500")
    for stated in (*target, "95 % of them in a simulation"):
        assert stated in told, stated
    plan = json.loads(run(*asked, "--json").stdout)["serving_plan"]
    assert len(plan["rows"]) == 3 and plan["target"]["ttft_ms"] is None


def test_a_draft_model() -> None:
    asked = ("size", "Qwen/Qwen3-8B", "--offline", "--quant", "native", "--gpu", "h100 sxm")
    draft = ("--draft-model", "Qwen/Qwen3-0.6B", "--acceptance-rate", "0.7")
    shown = run(*asked, *draft, "--concurrency", "8", "--details").stdout
    told = " ".join(shown.split())
    assert "draft model method draft_model repo id Qwen/Qwen3-0.6B" in told
    assert "draft tokens 3" in told and "acceptance rate 0.7" in told
    assert "tokens per round 2.53" in told
    missing = run(*asked, "--draft-model", "nobody/nothing", "--json")
    assert json.loads(missing.stdout)["error"]["repo_id"] == "nobody/nothing"


def test_one_row_for_each_family() -> None:
    result = run("models-for", "4090", "--top", "4", "--offline", "--details")
    assert result.returncode == 0
    told = " ".join(result.stdout.split())
    assert "considered 257 found 193 families 151" in told
    assert "order what fits, or makes 10 tok/s with a part in system memory; then tight" in told
    assert "live no as of 2026-10-05" in told
    assert "Qwen/Qwen3.6-35B-A3B-FP8" not in result.stdout
    listed = run("models-for", "4090", "--top", "4", "--offline", "--copies").stdout
    assert "Qwen/Qwen3.6-35B-A3B-FP8" in listed


def test_live_without_the_hub_says_so() -> None:
    result = run("models-for", "4090", "--top", "1", "--offline", "--live", "true", "--json")
    answer = json.loads(result.stdout)
    assert (result.returncode, answer["use"]["live"]) == (0, False)
    assert [note["code"] for note in answer["notes"]] == ["use_offline", "models_left_out"]
    assert answer["trending"] == []


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


def test_help_tells_of_what_moves_memory_of_a_training_most() -> None:
    """Lengths that vary, and the release of a framework: up to half of the memory each."""
    usual = run("train", "--help").stdout
    assert "--packed" in usual and "--framework-version" in usual


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


def test_text(folder: str) -> None:
    shown = run("size", folder, "--details").stdout
    assert "It needs 80 GB of VRAM." in shown and "needs_less" in shown


def test_no_card(folder: str) -> None:
    assert "model_card" not in json.loads(run("size", folder, "--json", "--no-card").stdout)
    assert "It needs 80 GB of VRAM." not in run("size", folder, "--no-card", "--details").stdout


def test_as_card(folder: str) -> None:
    report = json.loads(run("size", folder, "--json", "--as-card", "true").stdout)
    assert report["workload"]["tensor_parallel"] == 2
    assert report["workload"]["context"] == 1024


OWN = "hf_users_own"


def ask(hub: HubEmulator, folder: Path, *arguments: str, **environment: str) -> dict[str, object]:
    """The JSON that `gpusizer size org/gated` prints."""
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
