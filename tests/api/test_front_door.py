"""Each line of what people ask for, by Gradio's client; plain HTTP and MCP answer the same."""

from __future__ import annotations

import json

import pytest
from gradio_client import Client

from tests.api.plain_http import COMMANDS, ask
from tests.api.transports import arguments_of, call, through_mcp
from tests.front_door import QUESTIONS
from tests.nightly import some


@pytest.mark.parametrize("line", some(list(QUESTIONS), of=2, start=1))
def test_a_question_by_client_http_and_mcp(client: Client, app_url: str, line: str) -> None:
    question = QUESTIONS[line]
    command = COMMANDS[question.endpoint]
    asked = arguments_of(command, question.fields)
    answer = call(client, question.endpoint, **asked)
    question.check(answer)
    plain = ask(app_url, command, dict(question.fields))
    assert plain.status_code == 200
    tool = through_mcp(app_url, question.endpoint, **asked)
    assert json.dumps(plain.json()) == json.dumps(tool) == json.dumps(answer)
