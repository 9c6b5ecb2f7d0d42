"""A visitor who waits for a model that nobody has read sees the steps of reading it, in order."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.own_fields import OWN_FIELDS
from gpusizer.ui.page_state import FORM_FIELDS
from gpusizer.ui.presenters.words import Words
from tests.hub_emulator import HubEmulator, llama_repo
from tests.running_app import ROOT

SHARDS = 3
_ASKED = 1 + len(FORM_FIELDS) + len(OWN_FIELDS)
"""Fields of the form, with the model and the visitor's own machine."""
_STATUS = _ASKED
"""Place of the status among the values of an update, which begin with the fields."""
_SERVE = """
import app
application = app.compose_from_environment()
from gpusizer.ui.serving import launch
from tests.ports import free_port
print(launch(application, quiet=True, server_port=free_port()), flush=True)
application.endpoints.block_thread()
"""


@pytest.fixture(scope="module")
def hub() -> Iterator[HubEmulator]:
    with HubEmulator() as emulator:
        yield emulator


@pytest.fixture(scope="module")
def address(hub: HubEmulator, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The application, as `python app.py` composes it, reading from the emulated Hub."""
    environment = {
        **os.environ,
        "GRADIO_TEMP_DIR": str(tmp_path_factory.mktemp("steps")),
        "GPUSIZER_CACHE_DIR": "off",
        "GPUSIZER_CDN_ORIGINS": hub.cdn_endpoint,
        "HF_ENDPOINT": hub.endpoint,
        "HF_HUB_OFFLINE": "",
        "PYTHONPATH": str(ROOT),
    }
    with subprocess.Popen(
        [sys.executable, "-c", _SERVE],
        cwd=Path(ROOT),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout
        url = next((line.strip() for line in process.stdout if line.startswith("http")), "")
        assert url, "the application did not start"
        yield url
        process.terminate()


def outputs(address: str, model: str, language: Language) -> list[list[Any]]:
    """Ask as the form of a page does; return the values of its components after each update."""
    calls = f"{address}{language}/gradio_api/call/ui_size_{language}"
    fields = [model, 2048, 1, "", *[None] * (_ASKED - 4)]
    form = ["", "", json.dumps([["ask", ""]]), *fields]  # after no question
    event = requests.post(calls, json={"data": form}, timeout=30).json()
    stream = requests.get(f"{calls}/{event['event_id']}", timeout=60).text
    assert "event: error" not in stream
    return [json.loads(data) for data in re.findall(r"^data: (\[.*)$", stream, re.MULTILINE)]


def statuses(updates: list[list[Any]], words: Words) -> list[list[str]]:
    """Return the steps that the status listed after each update, without repetitions."""
    steps = [re.findall(r"<li>(.*?)</li>", str(update[_STATUS])) for update in updates]
    return [listed for before, listed in zip([[], *steps], steps, strict=False) if listed != before]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_steps_of_a_cold_read(hub: HubEmulator, address: str, language: Language) -> None:
    """All headers come in one answer of the Hub, so that their number jumps."""
    words, model = Words(language), f"org/cold-{language}"
    repo = hub.add(llama_repo(model, shards=SHARDS))
    files = words("step.files", count=len(repo.files))
    none, every = (words("step.headers", count=n, total=SHARDS) for n in (0, SHARDS))
    updates = outputs(address, model, language)
    assert statuses(updates, words) == [
        [files],
        [files, none],
        [files, every],
        [files, every, words("step.read")],
        [],
    ]
    assert model in str(updates[0][_STATUS]) and model in str(updates[-1][_STATUS + 1])
    assert statuses(outputs(address, model, language), words) == [], "nothing is read again"


def test_headers_are_counted_where_each_is_read_from_its_file(
    hub: HubEmulator, address: str
) -> None:
    model, words = "org/sharded", Words("en")
    repo = hub.add(llama_repo(model, shards=SHARDS))
    hub.options.safetensors_metadata_status = 501
    files = words("step.files", count=len(repo.files))
    counted = [
        [files, words("step.headers", count=count, total=SHARDS)] for count in range(SHARDS + 1)
    ]
    assert statuses(outputs(address, model, "en"), words)[1:-2] == counted
