"""Checkpoints on a disk: read as those of the Hub, used, and refused where they are malformed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpusizer.core.errors import (
    InvalidModelId,
    LimitsExceeded,
    MalformedRepo,
    NoWeights,
    RevisionNotFound,
    UnsupportedDtype,
)
from gpusizer.gpus import load_catalogue
from gpusizer.hub.model_ref import ModelRef, parse_model_ref
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.usecases.requests.training_request import TrainingRequest
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.trainer import train
from scrapers.repository.local_checkpoint import read_checkpoint, with_local_checkpoints
from scrapers.repository.local_refs import LocalRef, parse_local_or_model_ref
from tests.asking import compare, models_for, size, training
from tests.documents import written
from tests.hub_emulator import (
    FakeFile,
    FakeRepo,
    HubEmulator,
    gguf_repo,
    literal_file,
    llama_repo,
    moe_repo,
    raw_safetensors_file,
    safetensors_file,
    sparse_file,
)
from tests.hub_emulator.safetensors_files import header_json
from tests.scrapers.conftest import Fetch
from tests.scrapers.local_repos import (
    GGUF,
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


def test_paths_and_model_ids_are_distinguished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    on_disk(llama_repo(REPO_ID), tmp_path / "org" / "name")
    on_disk(llama_repo(REPO_ID), tmp_path / "my models" / "a")
    write(tmp_path / "m.gguf", GGUF)
    for text in ("./org/name", "~/org/name/", " ../" + tmp_path.name, "my models/a", "m.gguf"):
        assert isinstance(parse_local_or_model_ref(text), LocalRef), text
    # A text that can be an ID is one, even if the current folder has a file of this name.
    for text in ("org/name", "org", "n.gguf", "gpt2"):
        assert parse_local_or_model_ref(text) == ModelRef(text)
    for text in ("./nothing", "/nowhere/x.gguf", "../\0", "~nobody-of-that-name/x"):
        with pytest.raises(InvalidModelId) as caught:
            parse_local_or_model_ref(text)
        assert caught.value.fields["reason"] == "no_such_path"
    with pytest.raises(InvalidModelId) as caught:
        parse_local_or_model_ref("no models/a")
    assert caught.value.fields["reason"] == "characters"


def refuse(ref: ModelRef) -> RepoSnapshot:
    raise AssertionError(f"the Hub was asked for {ref}")


def test_every_use_case_reads_them(tmp_path: Path) -> None:
    folder = str(on_disk(llama_repo(REPO_ID), tmp_path / "model"))
    catalogue = load_catalogue()
    sizer = Sizer(
        with_local_checkpoints(refuse), catalogue, refuse_listing, None, parse_local_or_model_ref
    )
    report = written(size(sizer, {"model": folder, "quantized_repos": "list"}))
    assert (report["model"]["repo_id"], report["model"]["source"]) == (folder, "local")
    assert report["quantized_repos"] == []
    compared = written(compare(sizer, {"model": folder, "gpus": "4090, 3090"}))
    assert compared["model"]["parameters"] == report["model"]["parameters"]
    trained = written(training(sizer, {"model": folder}))
    assert trained["model"]["parameters"] == report["model"]["parameters"]
    answer = written(models_for(sizer, {"gpu": "4090", "models": folder}))
    assert [model["repo_id"] for model in answer["models"]] == [folder]


def refuse_listing(repo_id: str, sizes: bool) -> tuple[()]:
    raise AssertionError(f"the Hub was asked for {repo_id}")


def test_the_base_of_an_adapter_is_read_from_the_hub(tmp_path: Path) -> None:
    tensors = {"base_model.model.layers.0.q_proj.lora_A.weight": ("BF16", (8, 64))}
    files = {
        "adapter_config.json": literal_file({"base_model_name_or_path": "org/base", "r": 8}),
        "adapter_model.safetensors": safetensors_file(tensors),
    }
    folder = on_disk(FakeRepo(REPO_ID, files), tmp_path / "adapter")
    base = on_disk(llama_repo("org/base"), tmp_path / "base")
    requested_ids = []

    def fetch(ref: ModelRef) -> RepoSnapshot:
        requested_ids.append(ref)
        return local(base)

    snapshot = with_local_checkpoints(fetch)(parse_local_or_model_ref(str(folder)))
    assert requested_ids == [ModelRef("org/base")]
    assert [part.name for part in snapshot.components] == ["model", "adapter"]


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """Paths that this process opens or lists while the test runs."""
    paths: list[str] = []
    watching = True

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("open", "os.scandir", "os.listdir", "mmap.__new__"):
            paths.append(str(arguments[0]))

    sys.addaudithook(note)  # a hook cannot be removed
    yield paths
    watching = False


def test_without_the_shells_wiring_no_path_is_opened(tmp_path: Path, opened: list[str]) -> None:
    """The page's Sizer refuses the path before anything could be fetched."""
    folder = on_disk(llama_repo(REPO_ID), tmp_path / "model")
    catalogue = load_catalogue()
    assert local(folder).components
    assert any(str(tmp_path) in path for path in opened)
    opened.clear()
    sizer = Sizer(refuse, catalogue)
    for text in (str(folder), f"{folder}/model.safetensors", "./model", "~"):
        with pytest.raises(InvalidModelId):
            size(sizer, {"model": text})
        with pytest.raises(InvalidModelId):
            train(sizer, TrainingRequest.from_fields({"model": text}))
        with pytest.raises(InvalidModelId):
            compare(sizer, {"model": text, "gpus": "4090"})
        with pytest.raises(InvalidModelId):
            parse_model_ref(text)
    assert not [path for path in opened if str(tmp_path) in path]


