"""The command that embeds models, against an emulated Hub."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from scrapers.cache.stored import INDEX_FILE, EmbeddedSnapshots
from scripts import add_model
from tests.hub_emulator import FakeRepo, HubEmulator, literal_file, llama_repo, sparse_file

DAY = "2026-11-20"
CLUTTERED = {"id2label": {"0": "x"}, "bos_token_id": 1}
VISITOR = "hf_visitor"


@pytest.fixture
def output(tmp_path: Path, hub: HubEmulator, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder for the models; the command reads the emulated Hub."""
    monkeypatch.setenv("HF_ENDPOINT", hub.endpoint)
    monkeypatch.setenv("GPUSIZER_CDN_ORIGINS", hub.cdn_endpoint)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    return tmp_path / "models"


def run(output: Path, *arguments: str) -> int:
    return add_model.main([*arguments, "--date", DAY, "--output", str(output)])


def contents(output: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in output.iterdir()}


def test_a_model_as_it_ships(hub: HubEmulator, output: Path) -> None:
    repo = llama_repo("org/a", config=CLUTTERED, shards=2)
    hub.add(repo)
    assert run(output, "https://huggingface.co/org/a") == 0
    snapshot = EmbeddedSnapshots(output).get("ORG/A")
    assert snapshot is not None
    assert (snapshot.source, snapshot.retrieved_at, snapshot.sha) == ("snapshot", DAY, repo.sha)
    assert (snapshot.evidence, snapshot.license) == (("hub",), "apache-2.0")
    assert sum(file.tensor_count for file in snapshot.components[0].files) == 21
    config = snapshot.components[0].config
    assert config is not None
    assert config["hidden_size"] == 64
    assert not CLUTTERED.keys() & config.keys()


def test_other_models_stay_and_files_are_reproducible(hub: HubEmulator, output: Path) -> None:
    for name in ("openai-community/b", "org/a", "org/c"):
        hub.add(llama_repo(name))
    assert run(output, "org/c") == 0
    assert run(output, "openai-community/b", "org/a") == 0
    files_before = contents(output)
    files = {
        "openai-community/b": "openai-community__b.json",
        "org/a": "org__a.json",
        "org/c": "org__c.json",
    }
    assert json.loads(files_before[INDEX_FILE]) == {
        "models": files,
        "aliases": {"b": "openai-community/b"},
    }
    assert set(files_before) == {*files.values(), INDEX_FILE}
    assert EmbeddedSnapshots(output).get("b") is not None
    assert run(output, "--all") == 0
    assert contents(output) == files_before


def test_all_embedded_models_are_refreshed(hub: HubEmulator, output: Path) -> None:
    hub.add(llama_repo("org/a", layers=2))
    hub.add(llama_repo("org/gone"))
    assert run(output, "org/a", "org/gone") == 0
    before = contents(output)
    hub.add(llama_repo("org/a", layers=5))
    hub.add(llama_repo("org/gone", private=True))
    assert run(output, "--all") == 1
    after = contents(output)
    assert after["org__gone.json"] == before["org__gone.json"]
    snapshot = EmbeddedSnapshots(output).get("org/a")
    assert snapshot is not None
    assert snapshot.components[0].config is not None
    assert snapshot.components[0].config["num_hidden_layers"] == 5


def test_a_renamed_model_is_found_by_both_names(hub: HubEmulator, output: Path) -> None:
    hub.add(llama_repo("org/old"))
    assert run(output, "org/old") == 0
    hub.add(llama_repo("org/new"))
    hub.options.renames = {"org/old": "org/new"}
    assert run(output, "--all") == 0
    embedded = EmbeddedSnapshots(output)
    assert embedded.ids() == ("org/new",)
    snapshot = embedded.get("org/old")
    assert snapshot is not None
    assert (snapshot.repo_id, snapshot.notes) == ("org/new", ())
    assert set(contents(output)) == {"org__new.json", INDEX_FILE}


def test_a_gated_model_needs_a_token(
    hub: HubEmulator, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.options.valid_tokens = {VISITOR: ["org/gated"]}
    hub.add(llama_repo("org/gated", gated="auto"))
    assert run(output, "org/gated") == 1
    assert EmbeddedSnapshots(output).ids() == ()
    monkeypatch.setenv("HF_TOKEN", VISITOR)
    assert run(output, "org/gated") == 0
    snapshot = EmbeddedSnapshots(output).get("org/gated")
    assert snapshot is not None
    assert snapshot.gated
    assert snapshot.components[0].tensors


@pytest.mark.parametrize("kind", ["private", "pickle", "missing", "no ID"])
def test_private_pickled_and_invalid_models_are_not_embedded(
    kind: str,
    hub: HubEmulator,
    output: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("HF_TOKEN", VISITOR)
    hub.options.valid_tokens = {VISITOR: ["org/private"]}
    hub.add(replace(llama_repo("org/private"), private=True))
    files = {"config.json": literal_file({}), "pytorch_model.bin": sparse_file(4096)}
    hub.add(FakeRepo("org/pickle", files))
    hub.add(llama_repo("org/a"))
    name = f"org/{kind}" if kind != "no ID" else "../org"
    assert run(output, name, "org/a") == 1
    assert EmbeddedSnapshots(output).ids() == ("org/a",)
    assert name in capsys.readouterr().err
