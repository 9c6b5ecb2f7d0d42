"""Benchmark results of a repository, read from an emulated Hub that may answer anything."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpusizer.core.messages import Note
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.published_results import MOST_RESULTS, PublishedResult
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.client.http import HubSession
from scrapers.client.published_results import index_results
from scrapers.repository.hub import fetch_snapshot
from scrapers.repository.local_checkpoint import read_checkpoint
from scrapers.repository.local_refs import LocalRef
from tests.counting import steps_of
from tests.hub_emulator import FakeRepo, Fault, HubEmulator, literal_file, llama_repo
from tests.hub_emulator.safetensors_files import safetensors_file
from tests.scrapers.checkpoints import TENSORS
from tests.scrapers.conftest import AMPLE, Fetch

INFO = r"^/api/models/org/name$"
HLE = {"dataset": {"id": "cais/hle", "task_id": "default"}, "value": 20.9}
WER = {"type": "wer", "value": 8.1}


def evaluated(*items: Any, card: Any = None) -> FakeRepo:
    """Return a repository with a result file, whose description has `items`."""
    repo = llama_repo("org/name", info={"evalResults": list(items), "model-index": card})
    repo.files[".eval_results/hle.yaml"] = literal_file(b"- value: 20.9")
    return repo


def indexed(*metrics: Any, **more: Any) -> list[Any]:
    """Return the metadata of a card with one benchmark."""
    entry = {"dataset": {"type": "librispeech", "name": "LibriSpeech"}, "metrics": list(metrics)}
    return [{"name": "name", "results": [entry | more]}]


def results(hub: HubEmulator, fetch: Fetch, repo: FakeRepo) -> tuple[PublishedResult, ...]:
    hub.add(repo)
    hub.reset_log()
    return fetch(repo.repo_id).published_results


def expanded(hub: HubEmulator) -> int:
    """Count requests for results."""
    return sum("expand" in request.query for request in hub.requests)


def test_result_files_take_one_request(hub: HubEmulator, fetch: Fetch) -> None:
    source = {"url": "https://example.org/run", "name": "Eval traces", "user": "celinah"}
    item = {**HLE, "date": "2025-01-15T10:30:00Z", "source": source, "notes": "no-tools"}
    hub.add(evaluated({"filename": ".eval_results/hle.yaml", "data": item}))
    # beside the configuration, the card and the redirect of the weights
    hub.expect_waves(1, 4, 1)
    found = fetch().published_results
    assert found == (
        PublishedResult(
            benchmark="cais/hle",
            value=20.9,
            by="maker",
            task="default",
            date="2025-01-15",
            source_name="Eval traces",
            source_url="https://example.org/run",
            notes="no-tools",
        ),
    )
    assert expanded(hub) == 1
    assert (len(hub.requests), hub.round_trips) == (6, 3)


def test_a_card_costs_no_request(hub: HubEmulator, fetch: Fetch) -> None:
    card = indexed(WER, source={"name": "A board", "url": "https://example.org/board"})
    found = results(hub, fetch, llama_repo("org/name", info={"model-index": card}))
    assert [(item.benchmark, item.metric, item.value, item.by) for item in found] == [
        ("LibriSpeech", "wer", 8.1, "maker")
    ]
    assert found[0].source_name == "A board" and found[0].date is None
    assert expanded(hub) == 0


@pytest.mark.parametrize(
    ("beside", "by"),
    [
        ({}, "maker"),
        ({"pullRequest": 3}, "community"),
        ({"verified": True}, "verified"),
        ({"verified": "true"}, "maker"),
    ],
)
def test_who_states_a_result(hub: HubEmulator, fetch: Fetch, beside: Any, by: str) -> None:
    """Only the Hub's own word beside the file verifies it; a token in the file may be anything."""
    data = {**HLE, "verified": True, "verifyToken": "eyJhbGciOi"}
    (found,) = results(hub, fetch, evaluated({"data": data, **beside}))
    assert (found.by, found.is_verified) == (by, by == "verified")


def test_a_card_verifies_nothing(hub: HubEmulator, fetch: Fetch) -> None:
    card = indexed({**WER, "verified": True, "verifyToken": "eyJhbGciOi"})
    (found,) = results(hub, fetch, llama_repo("org/name", info={"model-index": card}))
    assert found.by == "maker"


