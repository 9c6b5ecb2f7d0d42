"""Calls over HTTP with wrong names get an error that names the first wrong one."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.errors import InvalidRequest
from gpusizer.ui.call_validation import refusal_of

ENDPOINTS = {
    "size_model": [
        {"parameter_name": "model", "parameter_has_default": False},
        {"parameter_name": "context", "parameter_has_default": True},
    ],
    "list_gpus": [{"parameter_name": "query", "parameter_has_default": True}],
}
MODEL = {"model": "Qwen/Qwen3-8B"}


def refused(body: dict[str, Any], endpoint: str = "size_model") -> InvalidRequest:
    refusal = refusal_of(endpoint, body, ENDPOINTS)
    assert refusal is not None
    return refusal


def test_a_misspelt_name_is_named() -> None:
    fields = refused({**MODEL, "contxt": 4096}).fields
    assert fields == {"field": "contxt", "value": "4096", "reason": "unknown_field"}
    assert refused({"token": "secret", **MODEL}).fields["field"] == "token"


def test_long_field_names_and_values_are_shortened() -> None:
    fields = refused({"x" * 5000: "y" * 5000}).fields
    assert (len(str(fields["field"])), len(str(fields["value"]))) == (40, 80)


def test_a_missing_name_is_named() -> None:
    fields = refused({"context": 4096}).fields
    assert fields == {"field": "model", "value": "", "reason": "empty"}


def test_an_endpoint_that_does_not_exist() -> None:
    fields = refused(MODEL, "sise_model").fields
    assert fields["field"] == "endpoint"
    assert fields["choices"] == "size_model, list_gpus"


@pytest.mark.parametrize(
    ("endpoint", "body"),
    [
        ("size_model", MODEL),
        ("size_model", {**MODEL, "context": "much"}),
        ("size_model", {**MODEL, "oauth_token": "hf_x"}),
        ("list_gpus", {}),
    ],
)
def test_right_names_are_not_refused(endpoint: str, body: dict[str, Any]) -> None:
    assert refusal_of(endpoint, body, ENDPOINTS) is None
