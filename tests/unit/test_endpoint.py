"""Endpoints: parameters, defaults and documentation that Gradio reads from their functions."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import gradio as gr
import pytest
from gradio.utils import get_function_description

from gpusizer.core.errors import InvalidRequest
from gpusizer.ui.server.endpoint import Endpoint
from gpusizer.ui.server.endpoints import (
    COMPARE_GPUS,
    LIST_GPUS,
    MODELS_FOR_GPU,
    PUBLIC,
    TRAIN_MODEL,
)
from gpusizer.usecases.requests.request_docs import described_fields

pytestmark = pytest.mark.anyio


def defaults(endpoint: Endpoint) -> dict[str, Any]:
    parameters = endpoint.signature.parameters.values()
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if parameter.default is not inspect.Parameter.empty
    }


def test_parameters_have_the_defaults_of_their_fields() -> None:
    assert defaults(TRAIN_MODEL) == {
        "method": "lora",
        "sequence_length": 2048,
        "micro_batch": 1,
        "gpu": "",
        "gpu_count": 0,
        "sharding": "",
        "rank_by": "recommended",
        "top": 20,
        "options": None,
        "token": None,
        "request": None,
    }
    assert defaults(LIST_GPUS) == {"query": "", "options": None, "request": None}
    assert defaults(MODELS_FOR_GPU)["models"] is None
    assert COMPARE_GPUS.signature.parameters["gpus"].annotation == list[str]


async def nothing(*_: object) -> dict[str, Any]:
    return {}


@pytest.mark.parametrize("endpoint", PUBLIC)
def test_every_field_is_documented(endpoint: Endpoint) -> None:
    """Gradio reads one line for each parameter; the other fields are named under `options`."""
    function = endpoint.function(nothing)
    summary, meanings, _ = get_function_description(function)
    assert summary.startswith(endpoint.summary)
    assert function.__name__ == endpoint.name
    for name in endpoint.parameters:
        assert meanings[name].endswith(".")
    for name in described_fields(endpoint.request):
        assert name in endpoint.parameters or name in meanings["options"]


async def test_arguments_become_fields() -> None:
    calls: list[tuple[dict[str, Any], gr.OAuthToken | None]] = []

    async def call(
        arguments: Mapping[str, Any], token: gr.OAuthToken | None, request: gr.Request | None
    ) -> dict[str, Any]:
        calls.append((TRAIN_MODEL.fields_of(arguments), token))
        return {}

    function = TRAIN_MODEL.function(call)
    await function("org/name", "qlora", options={"lora_rank": 64, "top": 3})
    ((fields, token),) = calls
    assert (fields["model"], fields["method"], fields["lora_rank"]) == ("org/name", "qlora", 64)
    assert (fields["gpu_count"], fields["top"], token) == (None, 3, None)
    with pytest.raises(InvalidRequest, match="not_an_object"):
        await function("org/name", options=["top"])
