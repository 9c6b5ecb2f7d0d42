"""One client of the running application for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gradio_client import Client


@pytest.fixture(scope="module")
def client(app_url: str) -> Iterator[Client]:
    gradio_client = Client(app_url, verbose=False)
    yield gradio_client
    gradio_client.close()
