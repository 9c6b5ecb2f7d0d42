"""fetch_snapshot on repositories of every kind."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from gpusizer.core.errors import (
    GpusizerError,
    LimitsExceeded,
    MalformedRepo,
    ModelNotFound,
    NoWeights,
    PrivateOrMissing,
    RevisionNotFound,
    UnsupportedDtype,
)
from gpusizer.core.messages import Note
from gpusizer.hub.snapshot import RepoSnapshot
from tests.hub_emulator import (
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
from tests.hub_emulator.info import listed_file
from tests.scrapers.conftest import QUICK, Fetch

TOKEN = "hf_reader"
TENSORS = {f"layers.{n}.weight": ("BF16", (8, 16)) for n in range(6)}  # 6 x 8 x 16 x 2 B
INDEX = "model.safetensors.index.json"


def stored_bytes(snapshot: RepoSnapshot) -> int:
    """Tensor bytes of all components."""
    return sum(group.stored_bytes for part in snapshot.components for group in part.tensors)


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
    one, other = safetensors_file({"a": ("F32", (2,))}), safetensors_file({"b": ("F32", (3,))})
    index = {"weight_map": {"a": "part-a.safetensors", "b": "part-b.safetensors"}}
    files = {INDEX: literal_file(index), "part-a.safetensors": one, "part-b.safetensors": other}
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


def test_a_file_listed_three_times_counts_once(hub: HubEmulator, fetch: Fetch) -> None:
    repo = hub.add(sharded_repo("org/name", TENSORS, 3, {"model_type": "x"}))
    listed = [listed_file(path, file) for path, file in repo.files.items()]
    repo.info["siblings"] = listed * 3
    snapshot = fetch()
    assert stored_bytes(snapshot) == 6 * 8 * 16 * 2
    assert len(snapshot.components[0].files) == 3


def test_header_longer_than_the_first_read(hub: HubEmulator, fetch: Fetch) -> None:
    repo = hub.add(moe_repo("org/name", layers=2, experts=64))
    length = int.from_bytes(repo.files["model.safetensors"].read(0, 8), "little")
    expected = fetch()
    for first in (8, 100, length - 1, length, length + 7, length + 8, length + 9):
        hub.reset_log()
        snapshot = fetch(limits=replace(QUICK, first_read_bytes=first))
        assert snapshot.components == expected.components
        ranges = [request.range for request in hub.requests_to("cdn")]
        rest = [] if first >= length + 8 else [f"bytes={first}-{length + 7}"]
        assert ranges == [f"bytes=0-{first - 1}", *rest]


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


@pytest.mark.parametrize("asked", ["old/name", "older/name", "ORG/NAME"])
def test_renamed_and_other_case(hub: HubEmulator, fetch: Fetch, asked: str) -> None:
    hub.add(llama_repo("org/name", shards=2))
    hub.options.renames = {"old/name": "org/name", "older/name": "old/name"}
    snapshot = fetch(asked)
    assert snapshot.repo_id == "org/name"
    renamed = Note("repo_renamed", asked=asked, repo_id="org/name")
    assert snapshot.notes == (() if asked == "ORG/NAME" else (renamed,))


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


@pytest.mark.parametrize(
    ("paths", "formats"),
    [
        (("data/train.parquet",), []),
        (("m.imatrix.gguf", "tf_model.h5"), ["gguf", "keras"]),
        (("m.onnx", "tf_model.h5"), ["keras", "onnx"]),
    ],
)
def test_no_weights(
    hub: HubEmulator, fetch: Fetch, paths: tuple[str, ...], formats: list[str]
) -> None:
    hub.add(FakeRepo("org/name", {path: sparse_file(1000) for path in paths}))
    with pytest.raises(NoWeights) as caught:
        fetch()
    assert caught.value.fields == {"repo_id": "org/name", "formats": formats}


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
    ("siblings", "pages", "limit", "value"),
    [({}, 0, "files", 2000), (None, 3, "files", 2000), (None, 3, "tree_pages", 2)],
)
def test_long_file_list(
    hub: HubEmulator, fetch: Fetch, siblings: object, pages: int, limit: str, value: int
) -> None:
    """The description has all files; without them the tree has, page by page."""
    repo = llama_repo("org/name", shards=2)
    clutter = {f"a/{n:04}.txt": literal_file("x") for n in range(2100)}
    info = {"siblings": None} if siblings is None else {}
    hub.add(replace(repo, files=repo.files | clutter, info=info))
    assert len(fetch().components[0].files) == 2
    assert sum("/tree/" in request.path for request in hub.requests) == pages
    with pytest.raises(LimitsExceeded, match=limit):
        fetch(limits=replace(QUICK, **{limit: value}))


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
        ("nonsense", "not_json"),
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
