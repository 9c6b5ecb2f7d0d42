"""What a model costs: requests, round trips one after the other, bytes.

Requests that are to be made together are announced as a wave: the Hub answers none of them before
all have arrived, however busy the machine is.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from gpusizer.errors import MalformedRepo
from gpusizer.hub_id import ModelRef
from gpusizer.snapshot import RepoSnapshot
from scrapers.first_guess import first_guess
from scrapers.http import HubSession
from scrapers.hub import fetch_snapshot
from tests.hub_emulator import FakeRepo, Fault, HubEmulator, literal_file, llama_repo, moe_repo
from tests.scrapers.conftest import QUICK, Fetch

PATIENT = replace(
    QUICK, parallel_reads=64, headers_seconds=30.0, request_seconds=30.0, model_seconds=60.0
)
ROUTE = "/safetensors-metadata/"
INDEX = "model.safetensors.index.json"


@pytest.fixture
def fetch(fetch: Fetch) -> Fetch:
    """Reads a pasted model ID; no budget of time runs out on a busy machine."""
    return partial(fetch, limits=PATIENT)


def cost(hub: HubEmulator) -> tuple[int, int]:
    """Requests, and round trips one after the other, since the log was reset."""
    return len(hub.requests), hub.round_trips


# ID, shards -> requests of each round trip
COSTS = [
    ("org/name", 1, (2, 2)),  # info and weights, the CDN's weights and config
    ("org/name", 4, (2, 2)),  # info and model.safetensors in vain, all headers and config
    ("org/name", 40, (2, 2)),
    ("org/name-8B", 4, (2, 1)),  # info and all headers, config
    ("org/name-0.5b", 1, (2, 2)),
]
SHARD_BY_SHARD = (2, 10 + 1, 10)  # info and a guess, ten shards and config, the CDN's shards


@pytest.mark.parametrize(("repo_id", "shards", "waves"), COSTS)
def test_default_branch(
    hub: HubEmulator, fetch: Fetch, repo_id: str, shards: int, waves: tuple[int, ...]
) -> None:
    hub.add(llama_repo(repo_id, layers=40, shards=shards))
    hub.expect_waves(*waves)
    snapshot = fetch(repo_id)
    assert cost(hub) == (sum(waves), len(waves))
    assert len(snapshot.components[0].files) == shards


@pytest.mark.parametrize("status", [404, 429, 500, 501, 503])
def test_headers_route_refused(hub: HubEmulator, fetch: Fetch, status: int) -> None:
    """The refusal costs a request once; then shards are read without asking again."""
    hub.add(llama_repo("org/name-8B", layers=12, shards=10))
    expected = fetch("org/name-8B")
    hub.options.safetensors_metadata_status = status
    for _ in range(2):
        hub.expect_waves(*SHARD_BY_SHARD)
        found = fetch("org/name-8B")
        assert cost(hub) == (23, 3)
        assert found.components == expected.components
    assert sum(ROUTE in request.path for request in hub.requests) == 0


def test_other_revision(hub: HubEmulator, fetch: Fetch) -> None:
    repo = llama_repo("org/name-8B", layers=12, shards=10)
    hub.add(replace(repo, revisions={"v1": dict(repo.files)}))
    hub.expect_waves(*SHARD_BY_SHARD)
    fetch("org/name-8B@v1")
    assert cost(hub) == (23, 3)
    assert {request.path.rpartition("/")[2] for request in hub.requests} & {INDEX} == set()


def test_little_more_than_the_headers_is_read(hub: HubEmulator, fetch: Fetch) -> None:
    hub.options.safetensors_metadata_status = 501
    repo = hub.add(moe_repo("org/name-8B", layers=24, experts=64, shards=32))
    fetch("org/name-8B")
    shards = [file for path, file in repo.files.items() if path.endswith(".safetensors")]
    headers = sum(int.from_bytes(file.read(0, 8), "little") for file in shards)
    read = sum(request.body_bytes_sent for request in hub.requests_to("cdn"))
    assert headers > 500_000
    assert read < 1.3 * headers + 2**17
    assert len(hub.requests_to("cdn")) <= 34


def test_unchanged_commit_costs_one_request(hub: HubEmulator, session: HubSession) -> None:
    hub.add(llama_repo("org/name", shards=4))
    ref = ModelRef("org/name")
    first = fetch_snapshot(ref, session, PATIENT)
    hub.reset_log()
    assert fetch_snapshot(ref, session, PATIENT, known=first) is first
    assert cost(hub) == (1, 1)
    hub.add(llama_repo("org/name", shards=4, gated="auto"))
    (component,) = fetch_snapshot(ref, session, PATIENT, known=first).components
    assert component.totals is not None, "what was read before the gate closed stays behind it"


def test_small_file_without_its_shortcut(hub: HubEmulator, fetch: Fetch) -> None:
    """Refused, wrong or missing: the file is read the long way, and next time at once so."""
    hub.add(llama_repo("org/name"))
    expected = fetch()
    hub.faults.add(Fault("status", "/api/resolve-cache/", times=1, status=403))
    assert fetch().components == expected.components
    hub.expect_waves(2, 2, 1)
    assert fetch().components == expected.components
    assert cost(hub) == (5, 3)


def test_small_file_that_is_another_one(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(llama_repo("org/name"))
    expected = fetch()
    login = Fault("garbage", "/api/resolve-cache/", times=1, body=b'{"model_type": "other"}')
    hub.faults.add(login)
    assert fetch().components == expected.components


Header = dict[str, Any]


def answer_of(headers: Header) -> bytes:
    return json.dumps({"index": {}, "headers": headers}, separators=(",", ":")).encode()


def entry(shape: list[int], end: int, dtype: str = "F32") -> Header:
    return {"t": {"dtype": dtype, "shape": shape, "data_offsets": [0, end]}}


SHARD = "model-00001-of-00002.safetensors"
LIES: dict[str, bytes] = {
    "empty": b"",
    "html": b"<html>",
    "list": b"[]",
    "cut": b'{"index":{},"headers":{',
    "no headers": answer_of({}),
    "another file": answer_of({"../../x": entry([1], 4)}),
    "no such shard": answer_of({"model-00009-of-00002.safetensors": entry([1], 4)}),
    "negative": answer_of({SHARD: entry([-1], 4)}),
    "wrong offsets": answer_of({SHARD: entry([3], 4)}),
    "larger than the file": answer_of({SHARD: entry([10**9], 4 * 10**9)}),
    "twice": b'{"index":{},"headers":{"a":{},"a":{}}}',
    "brackets": b'{"headers":{"a":' + b"[]," * 2_000_000 + b"[]}}",
    "deep": b'{"headers":{"a":' + b"[" * 100_000,
}


@pytest.mark.parametrize("name", LIES)
def test_lies_of_the_headers_route(hub: HubEmulator, fetch: Fetch, name: str) -> None:
    """Nothing of such an answer is believed: the files themselves are asked."""
    hub.add(llama_repo("org/name", shards=2))
    expected = fetch()
    hub.faults.add(Fault("garbage", ROUTE, body=LIES[name]))
    assert fetch().components == expected.components


def test_answer_in_another_form(hub: HubEmulator, fetch: Fetch) -> None:
    """Spaces, order and escapes are the sender's affair."""
    repo = hub.add(llama_repo("org/name", shards=2))
    expected = fetch()
    headers = {
        path: json.loads(file.head_bytes()[8 : 8 + int.from_bytes(file.read(0, 8), "little")])
        for path, file in repo.files.items()
        if path.endswith(".safetensors")
    }
    turned = {"headers": headers, "index": {"metadata": {"é": 1}}}
    hub.faults.add(Fault("garbage", ROUTE, body=json.dumps(turned, indent=1).encode()))
    hub.reset_log()
    assert fetch().components == expected.components
    assert hub.requests_to("cdn") == []