@pytest.mark.parametrize(
    "data",
    [
        None,
        "text",
        {},
        {"value": 1.0},
        {**HLE, "value": "20.9 ± 1"},
        {**HLE, "value": "1e3"},
        {**HLE, "value": "٢٠"},
        {**HLE, "value": True},
        {**HLE, "value": None},
        {**HLE, "value": 10**400},
        {**HLE, "value": -1e300},
        {**HLE, "dataset": {"id": "<b>hle</b>"}},
        {**HLE, "dataset": {"id": ["cais/hle"]}},
        {**HLE, "dataset": {"id": "a/b/c"}},
    ],
)
def test_a_malformed_result_is_left_out(hub: HubEmulator, fetch: Fetch, data: Any) -> None:
    items = [{"filename": "x", "data": data}, {"filename": "y", "error": "invalid"}, 7]
    assert results(hub, fetch, evaluated(*items, {"data": HLE})) == results(
        hub, fetch, evaluated({"data": HLE})
    )


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_values_that_are_no_numbers(hub: HubEmulator, fetch: Fetch, value: str) -> None:
    hub.add(evaluated({"data": {**HLE, "value": "HERE"}}, {"data": HLE}))
    body = value.encode()
    hub.faults.add(Fault("change", INFO, change=lambda text: text.replace(b'"HERE"', body)))
    # the Hub's JSON has no such values: an answer with one is refused, or the entry left out
    assert {item.value for item in fetch().published_results} <= {20.9}


@pytest.mark.parametrize(
    "card",
    [
        {"results": []},
        [None, [], "x", {"results": {"dataset": {}}}],
        [{"results": [{"metrics": [WER]}, {"dataset": {"name": 3}, "metrics": [WER]}]}],
        [{"results": [{"dataset": {"name": "x"}, "metrics": {"wer": 1}}]}],
        indexed(None, 3, {"value": "WIP"}, {"value": {"mean": 1}}),
    ],
)
def test_a_malformed_card_has_no_results(hub: HubEmulator, fetch: Fetch, card: Any) -> None:
    assert results(hub, fetch, llama_repo("org/name", info={"model-index": card})) == ()


def test_a_number_in_quotes_counts(hub: HubEmulator, fetch: Fetch) -> None:
    """As in older cards: https://huggingface.co/danieleV9H/hubert-base-libri-clean-ft100h-v3."""
    card = indexed({"type": "wer", "value": "16.9783"})
    (found,) = results(hub, fetch, llama_repo("org/name", info={"model-index": card}))
    assert found.value == 16.9783


def test_many_results_are_cut(hub: HubEmulator, fetch: Fetch) -> None:
    items = [{"data": {**HLE, "value": number}} for number in range(500)]
    card = indexed(*({"type": "wer", "value": number} for number in range(500)))
    found = results(hub, fetch, evaluated(*items, card=card))
    assert [item.value for item in found] == list(range(MOST_RESULTS))
    twice = results(hub, fetch, evaluated({"data": HLE}, {"data": HLE}))
    assert len(twice) == 1


def test_texts_are_short_and_printable(hub: HubEmulator, fetch: Fetch) -> None:
    long = "x" * 100_000
    card = indexed(
        {"name": f"\x1b[2J\u202e{long}", "value": 1.0},
        dataset={"name": "<script>\n\n alert(1)</script>", "config": long},
        source={"name": long, "url": f"https://example.org/{long}"},
    )
    (found,) = results(hub, fetch, llama_repo("org/name", info={"model-index": card}))
    assert found.benchmark == "<script> alert(1)</script>", "escaped where it is shown"
    assert found.metric is not None and found.metric.startswith("\ufffd[2J\ufffd")
    texts = (found.metric, found.task, found.source_name)
    assert [len(text or "") for text in texts] == [120] * 3
    assert found.source_url is None


@pytest.mark.parametrize(
    "url",
    [
        *("javascript:alert(1)", "data:text/html,x", "//example.org", "https://", "https://[", 3),
        *(
            "https://user:secret@example.org",
            "https://example.org/a b",
            "https://ex\u202eample.org",
        ),
    ],
)
def test_addresses_of_other_kinds_are_left_out(hub: HubEmulator, fetch: Fetch, url: Any) -> None:
    (found,) = results(hub, fetch, evaluated({"data": {**HLE, "source": {"url": url}}}))
    assert found.source_url is None


