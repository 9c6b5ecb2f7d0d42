"""A model of the emulated Hub becomes a snapshot, or raises a typed error."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpusizer.core.errors import (
    GatedModel,
    LimitsExceeded,
    MalformedRepo,
    ModelNotFound,
    PrivateOrMissing,
    RevisionNotFound,
)
from gpusizer.core.messages import Note
from gpusizer.hub.snapshot import RepoSnapshot
from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    literal_file,
    llama_repo,
    moe_repo,
    safetensors_file,
    sharded_repo,
    sparse_file,
)
from tests.scrapers.checkpoints import INDEX, TENSORS, TOKEN, stored_bytes
from tests.scrapers.conftest import AMPLE, Fetch


def test_single_file(hub: HubEmulator, fetch: Fetch) -> None:
    repo = hub.add(
        llama_repo(
            "org/name",
            card_data={"license": "mit", "base_model": "org/base"},
            gated=False,
        )
    )
    snapshot = fetch()
    (component,) = snapshot.components
    (file,) = component.files
    assert (snapshot.repo_id, snapshot.revision, snapshot.sha) == ("org/name", "main", repo.sha)
    assert (snapshot.source, snapshot.format, snapshot.gated) == ("hub", "safetensors", False)
    assert (snapshot.license, snapshot.base_models) == ("mit", ("org/base",))
    assert (snapshot.pipeline_tag, snapshot.library) == ("text-generation", "transformers")
    assert (file.path, file.size_bytes) == ("model.safetensors", repo.files[file.path].size)
    assert component.name == "model"
    assert component.config is not None
    assert component.config["model_type"] == "llama"
    assert sum(group.count for group in component.tensors) == file.tensor_count == 21
    assert RepoSnapshot.from_json(json.loads(json.dumps(snapshot.to_json()))) == snapshot


def test_sharded(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(sharded_repo("org/name", TENSORS, 3, {"model_type": "x"}))
    snapshot = fetch()
    (component,) = snapshot.components
    assert [file.path for file in component.files] == [
        f"model-0000{n}-of-00003.safetensors" for n in (1, 2, 3)
    ]
    assert sum(file.tensor_count for file in component.files) == 6
    assert stored_bytes(snapshot) == 6 * 8 * 16 * 2


def test_unnumbered_shards_are_found_by_the_index(hub: HubEmulator, fetch: Fetch) -> None:
    first_file, second_file = (
        safetensors_file({"a": ("F32", (2,))}),
        safetensors_file({"b": ("F32", (3,))}),
    )
    index = {"weight_map": {"a": "part-a.safetensors", "b": "part-b.safetensors"}}
    files = {
        INDEX: literal_file(index),
        "part-a.safetensors": first_file,
        "part-b.safetensors": second_file,
    }
    hub.add(FakeRepo("org/name", files))
    assert stored_bytes(fetch()) == 20


@pytest.mark.parametrize("again", [("BF16", (8, 16)), ("F32", (8, 16)), ("BF16", (4, 4))])
@pytest.mark.parametrize("status", [200, 501])
def test_a_tensor_in_two_shards_is_no_checkpoint(
    hub: HubEmulator, fetch: Fetch, again: tuple[str, tuple[int, ...]], status: int
) -> None:
    """Counted once or twice it would be wrong for one of the two."""
    hub.options.safetensors_metadata_status = status
    repo = hub.add(sharded_repo("org/name", TENSORS, 3, {"model_type": "x"}))
    tensors = {"layers.5.weight": ("BF16", (8, 16)), "layers.0.weight": again}
    repo.files["model-00003-of-00003.safetensors"] = safetensors_file(tensors)
    with pytest.raises(MalformedRepo, match="duplicate_tensor"):
        fetch()


def test_header_longer_than_the_first_read(hub: HubEmulator, fetch: Fetch) -> None:
    repo = hub.add(moe_repo("org/name", layers=2, experts=64))
    length = int.from_bytes(repo.files["model.safetensors"].read(0, 8), "little")
    expected = fetch()
    for first in (8, 100, length - 1, length, length + 7, length + 8, length + 9):
        hub.reset_log()
        snapshot = fetch(limits=replace(AMPLE, first_read_bytes=first))
        assert snapshot.components == expected.components
        ranges = [request.range for request in hub.requests_to("cdn")]
        second_ranges = [] if first >= length + 8 else [f"bytes={first}-{length + 7}"]
        assert ranges == [f"bytes=0-{first - 1}", *second_ranges]


def test_revision(hub: HubEmulator, fetch: Fetch) -> None:
    older = {"model.safetensors": safetensors_file({"a": ("F32", (2,))})}
    hub.add(llama_repo("org/name", revisions={"v1": older, "refs/pr/1": older}))
    assert stored_bytes(fetch("org/name@v1")) == 8
    pull = fetch("https://huggingface.co/org/name/tree/refs%2Fpr%2F1")
    assert (stored_bytes(pull), pull.revision) == (8, "refs/pr/1")
    assert stored_bytes(fetch()) > 8
    with pytest.raises(RevisionNotFound) as caught:
        fetch("org/name@v9")
    assert caught.value.fields == {"repo_id": "org/name", "revision": "v9"}


@pytest.mark.parametrize("requested_id", ["old/name", "older/name", "ORG/NAME"])
def test_renamed_and_other_case(hub: HubEmulator, fetch: Fetch, requested_id: str) -> None:
    hub.add(llama_repo("org/name", shards=2))
    hub.options.renames = {"old/name": "org/name", "older/name": "old/name"}
    snapshot = fetch(requested_id)
    assert snapshot.repo_id == "org/name"
    renamed = Note("repo_renamed", asked=requested_id, repo_id="org/name")
    assert snapshot.notes == (() if requested_id == "ORG/NAME" else (renamed,))


def test_legacy_one_word_id(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(llama_repo("community/gpt2"))
    hub.options.renames = {"gpt2": "community/gpt2"}
    assert fetch("https://huggingface.co/gpt2").repo_id == "community/gpt2"


def test_gated(hub: HubEmulator, fetch: Fetch) -> None:
    repo = hub.add(llama_repo("org/name", gated="manual"))
    hub.options.valid_tokens = {TOKEN: {"org/name"}, "hf_other": ()}
    for token in (None, "hf_other"):
        (part,) = fetch(token=token).components
        assert part.totals is not None
        assert (part.tensors, part.totals.basis) == ((), "api")
        assert part.totals.parameters == repo.counted_parameters()
        assert part.config == {"architectures": ["LlamaForCausalLM"], "model_type": "llama"}
    snapshot = fetch(token=TOKEN)
    assert snapshot.gated
    assert snapshot.components[0].totals is None


def test_private(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(llama_repo("org/name", private=True))
    hub.options.valid_tokens = {TOKEN: {"org/name"}}
    hub.options.anon_401_code = None
    with pytest.raises(PrivateOrMissing):
        fetch()
    assert fetch(token=TOKEN).repo_id == "org/name"


@pytest.mark.parametrize("code", [None, "RepoNotFound"])
def test_missing(hub: HubEmulator, fetch: Fetch, code: str | None) -> None:
    hub.options.valid_tokens = {TOKEN: ()}
    hub.options.anon_401_code = code
    with pytest.raises(ModelNotFound if code else PrivateOrMissing) as caught:
        fetch("nobody/nothing")
    assert caught.value.fields == {"repo_id": "nobody/nothing"}
    with pytest.raises(ModelNotFound):
        fetch("nobody/nothing", token=TOKEN)


def test_disabled(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(llama_repo("org/name", disabled=True))
    with pytest.raises(PrivateOrMissing) as caught:
        fetch()
    assert caught.value.fields["reason"] == "disabled"


def test_other_copies_are_listed(hub: HubEmulator, fetch: Fetch) -> None:
    repo = llama_repo("org/name")
    hub.add(replace(repo, files=repo.files | {"pytorch_model.bin": sparse_file(5 * 10**9)}))
    (copy,) = fetch().uncounted_files
    assert (copy.path, copy.size_bytes, copy.tensor_count) == ("pytorch_model.bin", 5 * 10**9, 0)


def test_config_is_optional(hub: HubEmulator, fetch: Fetch) -> None:
    hub.add(FakeRepo("org/name", {"model.safetensors": safetensors_file(TENSORS)}))
    assert fetch().components[0].config is None


def test_small_files_that_say_how_weights_are_stored(hub: HubEmulator, fetch: Fetch) -> None:
    repo = llama_repo("org/name")
    extra = {
        "quantize_config.json": literal_file({"bits": 4}),
        "hf_quant_config.json": literal_file("not JSON"),
        "generation_config.json": literal_file({"top_k": 1}),
    }
    hub.add(replace(repo, files=repo.files | extra))
    assert fetch().extra_configs == {"quantize_config.json": {"bits": 4}}


def test_pipeline(hub: HubEmulator, fetch: Fetch) -> None:
    weights = safetensors_file(TENSORS)
    index = {"_class_name": "X", "unet": ["diffusers", "Unet"], "vae": ["diffusers", "Vae"]}
    files = {
        "model_index.json": literal_file(index),
        "unet/config.json": literal_file({"_class_name": "Unet"}),
        "unet/diffusion_pytorch_model.safetensors": weights,
        "vae/diffusion_pytorch_model.safetensors": weights,
        "vae/diffusion_pytorch_model.fp16.safetensors": weights,
        "everything.safetensors": weights,
    }
    hub.add(FakeRepo("org/name", files))
    snapshot = fetch()
    assert snapshot.format == "diffusers"
    assert [part.name for part in snapshot.components] == ["unet", "vae"]
    assert snapshot.components[0].config == {"_class_name": "Unet"}
    assert len(snapshot.uncounted_files) == 2


def test_adapter(hub: HubEmulator, fetch: Fetch) -> None:
    files = {
        "adapter_config.json": literal_file({"r": 8, "base_model_name_or_path": "org/base"}),
        "adapter_model.safetensors": safetensors_file(TENSORS),
    }
    hub.add(FakeRepo("org/name", files, card_data={"base_model": ["org/base"]}))
    snapshot = fetch()
    assert (snapshot.format, snapshot.base_models) == ("adapter", ("org/base",))
    assert snapshot.extra_configs["adapter_config.json"]["r"] == 8


@pytest.mark.parametrize(
    ("info", "limit", "value"),
    [({}, "files", 2000), ({"siblings": None}, "files", 2000), ({}, "tree_pages", 2)],
)
def test_long_file_list(
    hub: HubEmulator, fetch: Fetch, info: dict[str, None], limit: str, value: int
) -> None:
    """A list of this length is believed from the tree only, page by page."""
    repo = llama_repo("org/name", shards=2)
    clutter = {f"a/{n:04}.txt": literal_file("x") for n in range(2100)}
    hub.add(replace(repo, files=repo.files | clutter, info=info))
    assert len(fetch().components[0].files) == 2
    assert sum("/tree/" in request.path for request in hub.requests) == 3
    with pytest.raises(LimitsExceeded, match=limit):
        fetch(limits=replace(AMPLE, **{limit: value}))


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
