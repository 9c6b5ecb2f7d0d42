"""One Space with sign-in for every test that needs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.space import Space, running_space


@pytest.fixture(scope="session")
def space(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Space]:
    # What is sent to test sums of bodies may take long on a busy machine.
    with running_space(tmp_path_factory.mktemp("space"), BODY_SECONDS="600") as running:
        yield running
