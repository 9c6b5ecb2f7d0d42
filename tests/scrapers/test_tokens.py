"""Token of each request to the Hub, and the callers who get the cached result."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from gpusizer.core.errors import HubRateLimited, InvalidRequest, ModelNotFound
from gpusizer.core.settings import Settings
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.fetcher import Fetcher
from scrapers.repository.tokens import own_token
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    literal_file,
    llama_repo,
    safetensors_file,
)
from tests.scrapers.conftest import settings_of

VISITOR, HOST = "hf_visitors_own", "hf_operators_own"
GATED, PRIVATE, PUBLIC = ModelRef("org/gated"), ModelRef("org/private"), ModelRef("org/public")
SHARDED = ModelRef("org/public-8B", "v1")


@pytest.fixture(autouse=True)
def repos(hub: HubEmulator) -> None:
    hub.add(llama_repo(GATED.repo_id, gated="manual"))
    hub.add(llama_repo(PRIVATE.repo_id, private=True))
    hub.add(llama_repo(PUBLIC.repo_id))
    sharded = hub.add(llama_repo(SHARDED.repo_id, shards=3))
    sharded.revisions["v1"] = sharded.sha
    everything = {GATED.repo_id, PRIVATE.repo_id}
    hub.options.valid_tokens = {VISITOR: everything, HOST: everything}


@pytest.fixture
def settings(hub: HubEmulator, tmp_path: Path) -> Settings:
    return settings_of(
        hub,
        timeout_seconds=60,
        cache_folder=tmp_path / "cache",
    )


def cached_files(settings: Settings) -> list[Path]:
    """Files on disk."""
    folder = settings.cache_folder
    return list(folder.iterdir()) if folder is not None and folder.exists() else []


def shut_out(snapshot: RepoSnapshot) -> bool:
    """Whether only the totals that everybody may see were read."""
    return all(part.totals is not None and not part.tensors for part in snapshot.components)


def senders(hub: HubEmulator, host: str) -> list[str | None]:
    """Return the Authorization header of each request to a host."""
    return [r.headers.get("authorization") for r in hub.requests if r.host == host]


@pytest.mark.parametrize("ref", [GATED, PRIVATE, PUBLIC, SHARDED])
def test_visitors_answer_is_theirs_alone(
    hub: HubEmulator, settings: Settings, ref: ModelRef
) -> None:
    fetcher = Fetcher(settings)
    assert fetcher.for_visitor(VISITOR)(ref).repo_id == ref.repo_id
    assert set(senders(hub, "hub")) == {f"Bearer {VISITOR}"}
    assert set(senders(hub, "cdn")) == {None}
    assert cached_files(settings) == []
    hub.reset_log()
    if ref is PRIVATE:
        with pytest.raises(ModelNotFound):
            fetcher(ref)
    else:
        assert shut_out(fetcher(ref)) is (ref is GATED)
    assert hub.requests, "the visitor's answer was given to another"
    assert set(senders(hub, "hub")) == {None}


def test_each_visitor_asks_for_themselves(hub: HubEmulator, settings: Settings) -> None:
    """Also at the same time: readings with tokens are not shared."""
    hub.options.latency = 0.05
    fetcher = Fetcher(settings)
    with ThreadPoolExecutor(4) as pool:
        snapshots = list(
            pool.map(lambda token: fetcher.for_visitor(token)(GATED), [VISITOR] * 2 + [HOST] * 2)
        )
    assert len({id(snapshot) for snapshot in snapshots}) == 4
    infos = [r.headers["authorization"] for r in hub.requests if r.path.startswith("/api/models")]
    assert sorted(infos) == [f"Bearer {HOST}"] * 2 + [f"Bearer {VISITOR}"] * 2


def test_request_of_one_visitor(hub: HubEmulator, settings: Settings) -> None:
    fetcher = Fetcher(settings)
    assert not shut_out(fetcher.for_visitor(VISITOR)(GATED))
    assert shut_out(fetcher.for_visitor(None)(GATED))


@pytest.mark.parametrize("token", ["two\r\nHost: evil", "with space", "ü", "x" * 600, "\x00"])
def test_impossible_token(
    hub: HubEmulator, settings: Settings, token: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Fetcher(settings).for_visitor(token)(GATED)
    assert token not in str(caught.value)
    assert hub.requests == []


def test_tokens_are_not_shown(
    hub: HubEmulator, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    environment = {"HF_TOKEN": HOST, "GPUSIZER_USE_HOST_TOKEN": "1"}
    places = {"HF_ENDPOINT": hub.endpoint, "GPUSIZER_CDN_ORIGINS": hub.cdn_endpoint}
    with_host = Settings.from_environment(environment | places)
    fetcher = Fetcher(with_host)
    for ref in (GATED, PUBLIC, PRIVATE):
        fetcher.for_visitor(VISITOR)(ref)
        try:
            fetcher(ref)
        except ModelNotFound as error:
            assert HOST not in repr(error)
    printed = f"{caplog.text} {with_host!r} {fetcher!r}"
    assert VISITOR not in printed
    assert HOST not in printed


@pytest.mark.parametrize("switch", ["", "0", "no"])
def test_host_token_is_used_only_when_switched_on(hub: HubEmulator, switch: str) -> None:
    environment = {"HF_TOKEN": HOST, "GPUSIZER_USE_HOST_TOKEN": switch}
    assert Settings.from_environment(environment).host_token is None


def host_settings(hub: HubEmulator) -> Settings:
    return settings_of(hub, timeout_seconds=60, host_token=HOST)


@pytest.mark.parametrize("ref", [PUBLIC, SHARDED])
def test_host_token_after_an_anonymous_look(hub: HubEmulator, ref: ModelRef) -> None:
    Fetcher(host_settings(hub))(ref)
    for request in hub.requests_to("hub"):
        if "/api/models/" in request.path and "resolve-cache" not in request.path:
            assert "authorization" not in request.headers
    assert f"Bearer {HOST}" in senders(hub, "hub")
    assert set(senders(hub, "cdn")) == {None}


def test_visitors_token_comes_before_the_hosts(hub: HubEmulator) -> None:
    Fetcher(host_settings(hub)).for_visitor(VISITOR)(PUBLIC)
    assert set(senders(hub, "hub")) == {f"Bearer {VISITOR}"}


def test_host_token_opens_no_doors(hub: HubEmulator) -> None:
    """Neither of a gated or private repository nor where a public name leads to one."""
    hub.options.renames = {"org/was-open": GATED.repo_id, "org/was-open-too": PRIVATE.repo_id}
    fetcher = Fetcher(host_settings(hub))
    for gated, private in (
        (GATED, PRIVATE),
        (ModelRef("org/was-open"), ModelRef("org/was-open-too")),
    ):
        assert shut_out(fetcher(gated))
        with pytest.raises(ModelNotFound):
            fetcher(private)
    assert set(senders(hub, "hub")) == {None}


@pytest.fixture
def adapter(hub: HubEmulator) -> FakeRepo:
    """Return a public adapter of a gated base."""
    configuration = json.dumps({"base_model_name_or_path": GATED.repo_id, "r": 8})
    files = {
        "adapter_config.json": literal_file(configuration),
        "adapter_model.safetensors": safetensors_file({"base.lora_A.weight": ("F16", (8, 4096))}),
    }
    return hub.add(FakeRepo("org/adapter", files))


@pytest.mark.usefixtures("adapter")
def test_host_token_reads_no_gated_base_of_a_public_adapter(hub: HubEmulator) -> None:
    Fetcher(host_settings(hub))(ModelRef("org/adapter"))
    sent_to_gated = [request for request in hub.requests if GATED.repo_id in request.path]
    assert sent_to_gated
    assert {request.headers.get("authorization") for request in sent_to_gated} == {None}


@pytest.mark.parametrize("ref", [GATED, PRIVATE])
def test_nothing_behind_a_gate_is_stored_for_a_host_with_a_token(
    hub: HubEmulator, settings: Settings, redis_url: str, ref: ModelRef
) -> None:
    with_host = replace(settings, host_token=HOST, cache_url=redis_url)
    fetcher = Fetcher(with_host)
    try:
        assert shut_out(fetcher(ref))
    except ModelNotFound:
        assert ref is PRIVATE
    client = redis.Redis.from_url(redis_url)
    stored = b"".join(client.get(key) or b"" for key in client.scan_iter("gpusizer:snapshot-*"))
    assert b"q_proj" not in stored
    assert HOST.encode() not in stored


def used_up(hub: HubEmulator) -> Settings:
    """Return the settings of a host whose anonymous allowance of the API is used up."""
    hub.options.enforce_rate_limits = True
    hub.options.rate_limits = hub.options.rate_limits | {"api": (1, 1000)}
    return host_settings(hub)


def test_host_token_describes_where_nothing_else_can(hub: HubEmulator) -> None:
    """The first anonymous request says that none is left; what is public is still answered."""
    fetcher = Fetcher(used_up(hub))
    assert fetcher(PUBLIC).components[0].tensors
    hub.reset_log()
    assert fetcher(SHARDED).components[0].tensors
    assert set(senders(hub, "hub")) == {f"Bearer {HOST}"}


@pytest.mark.parametrize("ref", [GATED, PRIVATE, ModelRef("org/missing")])
def test_what_the_host_alone_sees_is_not_told(hub: HubEmulator, ref: ModelRef) -> None:
    """A private repository and one that does not exist are refused alike."""
    fetcher = Fetcher(used_up(hub))
    fetcher(PUBLIC)
    hub.reset_log()
    with pytest.raises(HubRateLimited):
        fetcher(ref)
    assert len(hub.requests) == 1


def test_the_users_own_token_reads_and_keeps_what_is_public(
    hub: HubEmulator, settings: Settings
) -> None:
    fetcher = Fetcher(settings, own_token=VISITOR)
    for ref in (GATED, PRIVATE):
        assert fetcher(ref).components[0].tensors
    assert cached_files(settings) == []
    fetcher(PUBLIC)
    assert fetcher.known(PUBLIC) is None, "it is a visitor's own"
    assert set(senders(hub, "hub")) == {f"Bearer {VISITOR}"}
    hub.reset_log()
    assert Fetcher(settings)(PUBLIC).components[0].tensors
    assert hub.requests == []


@pytest.mark.usefixtures("adapter")
def test_an_adapter_of_a_gated_base_is_read_with_the_users_own_token(hub: HubEmulator) -> None:
    snapshot = Fetcher(settings_of(hub), own_token=VISITOR)(ModelRef("org/adapter"))
    assert {part.name for part in snapshot.components} == {"model", "adapter"}
    assert all(part.tensors for part in snapshot.components)


def test_where_the_users_token_is_looked_for(tmp_path: Path) -> None:
    """As huggingface_hub looks: given, HF_TOKEN, then what a login has saved."""
    (tmp_path / "token").write_text("hf_saved\n")
    home = {"HF_HOME": str(tmp_path)}
    assert own_token(home) == "hf_saved"
    assert own_token(home | {"HF_TOKEN": " hf_env "}) == "hf_env"
    assert own_token(home | {"HF_TOKEN": "hf_env"}, "hf_given") == "hf_given"
    off = home | {"HF_TOKEN": "hf_env", "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}
    assert (own_token(off), own_token(off, "hf_given")) == (None, "hf_given")
    assert own_token({"HF_TOKEN_PATH": str(tmp_path / "none")}) is None
    assert own_token({"XDG_CACHE_HOME": str(tmp_path)}) is None
    with pytest.raises(InvalidRequest):
        own_token({}, "two words")
