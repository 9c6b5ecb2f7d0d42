"""Descriptions whose file list is empty or cut: the tree is asked, once, and the numbers are those
of the whole list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gpusizer.core.errors import NoWeights
from gpusizer.hub.snapshot import RepoSnapshot
from tests.hub_emulator import (
    FakeRepo,
    Fault,
    HubEmulator,
    gguf_file,
    literal_file,
    llama_repo,
    safetensors_file,
)
from tests.hub_emulator.gguf_models import gguf_shards, llama_metadata, llama_tensors
from tests.scrapers.conftest import Fetch

ADAPTER = {"base_model.model.layers.0.self_attn.q_proj.lora_A.weight": ("F32", (8, 64))}
UNET, VAE = {"conv_in.weight": ("F16", (64, 8))}, {"decoder.weight": ("F16", (16, 8))}


def safetensors() -> FakeRepo:
    return llama_repo("org/name", shards=3)


def gguf() -> FakeRepo:
    shards = gguf_shards("model-Q4_K_M", llama_metadata(), llama_tensors("Q4_K"), 3)
    other = gguf_file(llama_metadata(), llama_tensors("Q8_0"))
    return FakeRepo(
        "org/name", {"config.json": literal_file({}), **shards, "model-Q8_0.gguf": other}
    )


def pipeline() -> FakeRepo:
    config = literal_file({"_class_name": "UNet2DConditionModel"})
    index = literal_file({"unet": ["diffusers", "U"], "vae": ["diffusers", "V"]})
    files = {
        "model_index.json": index,
        "unet/config.json": config,
        "unet/diffusion_pytorch_model-00001-of-00002.safetensors": safetensors_file(UNET),
        "unet/diffusion_pytorch_model-00002-of-00002.safetensors": safetensors_file(
            {"conv_out.weight": ("F16", (64, 8))}
        ),
        "vae/config.json": literal_file({"_class_name": "AutoencoderKL"}),
        "vae/diffusion_pytorch_model.safetensors": safetensors_file(VAE),
    }
    return FakeRepo("org/name", files)


def adapter() -> FakeRepo:
    config = literal_file({"peft_type": "LORA", "r": 8, "base_model_name_or_path": "org/base"})
    weights = safetensors_file(ADAPTER)
    return FakeRepo(
        "org/name", {"adapter_config.json": config, "adapter_model.safetensors": weights}
    )


FORMATS = (safetensors, gguf, pipeline, adapter)
LEFT_OUT = {
    "everything": lambda path: True,
    "the last shard": lambda path: "00003-of-00003" in path or "00002-of-00002" in path,
    "the weights": lambda path: path.endswith((".safetensors", ".gguf", ".index.json")),
    "the configurations": lambda path: path.endswith("config.json"),
    "a folder": lambda path: path.startswith("vae/"),
}


@pytest.mark.parametrize("make", FORMATS)
def test_the_numbers_are_those_of_the_whole_list(
    hub: HubEmulator, fetch: Fetch, make: Callable[[], FakeRepo]
) -> None:
    expected = replace(_read(hub, fetch, make()), retrieved_at="")
    assert not _trees(hub)
    for left_out in LEFT_OUT.values():
        repo = make()
        repo.unlisted = frozenset(filter(left_out, repo.files))
        if not repo.unlisted:
            continue
        assert replace(_read(hub, fetch, repo), retrieved_at="") == expected
        is_complete = make is gguf and left_out is LEFT_OUT["the configurations"]
        assert _trees(hub) == (0 if is_complete else 1)


def _read(hub: HubEmulator, fetch: Fetch, repo: FakeRepo) -> RepoSnapshot:
    hub.add(repo)
    hub.reset_log()
    return fetch(repo.repo_id)


def _trees(hub: HubEmulator) -> int:
    return sum("/tree/" in request.path for request in hub.requests)


def test_an_index_that_names_an_unlisted_shard(hub: HubEmulator, fetch: Fetch) -> None:
    """Names without numbers promise nothing; the index does."""
    repo = llama_repo("org/name", shards=2)
    repo.files = {path.replace("-of-00002", ""): file for path, file in repo.files.items()}
    index = repo.files["model.safetensors.index.json"]
    repo.files["model.safetensors.index.json"] = literal_file(
        index.head_bytes().replace(b"-of-00002", b"")
    )
    expected = _read(hub, fetch, repo).components
    repo.unlisted = frozenset({"model-00002.safetensors"})
    assert _read(hub, fetch, repo).components == expected
    assert _trees(hub) == 1


def test_a_list_as_long_as_the_hub_cuts_them(hub: HubEmulator, fetch: Fetch) -> None:
    """1,000 entries, and the variant that is asked for is beyond them."""
    repo = gguf()
    repo.unlisted = frozenset(path for path in repo.files if "Q4_K_M" in path)
    texts = {f"texts/{number}.txt": literal_file(b"") for number in range(1000)}
    repo.files = texts | repo.files
    snapshot = _read(hub, fetch, repo)
    assert {variant.name for variant in snapshot.variants} == {"Q4_K_M", "Q8_0"}
    assert _trees(hub) == 2, "pages"


def test_a_gated_repository_is_counted_by_the_whole_list(hub: HubEmulator, fetch: Fetch) -> None:
    repo = llama_repo("org/name", shards=3, gated="manual", parameters={})
    expected = _read(hub, fetch, repo).components
    repo.unlisted = frozenset({"model-00003-of-00003.safetensors"})
    assert _read(hub, fetch, repo).components == expected


def test_a_repository_without_weights_costs_one_tree(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(FakeRepo("org/name", {"config.json": literal_file({})}))
    with pytest.raises(NoWeights):
        fetch()
    assert _trees(hub) == 1


def test_the_route_of_small_files_refuses_who_has_access(hub: HubEmulator, fetch: Fetch) -> None:
    """Its cache may not know of a visitor's rights: the redirecting route decides."""
    hub.options.valid_tokens = {"hf_own": {"org/name"}}
    hub.add(llama_repo("org/name", gated="manual"))
    code = {"X-Error-Code": "GatedRepo"}
    for name in ("config.json", "README.md"):  # read at once, each refused at its first request
        refused = f"resolve-cache/.*/{name}$"
        hub.faults.add(Fault("status", refused, times=1, status=403, headers=code))
    snapshot = fetch(token="hf_own")
    assert snapshot.components[0].config
    assert snapshot.components[0].tensors


def test_a_429_with_requests_left_is_repeated_soon(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(llama_repo("org/name"))
    headers = {"RateLimit": '"api";r=489;t=189'}
    hub.faults.add(Fault("status", "/api/models/org/name$", times=1, status=429, headers=headers))
    assert fetch().components[0].tensors
