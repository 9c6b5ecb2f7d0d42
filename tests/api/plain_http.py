"""Calls of the running application over plain HTTP, below /v1."""

from __future__ import annotations

import os
from typing import Any

import requests

from gpusizer.ui.server.endpoints import PUBLIC
from tests.api.transports import TIMEOUT

COMMANDS = {f"/{endpoint.name}": endpoint.command for endpoint in PUBLIC}  #


def ask(
    app_url: str, command: str, fields: dict[str, Any], method: str = "GET", **headers: str
) -> requests.Response:
    """Ask a question; an underscore in the name of a header becomes a hyphen.

    SSL_CERT_FILE may name a certificate to trust.
    """
    with requests.Session() as session:
        session.trust_env = False
        return session.request(
            method,
            f"{app_url}v1/{command}",
            params=fields,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
            timeout=TIMEOUT,
            verify=os.environ.get("SSL_CERT_FILE", True),
        )


def query_of(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the query of a call of Gradio's endpoint; lists repeat their parameter."""
    return {k: v for k, v in asked.items() if k != "options"} | asked.get("options", {})
