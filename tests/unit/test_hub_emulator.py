"""huggingface_hub, the Hub's own client, reads the emulated Hub as it reads the Hub."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from huggingface_hub import HfApi, constants
from huggingface_hub.errors import (
    DisabledRepoError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from tests.hub_emulator import FakeRepo, HubEmulator, literal_file, llama_repo
from tests.hub_emulator.safetensors_files import safetensors_file, sparse_safetensors_file

TOKEN = "hf_reader"
SINGLE, SHARDED = "org/single", "org/sharded"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubEmulator]:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)
    repos = [
        llama_repo(SINGLE, card_data={"base_model": "org/base", "license": "mit"}),
        llama_repo(SHARDED, shards=3),
        llama_repo("org/gated", gated="manual"),
        llama_repo("org/private", private=True),
        llama_repo("org/disabled", disabled=True),
        FakeRepo("org/many", {f"part/{n:04}.txt": literal_file("x") for n in range(2500)}),
    ]
    tokens = {TOKEN: {"org/gated"}, "hf_other": ()}
    with HubEmulator(repos, valid_tokens=tokens, renames={"old/name": SINGLE}) as emulator:
        yield emulator


@pytest.fixture
def api(hub: HubEmulator) -> HfApi:
    return HfApi(endpoint=hub.endpoint, token=False)


def test_descriptions_and_trees(api: HfApi, hub: HubEmulator) -> None:
    info = api.model_info("old/name", files_metadata=True)
    repo = hub.catalog.repos[SINGLE]
    assert (info.id, info.sha, info.gated, info.private) == (SINGLE, repo.sha, False, False)
    assert info.card_data is not None and info.card_data.license == "mit"
    weights = next(s for s in info.siblings or () if s.rfilename == "model.safetensors")
    assert weights.size == repo.files["model.safetensors"].size
    assert weights.lfs is not None
    assert weights.lfs.sha256 == repo.files["model.safetensors"].sha256
    assert api.model_info(SINGLE, expand=["safetensors"]).sha is None
    hub.reset_log()
    entries = list(api.list_repo_tree("org/many", recursive=True))
    assert (len({entry.path for entry in entries}), len(hub.requests)) == (2501, 3)


def test_headers_of_safetensors(api: HfApi, hub: HubEmulator) -> None:
    read = {SINGLE: api.get_safetensors_metadata(SINGLE)}
    read[SHARDED] = api.get_sharded_safetensors_metadata(SHARDED)
    for repo_id, metadata in read.items():
        assert metadata.parameter_count == hub.catalog.repos[repo_id].counted_parameters()
    assert all(request.range for request in hub.requests_to("cdn", "GET"))
    authorized = HfApi(endpoint=hub.endpoint, token=TOKEN)
    hub.reset_log()
    authorized.get_safetensors_metadata(SINGLE)
    assert all("authorization" in request.headers for request in hub.requests_to("hub"))
    assert not any("authorization" in request.headers for request in hub.requests_to("cdn"))


def test_a_sparse_file_has_the_header_of_the_library() -> None:
    dtypes = ("F4", "BF16", "F8_E8M0", "F32", "I64", "BOOL", "F8_E4M3", "F16", "U8", "F64", "C64")
    tensors = {f"t{n}": (dtype, (n, 4)) for n, dtype in enumerate(dtypes)}
    real = safetensors_file(tensors, {"format": "pt"})
    sparse = sparse_safetensors_file(tensors, {"format": "pt"})
    assert sparse.read(0, sparse.size) == real.read(0, real.size)
    assert literal_file("hello\n").oid == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_refusals(api: HfApi, tmp_path: Path) -> None:
    for missing in ("org/nothing", "org/private"):
        for token in (False, TOKEN):
            with pytest.raises(RepositoryNotFoundError):
                api.model_info(missing, token=token)
    with pytest.raises(HfHubHTTPError, match="401"):
        api.model_info(SINGLE, token="hf_wrong")
    for token in (False, "hf_other"):
        with pytest.raises(GatedRepoError):
            api.get_safetensors_metadata("org/gated", token=token)
    assert api.get_safetensors_metadata("org/gated", token=TOKEN).parameter_count
    with pytest.raises(DisabledRepoError):
        api.get_safetensors_metadata("org/disabled")
    with pytest.raises(RevisionNotFoundError):
        api.model_info(SINGLE, revision="nope")
    with pytest.raises(EntryNotFoundError):
        api.hf_hub_download(SINGLE, "nope.json", local_dir=tmp_path)


def test_what_breaks_inside_comes_out_at_the_end() -> None:
    hub = HubEmulator([FakeRepo("a/b", info={"sha": object()})])
    connection = http.client.HTTPConnection(urlsplit(hub.endpoint).netloc, timeout=60)
    connection.request("GET", "/api/models/a/b")
    with pytest.raises(http.client.RemoteDisconnected):
        connection.getresponse()
    connection.close()
    with pytest.raises(RuntimeError, match="failed to answer"):
        hub.close()
