"""Files of an emulated model: pickles, pipelines, indexes, limits and malformed configurations."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpusizer.core.errors import (
    LimitsExceeded,
    MalformedRepo,
)
from gpusizer.hub.snapshot import Basis, RepoSnapshot, Totals
from tests.hub_emulator import (
    FakeFile,
    FakeRepo,
    HubEmulator,
    literal_file,
    raw_safetensors_file,
    safetensors_file,
    sharded_repo,
    sparse_file,
)
from tests.hub_emulator.gguf_files import entry, gguf_header
from tests.scrapers.checkpoints import INDEX, TENSORS
from tests.scrapers.conftest import AMPLE, Fetch

PICKLED_CONFIG = literal_file({"model_type": "opt", "torch_dtype": "float16"})


@pytest.mark.parametrize(
    ("total_size", "weight_bytes", "basis"),
    [
        (3_990_000, 3_990_000, "index"),
        (3_990_000.0, 3_990_000, "index"),
        (0, 4_000_000, "files"),
        (8_000_000, 4_000_000, "files"),  # twice the files, as MiniCPM's
        ("4000000", 4_000_000, "files"),
        (None, 4_000_000, "files"),
        (10**400, 4_000_000, "files"),
    ],
)
def test_pickles(
    hub: HubEmulator, fetch: Fetch, total_size: object, weight_bytes: int, basis: Basis
) -> None:
    shards = [f"pytorch_model-0000{n}-of-00002.bin" for n in (1, 2)]
    index = {"metadata": {"total_size": total_size}, "weight_map": {"a": shards[0]}}
    files = {shard: sparse_file(2_000_000) for shard in shards}
    files |= {"config.json": PICKLED_CONFIG, "pytorch_model.bin.index.json": literal_file(index)}
    hub.add(FakeRepo("org/name", files))
    snapshot = fetch()
    (part,) = snapshot.components
    assert snapshot.format == "pickle"
    assert part.totals == Totals({"F16": weight_bytes // 2}, weight_bytes, basis)
    assert [file.path for file in part.files] == shards
    assert RepoSnapshot.from_json(json.loads(json.dumps(snapshot.to_json()))) == snapshot


def test_pickles_without_a_size_use_the_hubs_count(hub: HubEmulator, fetch: Fetch) -> None:
    files = {"pytorch_model.bin": sparse_file(0)}
    hub.add(FakeRepo("org/name", files, parameters={"F16": 77}))
    assert fetch().components[0].totals == Totals({"F16": 77}, 154, "api")
    hub.add(FakeRepo("org/empty", files))
    with pytest.raises(MalformedRepo, match="no_tensors"):
        fetch("org/empty")


def test_single_file_pipeline(hub: HubEmulator, fetch: Fetch) -> None:
    tensors = {
        "first_stage_model.decoder.conv_in.weight": ("F16", (8, 4)),
        "cond_stage_model.transformer.x.weight": ("F16", (8, 2)),
        "model.diffusion_model.input_blocks.0.0.weight": ("F16", (8, 8)),
        "model_ema.decay": ("F32", ()),
    }
    hub.add(FakeRepo("org/name", {"sd.safetensors": safetensors_file(tensors)}))
    snapshot = fetch()
    assert snapshot.format == "diffusers"
    assert [part.name for part in snapshot.components] == [
        "denoiser",
        "text_encoder",
        "vae",
        "other",
    ]
    stored = [sum(group.stored_bytes for group in part.tensors) for part in snapshot.components]
    assert stored == [2 * 64, 2 * 16, 2 * 32, 4]


def test_bare_denoiser(hub: HubEmulator, fetch: Fetch) -> None:
    tensors = {
        "double_blocks.0.img_attn.qkv.weight": ("BF16", (8, 8)),
        "img_in.bias": ("F8_E4M3", (8,)),
    }
    hub.add(FakeRepo("org/name", {"flux1-dev.safetensors": safetensors_file(tensors)}))
    snapshot = fetch()
    assert (snapshot.format, snapshot.components[0].name) == ("diffusers", "denoiser")


def index_of(*names: object) -> dict[str, object]:
    """Return a shard index that names these files."""
    return {"weight_map": {f"t{number}": name for number, name in enumerate(names)}}


@pytest.mark.parametrize(
    ("index", "reason"),
    [
        (index_of("../../../other/name/model.safetensors"), "weight_map"),
        (index_of("model-00001-of-00002.safetensors", "/etc/passwd"), "weight_map"),
        (index_of("http://127.0.0.1:1/x.safetensors"), "weight_map"),
        (index_of(), "weight_map"),
        ({}, "weight_map"),
        (index_of("model-00009-of-00002.safetensors"), "missing_shard"),
    ],
)
def test_malformed_index(
    hub: HubEmulator, fetch: Fetch, index: dict[str, object], reason: str
) -> None:
    repo = sharded_repo("org/name", TENSORS, 2)
    hub.add(replace(repo, files=repo.files | {INDEX: literal_file(index)}))
    with pytest.raises(MalformedRepo) as caught:
        fetch()
    assert caught.value.fields == {"repo_id": "org/name", "file": INDEX, "reason": reason}
    assert all(request.path.startswith(("/org/", "/api/", "/xet")) for request in hub.requests)


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
        fetch(limits=replace(AMPLE, **{limit: value}))
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
        fetch(limits=replace(AMPLE, tensor_groups=groups - 1))
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


NO_TENSORS = gguf_header([entry("general.architecture", "llama")])


@pytest.mark.parametrize(
    ("path", "file", "reason"),
    [
        ("model.safetensors", sparse_file(0), "truncated"),
        ("model.safetensors", raw_safetensors_file(b"{}"), "no_tensors"),
        ("model-1-of-3.safetensors", safetensors_file(TENSORS), "missing_shard"),
        ("pytorch_model-00001-of-00003.bin", sparse_file(9), "missing_shard"),
        ("m-Q4_K_M.gguf", literal_file(NO_TENSORS, lfs=True), "no_tensors"),
    ],
)
def test_lone_files_that_are_no_model(
    hub: HubEmulator, fetch: Fetch, path: str, file: FakeFile, reason: str
) -> None:
    hub.add(FakeRepo("org/name", {path: file}))
    with pytest.raises(MalformedRepo, match=reason):
        fetch()
