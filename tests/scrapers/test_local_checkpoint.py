"""Checkpoints on disk give the same facts as on the Hub."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpusizer.core.errors import (
    RevisionNotFound,
)
from scrapers.local_checkpoint import read_checkpoint
from scrapers.local_refs import LocalRef, parse_local_or_model_ref
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    gguf_repo,
    literal_file,
    llama_repo,
    moe_repo,
    safetensors_file,
    sparse_file,
)
from tests.scrapers.conftest import Fetch
from tests.scrapers.local_repos import (
    REPO_ID,
    cached,
    facts,
    local,
    on_disk,
    pieces_repo,
    pipeline_repo,
    split_gguf_repo,
    write,
)

REPOS: dict[str, Callable[[], FakeRepo]] = {
    "one file": lambda: llama_repo(REPO_ID),
    "shards": lambda: llama_repo(REPO_ID, shards=3, layers=4),
    "experts": lambda: moe_repo(REPO_ID, shards=2, dtype="F32"),
    "large": lambda: llama_repo(REPO_ID, hidden=4096, intermediate=11008, vocab=32000, shards=2),
    "GGUF": lambda: gguf_repo(REPO_ID),
    "split GGUF": split_gguf_repo,
    "pieces of a GGUF": pieces_repo,
    "pipeline": pipeline_repo,
    "pickle": lambda: FakeRepo(
        REPO_ID,
        {"config.json": literal_file({"hidden_size": 8}), "pytorch_model.bin": sparse_file(10**6)},
    ),
}


@pytest.mark.parametrize("kind", REPOS)
def test_the_same_facts_as_on_the_hub(
    kind: str, hub: HubEmulator, fetch: Fetch, tmp_path: Path
) -> None:
    repo = REPOS[kind]()
    hub.add(repo)
    snapshot = local(on_disk(repo, tmp_path / "checkpoint"))
    assert facts(snapshot) == facts(fetch(REPO_ID))
    assert (snapshot.source, snapshot.repo_id) == ("local", str(tmp_path / "checkpoint"))
    assert (snapshot.revision, snapshot.sha) == ("main", None)


def test_one_gguf_file_of_several(hub: HubEmulator, fetch: Fetch, tmp_path: Path) -> None:
    repo = gguf_repo(REPO_ID)
    hub.add(repo)
    folder = on_disk(repo, tmp_path)
    snapshot = local(folder / "model-Q8_0.gguf")
    url = f"https://huggingface.co/{REPO_ID}/blob/main/model-Q8_0.gguf"
    assert facts(snapshot) == facts(fetch(url))
    assert [file.path for file in snapshot.components[0].files] == ["model-Q8_0.gguf"]


def test_one_safetensors_file_beside_another(tmp_path: Path) -> None:
    folder = on_disk(llama_repo(REPO_ID), tmp_path)
    other_file = safetensors_file({"x.weight": ("F32", (8, 4))})
    snapshot = local(write(folder / "other.safetensors", other_file))
    assert [file.path for file in snapshot.components[0].files] == ["other.safetensors"]
    assert snapshot.components[0].tensors[0].elements == 32
    assert snapshot.components[0].config is not None
    assert local(folder / "model.safetensors").components == local(folder).components


def test_the_model_card_says_license_and_base(tmp_path: Path) -> None:
    folder = on_disk(llama_repo(REPO_ID), tmp_path)
    (folder / "README.md").write_text("---\nlicense: mit\nbase_model: org/base\n---\nText")
    snapshot = local(folder)
    assert (snapshot.license, snapshot.base_models) == ("mit", ("org/base",))


@pytest.mark.parametrize(
    "card", ["---\n[1, 2\n---", "---\n- a\n---", "---\n" + "[" * 5000 + "\n---"]
)
def test_a_broken_model_card_is_left_out(card: str, tmp_path: Path) -> None:
    folder = on_disk(llama_repo(REPO_ID), tmp_path)
    (folder / "README.md").write_text(card)
    assert local(folder).license is None


def test_the_hubs_cache(hub: HubEmulator, fetch: Fetch, tmp_path: Path) -> None:
    repo = llama_repo(REPO_ID, shards=2)
    hub.add(repo)
    place = cached(repo, tmp_path)
    expected = facts(fetch(REPO_ID))
    for path in (place, place / "snapshots" / repo.sha):
        snapshot = local(path)
        assert facts(snapshot) == replace(expected, revision=snapshot.revision)
        assert (snapshot.repo_id, snapshot.sha) == (REPO_ID, repo.sha)
    assert local(place).revision == "main"
    assert local(place / "snapshots" / repo.sha).revision == repo.sha


def test_revisions_of_the_hubs_cache(tmp_path: Path) -> None:
    repo = llama_repo(REPO_ID)
    ref = parse_local_or_model_ref(str(cached(repo, tmp_path)))
    assert isinstance(ref, LocalRef)
    assert read_checkpoint(replace(ref, revision=repo.sha)).revision == repo.sha
    for revision in ("v2", "0" * 40, "../refs/main"):
        with pytest.raises(RevisionNotFound):
            read_checkpoint(replace(ref, revision=revision))
    plain_ref = parse_local_or_model_ref(str(on_disk(repo, tmp_path / "plain")))
    assert isinstance(plain_ref, LocalRef)
    with pytest.raises(RevisionNotFound):
        read_checkpoint(replace(plain_ref, revision="v2"))
