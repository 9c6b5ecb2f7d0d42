"""The shell prints serving plans, own prices, minutes to load, and draft models."""

from __future__ import annotations

import json

from tests.cli.test_cli import run

TARGET = ("--requests-per-second", "5", "--prompt-tokens", "1000", "--answer-tokens", "300")


def test_a_plan_is_a_table_and_a_document() -> None:
    asked = ("size", "Qwen/Qwen3-8B", "--offline", "--quant", "native", "--top", "3", *TARGET)
    result = run(*asked, "--ttft-ms", "500", "--details")
    assert result.returncode == 0
    title = "Cheapest GPUs for 5 requests a second, 1,000 tokens of prompt and 300 of answer"
    assert f"{title}, first token within 500 ms on average" in result.stdout
    assert "(M/D/1)" in result.stdout
    plan = json.loads(run(*asked, "--json").stdout)["serving_plan"]
    assert len(plan["rows"]) == 3 and plan["target"]["ttft_ms"] is None


def test_a_draft_model() -> None:
    asked = ("size", "Qwen/Qwen3-8B", "--offline", "--quant", "native", "--gpu", "h100 sxm")
    draft = ("--draft-model", "Qwen/Qwen3-0.6B", "--acceptance-rate", "0.7")
    shown = run(*asked, *draft, "--concurrency", "8", "--details").stdout
    assert "Of this for the draft model Qwen/Qwen3-0.6B (draft_model), in GiB" in shown
    assert "if 70% of 3 guessed tokens are accepted: 2.53 tokens a round" in shown
    assert "for 8 users" in shown
    missing = run(*asked, "--draft-model", "nobody/nothing", "--json")
    assert json.loads(missing.stdout)["error"]["repo_id"] == "nobody/nothing"
