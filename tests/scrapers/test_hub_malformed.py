"""Malformed indexes, headers, configurations and API responses raise typed errors."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpusizer.core.errors import (
    GpusizerError,
    LimitsExceeded,
    MalformedRepo,
    UnsupportedDtype,
)
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    literal_file,
    llama_repo,
    raw_safetensors_file,
    safetensors_file,
    sharded_repo,
    sparse_file,
)
from tests.scrapers.checkpoints import INDEX, TENSORS
from tests.scrapers.conftest import QUICK, Fetch


def index_of(*names: object) -> dict[str, object]:
    """A shard index that names these files."""
    return {"weight_map": {f"t{number}": name for number, name in enumerate(names)}}


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (index_of("../../../other/name/model.safetensors"), "weight_map"),
        (index_of("model-00001-of-00002.safetensors", "/etc/passwd"), "weight_map"),
        (index_of("http://127.0.0.1:1/x.safetensors"), "weight_map"),
        (index_of("a\\b"), "weight_map"),
        (index_of(3), "weight_map"),
        (index_of(), "weight_map"),
        ({"weight_map": [1]}, "weight_map"),
        ({}, "weight_map"),
        (index_of("model-00009-of-00002.safetensors"), "missing_shard"),
        ([], "not_an_object"),
        ("nonsense", "not_an_object"),
    ],
)
def test_malformed_index(hub: HubEmulator, fetch: Fetch, index: object, reason: str) -> None:
    repo = sharded_repo("org/name", TENSORS, 2)
    text = index if isinstance(index, str) else json.dumps(index)
    hub.add(replace(repo, files=repo.files | {INDEX: literal_file(text)}))
    with pytest.raises(MalformedRepo) as caught:
        fetch()
    assert caught.value.fields == {"repo_id": "org/name", "file": INDEX, "reason": reason}
    assert all(request.path.startswith(("/org/", "/api/", "/xet")) for request in hub.requests)


def test_numbered_file_missing(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(FakeRepo("org/name", {"model-1-of-3.safetensors": safetensors_file(TENSORS)}))
    with pytest.raises(MalformedRepo, match="missing_shard"):
        fetch()


SPAN = {"data_offsets": [0, 4]}


HEADERS: dict[str, tuple[bytes, int | None, type[GpusizerError]]] = {
    "cut file": (b'{"a": 1', 900, MalformedRepo),
    "empty header": (b"", None, MalformedRepo),
    "no tensors": (b"{}", None, MalformedRepo),
    "too long": (b"{}", 2**62, MalformedRepo),
    "not JSON": (b"nonsense", None, MalformedRepo),
    "unknown dtype": (
        json.dumps({"a": {"dtype": "F7", "shape": [1], **SPAN}}).encode(),
        None,
        UnsupportedDtype,
    ),
    "beyond the end": (
        json.dumps({"a": {"dtype": "F32", "shape": [1], **SPAN}}).encode(),
        None,
        MalformedRepo,
    ),
}


@pytest.mark.parametrize("name", HEADERS)
def test_malformed_header(hub: HubEmulator, fetch: Fetch, name: str) -> None:
    header, length, error = HEADERS[name]
    weights = raw_safetensors_file(header, length)
    hub.add(FakeRepo("org/name", {"model.safetensors": weights}))
    with pytest.raises(error):
        fetch()


def test_empty_file(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(FakeRepo("org/name", {"model.safetensors": sparse_file(0)}))
    with pytest.raises(MalformedRepo, match="truncated"):
        fetch()


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        *[
            ("tensors", 5),
            ("tensor_groups", 0),
            ("weight_files", 1),
            ("config_bytes", 10),
            ("index_bytes", 100),
        ],
        *[("info_bytes", 50), ("total_bytes", 1500), ("components", 0)],
    ],
)
def test_budgets(hub: HubEmulator, fetch: Fetch, limit: str, value: int) -> None:
    repo = hub.add(sharded_repo("org/name", TENSORS, 3, {"model_type": "something"}))
    if limit == "index_bytes":  # read when the names do not say which shards there are
        del repo.files["model-00002-of-00003.safetensors"]
        hub.options.safetensors_metadata_status = 501
    with pytest.raises(LimitsExceeded) as caught:
        fetch(limits=replace(QUICK, **{limit: value}))
    assert caught.value.fields == {"repo_id": "org/name", "limit": limit, "allowed": value}


def test_groups_of_all_folders_count_together(hub: HubEmulator, fetch: Fetch) -> None:
    index = {"_class_name": "X", "unet": ["diffusers", "Unet"], "vae": ["diffusers", "Vae"]}
    files = {
        "model_index.json": literal_file(index),
        "unet/diffusion_pytorch_model.safetensors": safetensors_file(TENSORS),
        "vae/diffusion_pytorch_model.safetensors": safetensors_file(TENSORS),
    }
    hub.add(FakeRepo("org/name", files))
    groups = sum(len(part.tensors) for part in fetch().components)
    assert groups == 2 * len(fetch().components[0].tensors)
    with pytest.raises(LimitsExceeded) as caught:
        fetch(limits=replace(QUICK, tensor_groups=groups - 1))
    assert caught.value.fields["limit"] == "tensor_groups"


@pytest.mark.parametrize("config", ["[1]", "{", "[" * 9000, '{"a":' * 40 + "1" + "}" * 40])
def test_malformed_config(hub: HubEmulator, fetch: Fetch, config: str) -> None:
    files = {
        "config.json": literal_file(config),
        "model.safetensors": safetensors_file(TENSORS),
    }
    hub.add(FakeRepo("org/name", files))
    with pytest.raises(MalformedRepo) as caught:
        fetch()
    assert caught.value.fields["file"] == "config.json"


def test_config_with_a_mark_and_no_numbers(hub: HubEmulator, fetch: Fetch) -> None:
    files = {
        "config.json": literal_file('\ufeff{"a": NaN, "b": -Infinity, "c": 1}'),
        "model.safetensors": safetensors_file(TENSORS),
    }
    hub.add(FakeRepo("org/name", files))
    assert fetch().components[0].config == {"a": None, "b": None, "c": 1}


def nested(depth: int) -> object:
    """Lists in lists."""
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "info",
    [
        {"id": "../../x", "sha": "main"},
        {"id": 7, "sha": ["x"], "gated": "manual", "tags": "x", "cardData": [1]},
        {"cardData": {"license": {"a": 1}, "base_model": [1, "a b", "../x"]}, "tags": [3]},
        {"cardData": {"language": [1, "<b>", "x" * 99, None]}, "baseModels": {"relation": ["x"]}},
        {"safetensors": {"parameters": {"BF16": -1}}, "config": [1], "baseModels": 3},
        {"safetensors": {"parameters": {"F7": 1}}, "tags": ["base_model:", "base_model:evil:../x"]},
        {"config": {"a": nested(40)}, "safetensors": {"parameters": {}}},
        {"pipeline_tag": "x\x1b[31m", "library_name": "y" * 1000},
    ],
)
def test_lying_api(hub: HubEmulator, fetch: Fetch, info: dict[str, object]) -> None:
    repo = llama_repo("org/name", card_data={}, pipeline_tag=None, library_name=None)
    hub.add(replace(repo, info=info))
    snapshot = fetch()
    assert snapshot.repo_id == "org/name"
    assert (snapshot.license, snapshot.base_models) == (None, ())
    assert (snapshot.pipeline_tag, snapshot.library) == (None, None)
    assert (snapshot.base_relation, snapshot.languages) == (None, ())
