"""Each line of what people ask for, by Gradio's client; plain HTTP and MCP answer the same."""

from __future__ import annotations

import json

import pytest
from gradio_client import Client

from tests.api.plain_http import COMMANDS, ask
from tests.api.transports import call, through_mcp
from tests.front_door import QUESTIONS, Question
from tests.nightly import some

_NAMED = {
    "/size_model": ("model", "quant", "gpu", "engine", "top"),
    "/train_model": ("model", "method", "gpu", "top"),
    "/compare_gpus": ("gpus", "model", "quant"),
    "/models_for_gpu": ("gpu", "top"),
}
"""Fields that an endpoint takes by name; the others go into its `options`."""


def arguments(question: Question) -> dict[str, object]:
    named = {
        name: value for name, value in question.fields.items() if name in _NAMED[question.endpoint]
    }
    options = {name: value for name, value in question.fields.items() if name not in named}
    return {**named, "options": options} if options else named


@pytest.mark.parametrize("line", some(list(QUESTIONS), of=2, start=1))
def test_a_question_by_client_http_and_mcp(client: Client, app_url: str, line: str) -> None:
    question = QUESTIONS[line]
    answer = call(client, question.endpoint, **arguments(question))
    question.check(answer)
    plain = ask(app_url, COMMANDS[question.endpoint], dict(question.fields))
    assert plain.status_code == 200
    tool = through_mcp(app_url, question.endpoint, **arguments(question))
    assert json.dumps(plain.json()) == json.dumps(tool) == json.dumps(answer)