def damaged(sound_file: FakeFile, start: int, data: bytes) -> FakeFile:
    """Return a file with other bytes at one place."""
    head = sound_file.head_bytes()
    return replace(sound_file, head=head[:start] + data + head[start + len(data) :])


def described(tensors: dict[str, tuple[str, list[int], list[int]]]) -> FakeFile:
    """Return a file of 8 bytes of data whose header says dtype, shape and place of its tensors."""
    names = ("dtype", "shape", "data_offsets")
    header = {name: dict(zip(names, tensor, strict=True)) for name, tensor in tensors.items()}
    return raw_safetensors_file(header_json(header), None, 8)


HOSTILE: dict[str, tuple[str, FakeFile, str]] = {
    "empty": ("model.safetensors", literal_file(b""), "truncated"),
    "length": ("model.safetensors", raw_safetensors_file(b"{}", 2**60), "header_length"),
    "no JSON": ("model.safetensors", raw_safetensors_file(b"{]"), "not_json"),
    "no UTF-8": ("model.safetensors", raw_safetensors_file(b'{"\xff":1}'), "not_utf8"),
    "a list": ("model.safetensors", raw_safetensors_file(b"[]"), "not_json"),
    "short data": ("model.safetensors", described({"a": ("F32", [4], [0, 16])}), "beyond_end"),
    "wrong size": ("model.safetensors", described({"a": ("F32", [4], [0, 8])}), "data_offsets"),
    "gap": ("model.safetensors", described({"a": ("U8", [4], [4, 8])}), "data_offsets"),
    "overlap": (
        "model.safetensors",
        described({"a": ("U8", [4], [0, 4]), "b": ("U8", [4], [2, 6])}),
        "data_offsets",
    ),
    "overflow": ("model.safetensors", described({"a": ("U8", [2**62, 9], [0, 8])}), "shape"),
    "negative": ("model.safetensors", described({"a": ("U8", [-8], [0, 8])}), "tensor_entry"),
    "too deep": ("model.safetensors", raw_safetensors_file(b'{"a":' + b"[" * 999), "too_deep"),
    "no tensors": ("model.safetensors", raw_safetensors_file(b"{}"), "no_tensors"),
    "no GGUF": ("m.gguf", literal_file(b"GGML" + bytes(60)), "magic"),
    "cut off": ("m.gguf", replace(GGUF, size=GGUF.size - 4096), "beyond_end"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_files_that_contradict_their_format(kind: str, tmp_path: Path) -> None:
    name, file, reason = HOSTILE[kind]
    write(tmp_path / name, file)
    with pytest.raises(MalformedRepo) as caught:
        local(tmp_path)
    assert caught.value.fields["reason"] == reason
    assert caught.value.fields["file"] == name


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        *(("files", 3), ("header_bytes", 64), ("config_bytes", 8), ("total_bytes", 99)),
        *(("tensors", 4), ("gguf_keys", 3), ("gguf_tensors", 3), ("gguf_header_bytes", 999)),
    ],
)
def test_limits(limit: str, value: int, tmp_path: Path) -> None:
    if limit.startswith("gguf"):
        path = write(tmp_path / "m.gguf", GGUF)
    else:
        path = on_disk(llama_repo(REPO_ID, shards=3), tmp_path)
    with pytest.raises(LimitsExceeded) as caught:
        local(path, **{limit: value})
    assert caught.value.fields["limit"] == limit


def test_unknown_tensor_types_raise_unsupported_dtype(tmp_path: Path) -> None:
    path = write(tmp_path / "model.safetensors", described({"a": ("F7", [8], [0, 8])}))
    with pytest.raises(UnsupportedDtype, match="F7"):
        local(path)


def test_a_folder_without_weights(tmp_path: Path) -> None:
    with pytest.raises(NoWeights):
        local(tmp_path)


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    folder = on_disk(llama_repo(REPO_ID), tmp_path / "model")
    os.mkfifo(folder / "quantize_config.json")
    (folder / "adapter_config.json").symlink_to(tmp_path / "nowhere")
    (folder / "params.json").symlink_to("/dev/zero")
    (folder / "README.md").unlink()
    os.mkfifo(folder / "README.md")  # opening it would block forever
    (folder / "loop").symlink_to(folder)
    assert local(folder).extra_configs == {}
