"""Signing in is offered where a Space can do it, and a local start never fails for want of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

ON_A_SPACE = {
    "SYSTEM": "spaces",
    "SPACE_ID": "org/space",
    "OAUTH_CLIENT_ID": "client",
    "OAUTH_CLIENT_SECRET": "secret",
    "OAUTH_SCOPES": "openid profile gated-repos",
    "OPENID_PROVIDER_URL": "http://127.0.0.1:9",
}
_LOOK = (
    "import json, app;"
    "print(json.dumps([c['props'].get('elem_id') for c in app.demo.config['components']]))"
)


def components(**environment: str) -> list[str | None]:
    """Names of the components of the application in such an environment; nothing is launched."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OAUTH_")}
    done = subprocess.run(
        [sys.executable, "-c", _LOOK],
        env={**plain, "HF_HUB_OFFLINE": "1", **environment},
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    names: list[str | None] = json.loads(done.stdout.splitlines()[-1])
    return names


def test_a_space_offers_to_sign_in() -> None:
    assert components(**ON_A_SPACE).count("gs-sign-in") == 3, "one on the page of each language"


def test_a_local_start_does_not() -> None:
    assert "gs-sign-in" not in components()
