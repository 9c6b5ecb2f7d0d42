"""Fixtures: an emulated Hub, and huggingface_hub's client of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import HfApi, constants

from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    literal_file,
    llama_repo,
    sparse_file,
)
from tests.unit.emulator.hub_requests import BIG, GIB, SHARDED, SINGLE, TOKEN


@pytest.fixture(autouse=True)
def no_xet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)


@pytest.fixture(scope="module")
def shared_hub() -> Iterator[HubEmulator]:
    repos = [
        llama_repo(SINGLE, card_data={"base_model": "org/base", "license": "mit"}),
        llama_repo(SHARDED, shards=3),
        llama_repo(BIG, layers=32, hidden=4096, intermediate=14336, vocab=128256, heads=32),
        llama_repo("org/gated", gated="manual"),
        llama_repo("org/private", private=True),
        llama_repo("org/disabled", disabled=True),
        FakeRepo("org/many", {f"part/{n:04}.txt": literal_file("x") for n in range(2500)}),
        FakeRepo("org/pickle", {"pytorch_model.bin": sparse_file(6 * GIB)}),
    ]
    renames = {"old/name": SINGLE, "older/name": "old/name", "loop/a": "loop/b", "loop/b": "loop/a"}
    with HubEmulator(repos, valid_tokens={TOKEN: {"org/gated"}, "hf_other": ()}) as hub:
        hub.options.renames = renames
        yield hub


@pytest.fixture
def hub(shared_hub: HubEmulator) -> Iterator[HubEmulator]:
    options = dict(vars(shared_hub.options))
    shared_hub.faults.clear()
    shared_hub.reset_log()
    yield shared_hub
    vars(shared_hub.options).update(options)


@pytest.fixture
def api(hub: HubEmulator) -> HfApi:
    return HfApi(endpoint=hub.endpoint, token=False)
