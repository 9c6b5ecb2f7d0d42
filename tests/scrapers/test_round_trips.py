"""Cost of reading a model: requests, round trips and bytes; lists that the Hub has cut.

Requests that must be made together are announced as a wave: the emulated Hub answers none of them
before all have arrived, however busy the machine is.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from gpusizer.core.errors import NoWeights
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.client.http import HubSession
from scrapers.repository.hub import fetch_snapshot
from tests.hub_emulator import (
    FakeRepo,
    Fault,
    HubEmulator,
    gguf_file,
    literal_file,
    llama_repo,
    moe_repo,
    safetensors_file,
)
from tests.hub_emulator.gguf_models import llama_metadata, llama_tensors
from tests.scrapers.conftest import AMPLE, Fetch
from tests.scrapers.local_repos import split_gguf_repo

PATIENT = replace(
    AMPLE, parallel_reads=64, headers_seconds=30.0, request_seconds=30.0, model_seconds=60.0
)
ROUTE = "/safetensors-metadata/"
INDEX = "model.safetensors.index.json"


@pytest.fixture
def fetch(fetch: Fetch) -> Fetch:
    """Return a function that reads a pasted model ID, with timeouts for a busy machine."""
    return partial(fetch, limits=PATIENT)


def cost(hub: HubEmulator) -> tuple[int, int]:
    """Return requests, and round trips one after the other, since the log was reset."""
    return len(hub.requests), hub.round_trips


# The description comes first, then config.json and the model card. A sharded model's headers come
# in one answer beside these two; a single file's redirect does, and then the CDN's answer.
SHARDED = (1, 3)
SINGLE_FILE = (1, 3, 1)
# The description, then config.json, the card and ten redirects, then the CDN's ten shards.
SHARD_BY_SHARD = (1, 2 + 10, 10)
SHARD_BY_SHARD_AFTER_REFUSAL = (1, 2 + 1, 10, 10)
# A mirror without the route for files in git refuses these two, and sends them without redirects.
SHARDED_AT_MIRROR = (1, 3, 2)


@pytest.mark.parametrize(
    ("shards", "waves"), [(1, SINGLE_FILE), (2, SHARDED), (4, SHARDED), (40, SHARDED)]
)
def test_default_branch(
    hub: HubEmulator, fetch: Fetch, shards: int, waves: tuple[int, ...]
) -> None:
    hub.add(llama_repo("org/name", layers=40, shards=shards))
    hub.expect_waves(*waves)
    snapshot = fetch("org/name")
    assert cost(hub) == (sum(waves), len(waves))
    assert len(snapshot.components[0].files) == shards


def assert_read_alike(
    hub: HubEmulator, fetch: Fetch, expected: RepoSnapshot, *reads: tuple[int, ...]
) -> None:
    """Check that consecutive reads find the same, each with its own waves of requests."""
    for waves in reads:
        hub.expect_waves(*waves)
        snapshot = fetch(expected.repo_id)
        assert cost(hub) == (sum(waves), len(waves))
        assert snapshot.components == expected.components


@pytest.mark.parametrize("status", [404, 429, 500, 501, 503])
def test_headers_route_refused(hub: HubEmulator, fetch: Fetch, status: int) -> None:
    """The route is requested once; after its refusal, further models are read from their files."""
    hub.add(llama_repo("org/name", layers=12, shards=10))
    expected = fetch("org/name")
    hub.options.safetensors_metadata_status = status
    assert_read_alike(hub, fetch, expected, SHARD_BY_SHARD_AFTER_REFUSAL, SHARD_BY_SHARD)


def test_other_revision(hub: HubEmulator, fetch: Fetch) -> None:
    repo = llama_repo("org/name-8B", layers=12, shards=10)
    hub.add(replace(repo, revisions={"v1": dict(repo.files)}))
    hub.expect_waves(*SHARD_BY_SHARD)
    fetch("org/name-8B@v1")
    assert cost(hub) == (23, 3)
    assert {request.path.rpartition("/")[2] for request in hub.requests} & {INDEX} == set()


@pytest.mark.parametrize(
    ("status", "next_waves"),
    [(400, SHARDED), (404, SHARDED), (500, SHARDED), (401, SHARDED_AT_MIRROR)],
)
def test_route_of_small_files_refused(
    hub: HubEmulator, fetch: Fetch, status: int, next_waves: tuple[int, ...]
) -> None:
    """A mirror without the route is asked once, unless it seems to refuse the visitor."""
    hub.add(llama_repo("org/name", shards=2))
    expected = fetch("org/name")
    hub.options.resolve_cache_status = status
    assert_read_alike(hub, fetch, expected, SHARDED_AT_MIRROR, next_waves)


NAMELESS = llama_repo("bare", shards=2)
CONFIG_IN_LFS = llama_repo("org/name", shards=2)
CONFIG_IN_LFS.files["config.json"] = replace(CONFIG_IN_LFS.files["config.json"], lfs=True)


@pytest.mark.parametrize(
    ("repo", "waves"), [(NAMELESS, (1, 3, 2)), (CONFIG_IN_LFS, (1, 3, 1))], ids=["bare", "lfs"]
)
def test_files_without_an_address_of_their_own(
    hub: HubEmulator, fetch: Fetch, repo: FakeRepo, waves: tuple[int, ...]
) -> None:
    """Files of a repository without a namespace, and those in LFS, are reached by a redirect."""
    hub.add(repo)
    hub.expect_waves(*waves)
    assert fetch(repo.repo_id).components[0].config
    assert cost(hub) == (sum(waves), len(waves))


def test_little_more_than_the_headers_is_read(hub: HubEmulator, fetch: Fetch) -> None:
    hub.options.safetensors_metadata_status = 501
    repo = hub.add(moe_repo("org/name-8B", layers=24, experts=64, shards=32))
    fetch("org/name-8B")
    shards = [file for path, file in repo.files.items() if path.endswith(".safetensors")]
    headers = sum(int.from_bytes(file.read(0, 8), "little") for file in shards)
    cdn_bytes = sum(request.body_bytes_sent for request in hub.requests_to("cdn"))
    assert headers > 500_000
    assert cdn_bytes < 1.3 * headers + 2**17
    assert len(hub.requests_to("cdn")) <= 34


def test_unchanged_commit_costs_one_request(hub: HubEmulator, session: HubSession) -> None:
    hub.add(llama_repo("org/name", shards=4))
    ref = ModelRef("org/name")
    first_snapshot = fetch_snapshot(ref, session, PATIENT)
    hub.reset_log()
    assert fetch_snapshot(ref, session, PATIENT, last_known=first_snapshot) is first_snapshot
    assert cost(hub) == (1, 1)
    hub.add(llama_repo("org/name", shards=4, gated="auto"))
    (component,) = fetch_snapshot(ref, session, PATIENT, last_known=first_snapshot).components
    assert component.totals is not None, "what was read before the gate closed stays behind it"


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"index":{},"headers":{'])
def test_a_malformed_answer_is_discarded(hub: HubEmulator, fetch: Fetch, body: bytes) -> None:
    """The headers are read from the files instead."""
    hub.add(llama_repo("org/name", shards=2))
    expected = fetch()
    hub.faults.add(Fault("garbage", ROUTE, body=body))
    assert fetch().components == expected.components


def test_answer_in_another_form(hub: HubEmulator, fetch: Fetch) -> None:
    """Spaces, order and escapes in the JSON do not matter."""
    repo = hub.add(llama_repo("org/name", shards=2))
    expected = fetch()
    headers = {
        path: json.loads(file.head_bytes()[8 : 8 + int.from_bytes(file.read(0, 8), "little")])
        for path, file in repo.files.items()
        if path.endswith(".safetensors")
    }
    turned = {"headers": headers, "index": {"metadata": {"é": 1}}}
    hub.faults.add(Fault("garbage", ROUTE, body=json.dumps(turned, indent=1).encode()))
    hub.reset_log()
    assert fetch().components == expected.components
    assert hub.requests_to("cdn") == []


def test_gated_model_costs_one_request(hub: HubEmulator, fetch: Fetch) -> None:
    """The description holds the totals, and no file is asked for."""
    hub.add(llama_repo("org/name-8B", shards=2, gated="auto"))
    (component,) = fetch("org/name-8B").components
    assert component.tensors == ()
    assert component.totals is not None and component.totals.parameters
    assert cost(hub) == (1, 1)


def test_same_answer_either_way(hub: HubEmulator, session: HubSession) -> None:
    repos: list[FakeRepo] = [
        llama_repo("org/llama", layers=9, shards=5),
        moe_repo("org/moe", experts=16, shards=7),
    ]
    for repo in repos:
        hub.add(replace(repo, revisions={"v1": dict(repo.files)}))
        snapshots: list[RepoSnapshot] = [
            fetch_snapshot(ModelRef(repo.repo_id, revision), session, PATIENT)
            for revision in (None, "v1")
        ]
        assert [len(group.indices) for group in snapshots[0].components[0].tensors]
        assert snapshots[0].components[0].tensors == snapshots[1].components[0].tensors
        assert [f.tensor_count for f in snapshots[0].components[0].files] == [
            f.tensor_count for f in snapshots[1].components[0].files
        ]


def gguf() -> FakeRepo:
    """Three shards of one quantization and a file of another."""
    other = gguf_file(llama_metadata(), llama_tensors("Q8_0"))
    files = split_gguf_repo().files
    return FakeRepo("org/name", {"config.json": literal_file({}), **files, "m-Q8_0.gguf": other})


def pipeline() -> FakeRepo:
    """Return a pipeline with a sharded denoiser."""
    index = literal_file({"unet": ["diffusers", "U"], "vae": ["diffusers", "V"]})
    files = {
        "model_index.json": index,
        "unet/config.json": literal_file({"_class_name": "UNet2DConditionModel"}),
        "vae/config.json": literal_file({"_class_name": "AutoencoderKL"}),
    }
    for path, name in (
        ("unet/diffusion_pytorch_model-00001-of-00002", "conv_in.weight"),
        ("unet/diffusion_pytorch_model-00002-of-00002", "conv_out.weight"),
        ("vae/diffusion_pytorch_model", "decoder.weight"),
    ):
        files[f"{path}.safetensors"] = safetensors_file({name: ("F16", (64, 8))})
    return FakeRepo("org/name", files)


def adapter() -> FakeRepo:
    config = literal_file({"peft_type": "LORA", "r": 8, "base_model_name_or_path": "org/base"})
    tensors = {"base_model.model.layers.0.self_attn.q_proj.lora_A.weight": ("F32", (8, 64))}
    weights = safetensors_file(tensors)
    return FakeRepo(
        "org/name", {"adapter_config.json": config, "adapter_model.safetensors": weights}
    )


FORMATS = (lambda: llama_repo("org/name", shards=3), gguf, pipeline, adapter)
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
