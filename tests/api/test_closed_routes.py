"""Routes of Gradio that are closed do nothing on the running application, whatever is sent."""

from __future__ import annotations

import json

import pytest
import requests

from tests.api.transports import TIMEOUT
from tests.nightly import paired

PAGES = ("", "en/", "zh/", "pt/")


@pytest.mark.parametrize("page", PAGES)
def test_nobody_uploads_a_file(app_url: str, page: str) -> None:
    address = f"{app_url}{page}gradio_api/upload"
    answer = requests.post(address, files={"files": ("a.txt", b"text")}, timeout=TIMEOUT)
    assert answer.status_code == 404
    assert "a.txt" not in answer.text


PATHS = (
    "gradio_api/file=/etc/hostname",
    "gradio_api/file=http://127.0.0.1:9/",
    "gradio_api/proxy=http://127.0.0.1:9/",
    "gradio_api/deep_link?session_hash=a",
    "gradio_api/runs",
    "monitoring",
    "monitoring/summary",
)


@pytest.mark.parametrize(("page", "path"), paired(PAGES, PATHS))
def test_nothing_is_read_or_asked_for_others(app_url: str, page: str, path: str) -> None:
    answer = requests.get(app_url + page + path, timeout=TIMEOUT, allow_redirects=False)
    assert (answer.status_code, answer.json()) == (404, {"detail": "Not Found"})


def test_an_unknown_session_has_no_stream(app_url: str) -> None:
    address = f"{app_url}gradio_api/queue/data"
    guess = {"session_hash": "guessed"}
    with requests.get(address, params=guess, timeout=TIMEOUT, stream=True) as answer:
        first_line = next(answer.iter_lines(chunk_size=1)).decode()
    message = json.loads(first_line.removeprefix("data: "))
    assert message["session_not_found"] and not message["success"]