def test_index_that_names_other_shards(hub: HubEmulator, fetch: Fetch) -> None:
    """The Hub cannot read such an index (400): so it is looked at, and its fault is told."""
    repo = llama_repo("org/name-8B", shards=2)
    index = literal_file({"weight_map": {"t": "../../x"}})
    hub.add(replace(repo, files=repo.files | {INDEX: index}))
    with pytest.raises(MalformedRepo, match="weight_map"):
        fetch("org/name-8B")


def test_gated_model_costs_two_requests(hub: HubEmulator, fetch: Fetch) -> None:
    """The description holds the totals; the guess that went along finds the gate shut."""
    hub.add(llama_repo("org/name-8B", shards=2, gated="auto"))
    hub.expect_waves(2)
    (component,) = fetch("org/name-8B").components
    assert component.tensors == () and component.totals is not None
    assert len(hub.requests) == 2


def test_an_older_copy_says_what_to_ask_for(hub: HubEmulator, session: HubSession) -> None:
    """A name without a size: all headers are asked for at once, and nothing in vain."""
    hub.add(llama_repo("org/name", shards=4))
    ref = ModelRef("org/name")
    copy = fetch_snapshot(ref, session, PATIENT)
    hub.expect_waves(2, 1)
    again = fetch_snapshot(ref, session, PATIENT, expected=copy)
    assert again.components == copy.components
    assert cost(hub) == (3, 2)  # description and all headers, then the configuration


