"""The login button appears only in a Space with OAuth; a local start works without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast

import gradio as gr
import pytest
from gradio.helpers import special_args

from gpusizer.ui.handlers import Handlers
from tests.sizers import embedded_sizer

ON_A_SPACE = {
    "SYSTEM": "spaces",
    "SPACE_ID": "org/space",
    "OAUTH_CLIENT_ID": "client",
    "OAUTH_CLIENT_SECRET": "secret",
    "OAUTH_SCOPES": "openid profile gated-repos",
    "OPENID_PROVIDER_URL": "http://127.0.0.1:9",
}
_LOOK = """
import json, app
blocks = [*app.application.pages.values(), app.application.endpoints]
targets = [
    listener["js"].split("huggingface?_target_url=")[1].split("'")[0]
    for page in blocks
    for listener in page.config["dependencies"]
    if "/login/huggingface" in str(listener["js"])
]
shown = [c["props"].get("elem_id") for page in blocks for c in page.config["components"]]
print(json.dumps([shown.count("gs-sign-in"), targets]))
"""

_LAYERS = """
import json, os, app
from gpusizer.ui.serving import launch
from tests.ports import free_port
launch(app.application, quiet=True, server_name="127.0.0.1", server_port=free_port())
layers = app.application.endpoints.app.user_middleware
print(json.dumps([layer.cls.__name__ for layer in layers]), flush=True)
os._exit(0)  # Gradio's threads go on
"""


def test_the_limit_of_questions_sees_who_is_signed_in() -> None:
    """The layer that reads the signed session is outside of the one that counts questions."""
    process = subprocess.run(
        [sys.executable, "-c", _LAYERS],
        env={**os.environ, "HF_HUB_OFFLINE": "1", **ON_A_SPACE},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        timeout=300,
    )
    layers = json.loads(process.stdout.splitlines()[-1])
    assert layers.index("SessionMiddleware") < layers.index("VisitorLimits")


def sign_in_buttons(**environment: str) -> list[str]:
    """Return the redirect targets of the login buttons, without launching the application."""
    without_oauth = {
        name: value for name, value in os.environ.items() if not name.startswith("OAUTH_")
    }
    process = subprocess.run(
        [sys.executable, "-c", _LOOK],
        env={**without_oauth, "HF_HUB_OFFLINE": "1", **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    shown, targets = json.loads(process.stdout.splitlines()[-1])
    assert shown == len(targets)
    return list(targets)


def test_a_space_offers_to_sign_in_on_every_page() -> None:
    assert sign_in_buttons(**ON_A_SPACE) == ["/", "/zh", "/pt", "/endpoints"]


def test_a_local_start_offers_no_sign_in() -> None:
    assert sign_in_buttons() == []


LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
SIGNED_IN = {
    "name": "A",
    "preferred_username": "a",
    "profile": "https://huggingface.co/a",
    "picture": "",
    "hardwareItems": [
        {"sku": ["GPU", "NVIDIA", "RTX 3060"], "mem": 12, "num": 1},
        {"sku": ["GPU", "NVIDIA", "RTX 4090"], "mem": 24, "num": 2, "isPrimary": True},
    ],
}


def opened(address: dict[str, str], userinfo: dict[str, Any] | None) -> str:
    """Return the page's markup at an address for a session's user, by Gradio's own load event."""
    sizer = embedded_sizer()
    handlers = Handlers(sizer, lambda token: sizer.fetch, "en", ())
    token = {"access_token": "theirs", "scope": "openid profile", "expires_at": 2**40}
    session = {} if userinfo is None else {"oauth_info": {**token, "userinfo": userinfo}}
    request = SimpleNamespace(query_params=_Query(address), session=session, request=None)
    arguments, *_ = special_args(handlers.load, [], cast(gr.Request, request))
    return "".join(str(part) for part in list(handlers.load(*arguments))[-1])


class _Query(dict[str, str]):
    def __str__(self) -> str:
        return "&".join(f"{name}={value}" for name, value in self.items())


@pytest.mark.parametrize("address", [{"model": LLAMA}, {"tab": "compare", "model": LLAMA}])
def test_saved_hardware_is_compared(address: dict[str, str]) -> None:
    page = opened(address, SIGNED_IN)
    positions = [page.find(f'data-remove="{gpu}"') for gpu in ("2xrtx-4090-24gb", "rtx-3060-12gb")]
    assert 0 < positions[0] < positions[1], "the primary one first"
    assert page.count("data-remove=") == 2


def test_an_address_that_names_gpus_keeps_them() -> None:
    page = opened({"model": LLAMA, "gpus": "l40s"}, SIGNED_IN)
    assert 'data-remove="l40s"' in page and page.count("data-remove=") == 1


@pytest.mark.parametrize("userinfo", [None, {**SIGNED_IN, "hardwareItems": "none"}])
def test_without_saved_hardware_the_default_gpus_are_compared(
    userinfo: dict[str, Any] | None,
) -> None:
    assert opened({"model": LLAMA}, userinfo).count("data-remove=") == 4
