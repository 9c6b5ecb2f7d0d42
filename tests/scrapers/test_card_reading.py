"""The model card on the emulated Hub: when it is read, with whose rights, and when it fails."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpusizer.core.messages import Note
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.fetcher import Fetcher
from scrapers.http import HubSession
from scrapers.hub import fetch_snapshot
from tests.hub_emulator import FakeRepo, Fault, HubEmulator, literal_file, llama_repo
from tests.hub_emulator.info import listed_file
from tests.scrapers.conftest import QUICK, Fetch, settings_of

CARD = "---\nlicense: mit\n---\n# Name\n\nIt needs 24GB of VRAM.\n"
README = "README.md"


def repo_with_card(card: str = CARD, repo_id: str = "org/name", **about: object) -> FakeRepo:
    repo = llama_repo(repo_id, shards=2)
    return replace(repo, files=repo.files | {README: literal_file(card)}, **about)


def test_statements_with_their_address(hub: HubEmulator, fetch: Fetch) -> None:
    repo = hub.add(repo_with_card())
    card = fetch().card
    assert card.url == f"https://huggingface.co/org/name/blob/{repo.sha}/README.md"
    assert [(item.vram_gb, item.line) for item in card.statements] == [(24.0, 6)]


def test_the_snapshot_keeps_statements_and_no_text(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(repo_with_card(CARD + "\nA sentence that nobody asked for.\n"))
    stored = fetch().to_json()
    assert "nobody asked" not in str(stored)
    assert RepoSnapshot.from_json(stored).card == fetch().card


def test_a_card_is_left_unread_on_request(hub: HubEmulator, session: HubSession) -> None:
    hub.add(repo_with_card())
    snapshot = fetch_snapshot(ModelRef("org/name", reads_card=False), session, QUICK)
    assert snapshot.card is None and snapshot.notes == ()
    assert not [request for request in hub.requests if README in request.path]


def test_no_card(hub: HubEmulator, fetch: Fetch) -> None:
    repo = llama_repo("org/name", shards=2)
    hub.add(replace(repo, files={k: v for k, v in repo.files.items() if k != README}))
    snapshot = fetch()
    assert snapshot.card is None and snapshot.notes == ()


FAILURES = {
    "missing": Fault("status", README, status=404),
    "broken": Fault("status", README, status=500),
    "another text": Fault("garbage", README, body=b"It needs 1GB of VRAM."),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failing_card_leaves_a_note(
    hub: HubEmulator, fetch: Fetch, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapers.http.pause_seconds", lambda n, hint: 0.01)
    hub.add(repo_with_card())
    wanted = fetch()
    hub.faults.add(FAILURES[name])
    snapshot = fetch()
    assert snapshot.card is None
    assert [note.code for note in snapshot.notes] == ["card_unread"]
    assert snapshot.components == wanted.components


def test_a_long_card_leaves_a_note(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(repo_with_card(CARD + "x" * 2**20))
    assert fetch().notes == (Note("card_unread", reason="limits_exceeded"),)


def test_a_card_that_failed_is_read_again(hub: HubEmulator, session: HubSession) -> None:
    hub.add(repo_with_card())
    whole = fetch_snapshot(ModelRef("org/name"), session, QUICK)
    lacking = replace(whole, card=None, notes=(Note("card_unread", reason="hub_unreachable"),))
    again = fetch_snapshot(ModelRef("org/name"), session, QUICK, last_known=lacking)
    assert again.card == whole.card and again.notes == ()


def test_a_push_between_two_reads(hub: HubEmulator, fetch: Fetch) -> None:
    """The card is of the commit that the description names."""
    repo = hub.add(repo_with_card())
    sha = "0123456789abcdef0123456789abcdef01234567"
    files = repo.files | {README: literal_file(CARD.replace("24", "48"))}
    repo.revisions[sha] = files
    repo.info["sha"] = sha
    repo.info["siblings"] = [listed_file(path, file) for path, file in files.items()]
    assert [item.vram_gb for item in fetch().card.statements] == [48.0]


def test_a_gated_card_is_for_its_visitor_alone(hub: HubEmulator, tmp_path: Path) -> None:
    """Neither an anonymous question nor the operator's token shows it, and no cache keeps it."""
    hub.options.valid_tokens = {"hf_visitor": ["org/name"], "hf_host": ["org/name"]}
    hub.add(repo_with_card(gated="auto"))
    fetcher = Fetcher(
        settings_of(
            hub,
            cache_folder=tmp_path,
            host_token="hf_host",
        )
    )
    assert fetcher(ModelRef("org/name"), "hf_visitor").card is not None
    everybodys = fetcher(ModelRef("org/name"))
    assert everybodys.card is None and everybodys.notes == ()
    kept = "".join(file.read_text() for file in tmp_path.glob("*.json"))
    assert "24GB" not in kept
