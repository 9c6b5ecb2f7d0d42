"""Serving plans and draft models by Gradio's client and over plain HTTP."""

from __future__ import annotations

from typing import Any

from gradio_client import Client

from gpusizer.ui.http_status import STATUSES
from tests.api.plain_http import ask
from tests.api.transports import call

OPTIONS: dict[str, Any] = {
    "requests_per_second": 5,
    "prompt_tokens": 1000,
    "answer_tokens": 300,
    "ttft_ms": 500,
    "draft_model": "Qwen/Qwen3-0.6B",
    "acceptance_rate": 0.7,
    "engine": "vllm",
}


def test_every_way_gives_one_plan(client: Client, app_url: str) -> None:
    asked = {"model": "Qwen/Qwen3-8B", "quant": "native", "gpu": "h100 sxm"}
    answer = call(client, "/size_model", **asked, options=OPTIONS)
    assert answer["serving_plan"]["rows"][0]["gpu"] == "h100-sxm-80gb"
    assert answer["draft_model"]["repo_id"] == "Qwen/Qwen3-0.6B"
    assert answer["ranking"][0]["speculation"]["acceptance_rate"] == 0.7
    assert ask(app_url, "size", {**asked, **OPTIONS}).json() == answer


def test_a_draft_that_is_missing_is_named(app_url: str) -> None:
    asked = {"model": "Qwen/Qwen3-8B", "draft_model": "nobody/nothing"}
    answer = ask(app_url, "size", asked)
    error = answer.json()["error"]
    assert error["repo_id"] == "nobody/nothing"
    assert answer.status_code == STATUSES[error["code"]]
