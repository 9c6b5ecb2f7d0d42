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
from gpusizer.hub.snapshot import Basis, RepoSnapshot, Totals
from tests.hub_emulator import (
    FakeFile,
    FakeRepo,
    HubEmulator,
    literal_file,
    llama_repo,
    moe_repo,
    raw_safetensors_file,
    safetensors_file,
    sharded_repo,
    sparse_file,
)
from tests.hub_emulator.gguf_files import entry, gguf_header
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
