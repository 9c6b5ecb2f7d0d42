"""The login button appears only in a Space with OAuth; a local start works without it."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlencode

import gradio as gr
import pytest
import requests
from gradio.helpers import special_args

from gpusizer.ui.page.tabs.tab_form import listener
from tests.api.transports import TIMEOUT
from tests.pages import page_handlers


@pytest.mark.parametrize("path", ["", "zh", "pt", "endpoints"])
def test_a_local_start_offers_no_sign_in(app_url: str, path: str) -> None:
    page = requests.get(f"{app_url}{path}", timeout=TIMEOUT).text
    assert "gs-form" in page or path == "endpoints"
    assert "gs-sign-in" not in page and "/login/huggingface" not in page


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
    handlers = page_handlers()
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
