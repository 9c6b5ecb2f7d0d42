"""fetch_snapshot on gated repositories, pickles, single-file pipelines and model cards."""

from __future__ import annotations

import json

import pytest

from gpusizer.core.errors import GatedModel, MalformedRepo
from gpusizer.hub.snapshot import Basis, RepoSnapshot, Totals
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    literal_file,
    llama_repo,
    safetensors_file,
    sparse_file,
)
from tests.scrapers.conftest import Fetch


def test_gated_pipeline_is_sized_by_its_folders(hub: HubEmulator, fetch: Fetch) -> None:
    files = {
        "model_index.json": literal_file({"unet": ["diffusers", "U"]}),
        "unet/diffusion_pytorch_model.safetensors": sparse_file(4000),
        "vae/diffusion_pytorch_model.fp16.safetensors": sparse_file(600),
    }
    hub.add(FakeRepo("org/name", files, gated="auto", parameters={"F16": 2000}))
    snapshot = fetch()
    assert snapshot.format == "diffusers"
    sizes = {part.name: part.totals.weight_bytes for part in snapshot.components if part.totals}
    assert sizes == {"unet": 4000, "vae": 600}


def test_shards_behind_a_gate_are_not_tried(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(llama_repo("org/name", shards=9, gated="manual"))
    assert fetch().components[0].totals is not None
    # description, file list, and the two files of the first wave
    assert len(hub.requests) <= 4


def test_gated_without_any_size(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(FakeRepo("org/name", {"model.safetensors": sparse_file(0)}, gated="manual"))
    with pytest.raises(GatedModel):
        fetch()


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


def test_pickle_shard_missing(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(FakeRepo("org/name", {"pytorch_model-00001-of-00003.bin": sparse_file(9)}))
    with pytest.raises(MalformedRepo, match="missing_shard"):
        fetch()


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


def test_card(hub: HubEmulator, fetch: Fetch) -> None:
    card = {
        "base_model": "org/base",
        "base_model_relation": "quantized",
        "language": ["en", "pt-BR"],
    }
    hub.add(llama_repo("org/name", card_data=card))
    snapshot = fetch()
    assert (snapshot.base_relation, snapshot.languages) == ("quantized", ("en", "pt-BR"))
