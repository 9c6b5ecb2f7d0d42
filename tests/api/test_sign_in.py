"""The login button appears only in a Space with OAuth; a local start works without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlencode

import gradio as gr
import pytest
from gradio.helpers import special_args

from gpusizer.ui.handlers import Handlers
from gpusizer.ui.tabs.tab_form import listener
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
import json, os, sys, app
from gpusizer.ui.serving import launch
from tests.ports import free_port
application = app.compose_from_environment()
blocks = [*application.pages.values(), application.endpoints]
targets = [
    listener["js"].split("huggingface?_target_url=")[1].split("'")[0]
    for page in blocks
    for listener in page.config["dependencies"]
    if "/login/huggingface" in str(listener["js"])
]
shown = [c["props"].get("elem_id") for page in blocks for c in page.config["components"]]
layers = []
if len(sys.argv) > 1:
    launch(application, quiet=True, server_name="127.0.0.1", server_port=free_port())
    layers = [layer.cls.__name__ for layer in application.endpoints.app.user_middleware]
print(json.dumps([shown.count("gs-sign-in"), targets, layers]), flush=True)
os._exit(0)  # Gradio's threads go on
"""


def looked_at(*arguments: str, **environment: str) -> tuple[list[str], list[str]]:
    """Redirect targets of the login buttons and, where it is launched, layers of the application
    from the outermost on."""
    without_oauth = {
        name: value for name, value in os.environ.items() if not name.startswith("OAUTH_")
    }
    process = subprocess.run(
        [sys.executable, "-c", _LOOK, *arguments],
        env={**without_oauth, "HF_HUB_OFFLINE": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
        timeout=300,
    )
    shown, targets, layers = json.loads(process.stdout.splitlines()[-1])
    assert shown == len(targets)
    return targets, layers


def test_a_space_offers_to_sign_in_on_every_page_and_its_limit_sees_who_is() -> None:
    """The layer that reads the signed session is outside of the one that counts questions."""
    targets, layers = looked_at("launched", **ON_A_SPACE)
    assert targets == ["/", "/zh", "/pt", "/endpoints"]
    assert layers.index("SessionMiddleware") < layers.index("VisitorLimits")


def test_a_local_start_offers_no_sign_in() -> None:
    assert looked_at() == ([], [])


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
    """Return the page's markup at an address for a session's user, by a listener of Gradio's."""
    sizer = embedded_sizer()
    handlers = Handlers(sizer, lambda token: sizer.fetch, "en", ())
    token = {"access_token": "theirs", "scope": "openid profile", "expires_at": 2**40}
    session = {} if userinfo is None else {"oauth_info": {**token, "userinfo": userinfo}}
    request = cast(gr.Request, SimpleNamespace(session=session, request=None))
    answers = handlers.compare_for if address.get("tab") == "compare" else handlers.ask
    listen = listener(answers, ("model",), dict)
    opening = json.dumps([["load", "?" + urlencode(address)]])
    arguments, *_ = special_args(listen, ["", "load1", opening, ""], request)
    *_, shown = listen(*arguments)
    return "".join(str(part) for part in shown.values())


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
