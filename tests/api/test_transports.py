"""Every public endpoint gives one answer, whichever way a program asks; shell and page show it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from gradio_client import Client

from gpusizer.ui.page.asked import FormCall
from gpusizer.ui.page.handlers import Handlers
from gpusizer.ui.presenters.pieces.templates import escape
from gpusizer.ui.presenters.training import method_name
from gpusizer.ui.server.http_status import STATUSES
from gpusizer.ui.server.reading import RANKED
from tests.api.plain_http import COMMANDS, ask, query_of
from tests.api.transports import call, through_curl, through_mcp
from tests.cli.test_cli import POSITIONAL, run
from tests.hostile import BROKEN_MODEL
from tests.pages import page_handlers
from tests.poison import POISONED_MODEL

Request = dict[str, Any]

# Its caveats name files; Gradio's client would download an object that looks like a file.
MODEL = "openai/gpt-oss-20b"

EXAMPLES: dict[str, Request] = {
    "/size_model": {
        "model": MODEL,
        "context": 4096,
        "quant": "native",
        "gpu": "4090, 2x3090",
        "top": 2,
        "options": {"engine": "vllm", "max_usd": 5000},
    },
    "/train_model": {"model": MODEL, "method": "lora", "top": 2, "options": {"lora_rank": 64}},
    "/list_gpus": {"query": "4090"},
    "/compare_gpus": {"gpus": ["4090", "2 × RTX 3090"], "model": MODEL, "quant": "native"},
    "/models_for_gpu": {"gpu": "4090", "models": [MODEL], "top": 1},
    "/place_models": {"models": [f"{MODEL} users=2"], "gpu": "4090"},
}

FAILURES: list[tuple[str, Request]] = [
    ("/size_model", {"model": BROKEN_MODEL}),
    ("/train_model", {"model": "模型/é"}),
    ("/list_gpus", {"options": {"nonsense": 1}}),
    ("/compare_gpus", {"gpus": []}),
]
SHARED_FAILURES: dict[str, Request] = {
    "/size_model": {"model": MODEL, "context": -5},
    "/train_model": {"model": MODEL, "method": "magic"},
    "/list_gpus": {"query": "4090", "options": {"vendor": "nobody"}},
    "/compare_gpus": {"gpus": ["4090", "rtx 4091"], "model": MODEL},
    "/models_for_gpu": {"gpu": "not a card"},
    "/place_models": {"models": [f"{MODEL} role=cook"], "gpu": "4090"},
}


def through_shell(endpoint: str, request: Request) -> Any:
    """Return the output of an endpoint's command."""
    command, fields = COMMANDS[endpoint], query_of(request)
    words = fields.pop(POSITIONAL[command])
    arguments = [words] if isinstance(words, str) else words
    for name, value in fields.items():
        text = ",".join(value) if isinstance(value, list) else str(value)
        arguments = [*arguments, f"--{name.replace('_', '-')}={text}"]
    return json.loads(run(command, *arguments, "--offline", "--json").stdout)


def four_ways(client: Client, app_url: str, endpoint: str, arguments: Request) -> Any:
    """Return the answer that all four ways give, compared without leaving out any field."""
    answer = call(client, endpoint, **arguments)
    plain = ask(app_url, COMMANDS[endpoint], query_of(arguments))
    status = STATUSES[answer["error"]["code"]] if "error" in answer else 200
    assert (plain.status_code, plain.headers["content-type"]) == (status, "application/json")
    others = [config(app_url, endpoint, **arguments) for config in (through_curl, through_mcp)]
    # 1, 1.0 and True are equal in Python, and different JSON.
    assert {json.dumps(other) for other in (plain.json(), *others)} == {json.dumps(answer)}
    return answer


def test_every_public_endpoint_has_its_examples(client: Client) -> None:
    offered = client.view_api(return_format="dict", print_info=False)
    assert set(offered["named_endpoints"]) == set(EXAMPLES) == set(SHARED_FAILURES) == set(COMMANDS)
    assert not offered["unnamed_endpoints"]


