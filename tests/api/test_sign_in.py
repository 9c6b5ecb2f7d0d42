"""Signing in is offered where a Space can do it, and a local start never fails for want of it."""

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


LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
SIGNED_IN = {
    "name": "A", "preferred_username": "a", "profile": "https://huggingface.co/a", "picture": "",
    "hardwareItems": [
        {"sku": ["GPU", "NVIDIA", "RTX 3060"], "mem": 12, "num": 1},
        {"sku": ["GPU", "NVIDIA", "RTX 4090"], "mem": 24, "num": 2, "isPrimary": True},
    ],
}  # fmt: skip


def opened(address: dict[str, str], userinfo: dict[str, Any] | None) -> str:
    """What the page shows at an address, to somebody with that session, as Gradio calls it."""
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
def test_saved_hardware_is_put_side_by_side(address: dict[str, str]) -> None:
    shown = opened(address, SIGNED_IN)
    mine = [shown.find(f'data-remove="{gpu}"') for gpu in ("2xrtx-4090-24gb", "rtx-3060-12gb")]
    assert 0 < mine[0] < mine[1], "the primary one first"
    assert shown.count("data-remove=") == 2


def test_an_address_that_names_gpus_keeps_them() -> None:
    shown = opened({"model": LLAMA, "gpus": "l40s"}, SIGNED_IN)
    assert 'data-remove="l40s"' in shown and shown.count("data-remove=") == 1


@pytest.mark.parametrize("userinfo", [None, {**SIGNED_IN, "hardwareItems": "none"}])
def test_without_saved_hardware_the_usual_four_are(userinfo: dict[str, Any] | None) -> None:
    assert opened({"model": LLAMA}, userinfo).count("data-remove=") == 4
