"""Every public endpoint gives one answer, whichever way a program asks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gradio_client import Client

from tests.api.transports import call, through_curl, through_mcp
from tests.hostile import BROKEN_MODEL

Request = dict[str, Any]
MODEL = "openai/gpt-oss-20b"
"""Its caveats name files: what looks like a file of Gradio's is downloaded by Gradio's client."""

EXAMPLES: dict[str, Request] = {
    "/size_model": {
        "model": MODEL, "context": 4096, "quant": "native", "gpu": "4090, 2x3090", "top": 2,
        "options": {"engine": "vllm", "max_usd": 5000},
    },
    "/train_model": {"model": MODEL, "method": "lora", "top": 2, "options": {"lora_rank": 64}},
    "/list_gpus": {"query": "4090"},
    "/compare_gpus": {"gpus": ["4090", "2 × RTX 3090"], "model": MODEL, "quant": "native"},
    "/models_for_gpu": {"gpu": "4090", "models": [MODEL], "top": 1},
}  # fmt: skip
FAILURES: dict[str, Request] = {
    "/size_model": {"model": BROKEN_MODEL},
    "/train_model": {"model": "模型/é"},
    "/list_gpus": {"options": {"nonsense": 1}},
    "/compare_gpus": {"gpus": []},
    "/models_for_gpu": {"gpu": "not a card"},
}


def three_ways(client: Client, app_url: str, endpoint: str, asked: Request) -> Any:
    """The one answer. Nothing is stripped: no field depends on when or how it was asked for."""
    answer = call(client, endpoint, **asked)
    others = [way(app_url, endpoint, **asked) for way in (through_curl, through_mcp)]
    assert others == [answer, answer]
    # 1, 1.0 and True are equal in Python, and different JSON.
    assert {json.dumps(other) for other in others} == {json.dumps(answer)}
    return answer


def test_every_public_endpoint_has_its_examples(client: Client) -> None:
    offered = client.view_api(return_format="dict", print_info=False)
    assert set(offered["named_endpoints"]) == set(EXAMPLES) == set(FAILURES)
    assert not offered["unnamed_endpoints"]


@pytest.mark.parametrize("endpoint", EXAMPLES)
def test_answers_are_the_same_three_ways(client: Client, app_url: str, endpoint: str) -> None:
    answer = three_ways(client, app_url, endpoint, EXAMPLES[endpoint])
    assert answer["schema_version"] == 1
    assert "error" not in answer


@pytest.mark.parametrize("endpoint", FAILURES)
def test_failures_are_the_same_three_ways(client: Client, app_url: str, endpoint: str) -> None:
    answer = three_ways(client, app_url, endpoint, FAILURES[endpoint])
    assert answer["schema_version"] == 1
    assert answer["error"]["message"]