@pytest.mark.parametrize("day", ["2999-01-01", "2025-13-01", "soon", 20250101, None])
def test_days_that_cannot_be(hub: HubEmulator, fetch: Fetch, day: Any) -> None:
    (found,) = results(hub, fetch, evaluated({"data": {**HLE, "date": day}}))
    assert found.date is None


FAULTS = [
    Fault("status", status=500),
    Fault("status", status=429, headers={"Retry-After": "0"}),
    Fault("status", status=403),
    Fault("status", status=404),
    Fault("garbage", body=b"<html>", status=200),
    Fault("garbage", body=b"[" * 100_000, status=200),
    Fault("garbage", body=b" " * (AMPLE.evaluations_bytes + 1), status=200),
    Fault("reset"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}-{fault.status}")
def test_the_answer_does_without_them(hub: HubEmulator, session: HubSession, fault: Fault) -> None:
    """The model is read all the same, with the card's results, and asked again the next time."""
    hub.add(evaluated({"data": HLE}, card=indexed(WER)))
    whole = fetch_snapshot(ModelRef("org/name"), session, AMPLE)
    hub.faults.add(replace(fault, match=INFO, skip=1, happened=0))
    without = fetch_snapshot(ModelRef("org/name"), session, AMPLE)
    assert without.components == whole.components and without.card == whole.card
    assert [item.metric for item in without.published_results] == ["wer"]
    assert [note.code for note in without.notes] == ["results_unread"]
    hub.faults.clear()
    again = fetch_snapshot(ModelRef("org/name"), session, AMPLE, last_known=without)
    assert again.published_results == whole.published_results
    assert [item.benchmark for item in whole.published_results] == ["cais/hle", "LibriSpeech"]


def test_an_answer_of_another_form_has_none(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(evaluated({"data": HLE}))
    hub.faults.add(Fault("garbage", INFO, skip=1, body=b'{"evalResults": {"a": 1}}'))
    assert fetch().published_results == ()


def test_none_are_requested_without_a_card_or_with_few_requests_left(
    hub: HubEmulator, session: HubSession, fetch: Fetch
) -> None:
    hub.add(evaluated({"data": HLE}))
    fetch_snapshot(ModelRef("org/name", reads_card=False), session, AMPLE)
    assert expanded(hub) == 0
    hub.options.rate_limits = {**hub.options.rate_limits, "api": (10, 10)}
    hub.options.enforce_rate_limits = True
    notes = [fetch().notes for _ in range(5)]
    # the last request that is left is a model's
    assert notes == [*[()] * 4, (Note("results_unread", reason="hub_rate_limited"),)]
    assert expanded(hub) == 4


def test_json_round_trip(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(evaluated({"data": HLE}, card=indexed(WER)))
    snapshot = fetch()
    stored = json.loads(json.dumps(snapshot.to_json()))
    assert RepoSnapshot.from_json(stored) == snapshot
    stored.pop("published_results")
    assert RepoSnapshot.from_json(stored) == replace(snapshot, published_results=())


def test_lists_that_share_parts_are_looked_at_once() -> None:
    """YAML's aliases make a billion entries of a few bytes."""
    entry = {"dataset": {"name": "x"}, "metrics": [{}] * 3000}
    shared = [{"results": [entry] * 3000}] * 3000
    assert steps_of(lambda: index_results(shared)) < 100_000


def test_a_checkpoint_on_disk_has_those_of_its_card(tmp_path: Path) -> None:
    weights = safetensors_file(TENSORS)
    (tmp_path / "model.safetensors").write_bytes(weights.read(0, weights.size))
    (tmp_path / "config.json").write_text('{"model_type": "x"}')
    card = "---\nmodel-index:\n- results:\n  - dataset: {name: LibriSpeech}\n"
    (tmp_path / "README.md").write_text(f"{card}    metrics: [{{type: wer, value: 8.1}}]\n---\n")
    (found,) = read_checkpoint(LocalRef("x/y", path=tmp_path)).published_results
    assert (found.benchmark, found.value) == ("LibriSpeech", 8.1)