def test_an_expected_gate_costs_one_request(hub: HubEmulator, session: HubSession) -> None:
    hub.add(llama_repo("org/name-8B", shards=2, gated="auto"))
    ref = ModelRef("org/name-8B")
    hub.expect_waves(2)
    gated = fetch_snapshot(ref, session, PATIENT)
    hub.reset_log()
    (component,) = fetch_snapshot(ref, session, PATIENT, expected=gated).components
    assert component.totals is not None and component.totals.parameters
    assert cost(hub) == (1, 1)
    hub.add(llama_repo("org/name-8B", shards=2))
    (component,) = fetch_snapshot(ref, session, PATIENT, expected=gated).components
    assert component.tensors, "a gate that opened meanwhile costs a round trip, no answer"


GUESSES = {
    "meta-llama/Llama-3.1-8B": "sharded",
    "mistralai/Mixtral-8x7B-v0.1": "sharded",
    "Qwen/Qwen3-0.6B": "single",
    "Qwen/Qwen3-235B-A22B": "sharded",
    "google-bert/bert-base-uncased": "single",
    "TheBloke/Llama-2-7B-Chat-GGUF": "neither",
    "org/llama-7b-lora": "neither",
    "org/flora-7b": "sharded",
    "unsloth/mistral-7b-instruct-v0.3-bnb-4bit": "single",
    "TheBloke/Falcon-180B-Chat-GPTQ": "sharded",
    "microsoft/Phi-3-mini-128k-instruct": "single",
}


@pytest.mark.parametrize(("repo_id", "guess"), GUESSES.items())
def test_first_guess(repo_id: str, guess: str) -> None:
    assert first_guess(repo_id) == guess


def test_wrong_guess_costs_one_request(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(llama_repo("org/name-8B"))
    fetch("org/name-8B")
    assert len(hub.requests) == 5


def test_same_answer_either_way(hub: HubEmulator, session: HubSession) -> None:
    repos: list[FakeRepo] = [
        llama_repo("org/llama", layers=9, shards=5),
        moe_repo("org/moe", experts=16, shards=7),
    ]
    for repo in repos:
        hub.add(replace(repo, revisions={"v1": dict(repo.files)}))
        found: list[RepoSnapshot] = [
            fetch_snapshot(ModelRef(repo.repo_id, revision), session, PATIENT)
            for revision in (None, "v1")
        ]
        assert [len(group.indices) for group in found[0].components[0].tensors]
        assert found[0].components[0].tensors == found[1].components[0].tensors
        assert [f.tensor_count for f in found[0].components[0].files] == [
            f.tensor_count for f in found[1].components[0].files
        ]