@pytest.mark.parametrize("endpoint", EXAMPLES)
def test_answers_are_the_same_five_ways(client: Client, app_url: str, endpoint: str) -> None:
    request = EXAMPLES[endpoint]
    answer = four_ways(client, app_url, endpoint, request)
    assert json.dumps(through_shell(endpoint, request)) == json.dumps(answer)
    assert answer["schema_version"] == 1
    assert "error" not in answer


@pytest.mark.parametrize(("endpoint", "request_"), FAILURES)
def test_failures_are_the_same_four_ways(
    client: Client, app_url: str, endpoint: str, request_: Request
) -> None:
    answer = four_ways(client, app_url, endpoint, request_)
    assert answer["schema_version"] == 1
    assert answer["error"]["message"]


@pytest.mark.parametrize("endpoint", SHARED_FAILURES)
def test_failures_are_the_same_five_ways(client: Client, app_url: str, endpoint: str) -> None:
    request = SHARED_FAILURES[endpoint]
    answer = four_ways(client, app_url, endpoint, request)
    assert json.dumps(through_shell(endpoint, request)) == json.dumps(answer)
    assert answer["error"]["code"] in ("invalid_request", "unknown_gpu")


@pytest.mark.parametrize(
    ("endpoint", "fields"),
    [
        ("/size_model", {"model": POISONED_MODEL, "top": 1}),
        ("/train_model", {"model": POISONED_MODEL, "top": 1}),
        ("/compare_gpus", {"gpus": ["4090"], "model": POISONED_MODEL}),
        ("/models_for_gpu", {"gpu": "4090", "models": [POISONED_MODEL]}),
    ],
)
def test_texts_that_no_server_can_write_are_answered(
    client: Client, app_url: str, endpoint: str, fields: Request
) -> None:
    """JSON may escape half of a pair of surrogates, and UTF-8 has none."""
    assert "error" not in four_ways(client, app_url, endpoint, fields)


@pytest.fixture
def page() -> Handlers:
    """Return the listeners of the English page, with the models of the running application."""
    return page_handlers()


def test_the_page_shows_the_size_that_programs_get(client: Client, page: Handlers) -> None:
    answer = call(client, "/size_model", MODEL, context=4096, top=RANKED)
    *_, shown = page.ask(FormCall({"model": MODEL, "context": 4096}))
    facts, memory, above, ranking = (shown[n] for n in ("facts", "memory", "ranking", "ranked"))
    assert page.words.whole(answer["model"]["parameters"]) in facts
    (native,) = (row for row in answer["estimates"] if row["native"])
    assert page.words.gib(native["total_bytes"]) in memory
    assert "gs-ranking" in above
    ranked = list(zip(ranking["value"]["data"], answer["ranking"], strict=True))
    assert [row[0].removeprefix(f"{place['count']} × ") for row, place in ranked] == [
        f"{place['gpu_name']} {place['gpu']}" for _, place in ranked
    ]


def test_the_page_shows_the_training_that_programs_get(client: Client, page: Handlers) -> None:
    answer = call(client, "/train_model", MODEL, method="lora", gpu="h100, 4x4090")
    asked = {"model": MODEL, "method": "lora", "gpu": "h100, 4x4090"}
    *_, shown = page.questions.train(FormCall(asked))
    html = shown["answer"]
    lora_row = next(row for row in answer["estimates"] if row["method"] == "lora")
    assert method_name("lora") in html
    assert page.words.amount(lora_row["per_gpu"]["needed_bytes"]) in html
    for place in answer["ranking"]:
        assert escape(place["gpu_name"]) in html
        assert page.words.gib(place["headroom_bytes"]) in html


def test_the_page_shows_the_models_that_programs_get(client: Client, page: Handlers) -> None:
    answer = call(client, "/models_for_gpu", "4090", top=RANKED)
    *_, shown = page.questions.models_for(FormCall({"gpu": "4090"}))
    rows = shown["models"]["value"]["data"]
    assert [row[0] for row in rows] == [model["repo_id"] for model in answer["models"]]
