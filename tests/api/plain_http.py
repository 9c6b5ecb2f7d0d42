"""Calls of the running application over plain HTTP, below /v1."""

from __future__ import annotations

from typing import Any

import requests

from tests.api.transports import TIMEOUT

COMMANDS = {
    "/size_model": "size",
    "/train_model": "train",
    "/list_gpus": "gpus",
    "/compare_gpus": "compare",
    "/models_for_gpu": "models-for",
}
"""The path below /v1 of each of Gradio's endpoints."""


def ask(
    app_url: str, command: str, fields: dict[str, Any], method: str = "GET", **headers: str
) -> requests.Response:
    """Ask a question; an underscore in the name of a header stands for a hyphen."""
    with requests.Session() as session:
        session.trust_env = False
        return session.request(
            method,
            f"{app_url}v1/{command}",
            params=fields,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
            timeout=TIMEOUT,
        )
