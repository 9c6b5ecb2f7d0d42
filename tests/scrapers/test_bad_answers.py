"""A bad answer for any file: no number during it that is not the model's, and none after it.

Every kind of file that a reading touches, times every way a server, cache or proxy answers badly
with a good status. Readings go through the fetcher with its cache on disk, as the page's do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from gpusizer.core.errors import HubRateLimited, HubUnreachable, MalformedRepo, ModelUnreadable
from gpusizer.hub.model_ref import parse_model_ref
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.cache.disk_entries import DiskEntries
from scrapers.cache.snapshot_cache import SnapshotCache
from scrapers.client.failures import pause_seconds
from scrapers.fetcher import Fetcher
from tests.hub_emulator import (
    FakeFile,
    FakeRepo,
    Fault,
    HubEmulator,
    gguf_file,
    gguf_repo,
    literal_file,
    llama_repo,
    moe_repo,
    safetensors_file,
    sharded_repo,
    sparse_file,
)
from tests.hub_emulator.gguf_models import gguf_shards, llama_metadata, llama_tensors, raw_pieces
from tests.hub_emulator.messages import Request
from tests.nightly import some
from tests.scrapers.conftest import settings_of

PLAIN = {f"layers.{n}.weight": ("BF16", (8, 16)) for n in range(6)}
PACKED = {
    "model.layers.0.self_attn.q_proj.qweight": ("I32", (8, 64)),
    "model.layers.0.self_attn.q_proj.qzeros": ("I32", (1, 8)),
    "model.layers.0.self_attn.q_proj.scales": ("F16", (1, 64)),
}
LORA = {"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": ("F32", (8, 64))}
INDEX = "model.safetensors.index.json"
PICKLE_INDEX = "pytorch_model.bin.index.json"
HTML = b"<!DOCTYPE html><html><head><title>Hugging Face</title></head></html>"


def pipeline_files() -> dict[str, FakeFile]:
    """A diffusers pipeline whose second component is a pickle."""
    return {
        "model_index.json": literal_file(
            {
                "_class_name": "FluxPipeline",
                "_version": "0.31",
                "transformer": ["diffusers", "T"],
                "vae": ["d", "V"],
            }
        ),
        "transformer/config.json": literal_file({"_class_name": "FluxTransformer2DModel"}),
        "transformer/diffusion_pytorch_model.safetensors": safetensors_file(PLAIN),
        "vae/config.json": literal_file({"_class_name": "AutoencoderKL", "dtype": "float16"}),
        "vae/diffusion_pytorch_model.bin": sparse_file(4_000),
        # A second copy of the denoiser alone, which stands in where nothing names the folders.
        "flux.safetensors": safetensors_file(PLAIN),
    }


def unnumbered_files() -> dict[str, FakeFile]:
    """Two shards that only the index names, beside a file that is no shard."""
    custom = dict(sharded_repo("org/odd", PLAIN, 2, {"model_type": "x"}).files)
    index = custom[INDEX].head_bytes().decode()
    for number, name in ((1, "a"), (2, "b")):
        old, new = f"model-0000{number}-of-00002", f"model-{name}"
        custom[f"{new}.safetensors"] = custom.pop(f"{old}.safetensors")
        index = index.replace(old, new)
    custom[INDEX] = literal_file(index)
    custom["leftover.safetensors"] = safetensors_file(PLAIN)
    return custom


def repos() -> list[FakeRepo]:
    """One repository for each way of storing weights."""
    quantized = llama_repo("org/gptq")
    quantized.files |= {
        "model.safetensors": safetensors_file(PACKED),
        "quantize_config.json": literal_file({"bits": 4, "group_size": 64, "desc_act": False}),
    }
    optimized = llama_repo("org/modelopt")
    optimized.files["hf_quant_config.json"] = literal_file(
        {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}}
    )
    mistral = {
        "params.json": literal_file({"dim": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 256}),
        "consolidated.safetensors": llama_repo().files["model.safetensors"],
    }
    shards = {f"pytorch_model-0000{n}-of-00002.bin": sparse_file(2_000_000) for n in (1, 2)}
    pickles = shards | {
        "config.json": literal_file({"model_type": "opt", "torch_dtype": "float16"}),
        PICKLE_INDEX: literal_file({"metadata": {"total_size": 3_990_000}, "weight_map": {}}),
    }
    adapter = {
        "adapter_config.json": literal_file({"r": 8, "base_model_name_or_path": "org/one"}),
        "adapter_model.safetensors": safetensors_file(LORA),
    }
    sentence = llama_repo("org/sentence").files | {
        "modules.json": literal_file("[]"),
        "2_Dense/config.json": literal_file({"in_features": 64, "out_features": 8}),
        "2_Dense/model.safetensors": safetensors_file({"linear.weight": ("F32", (8, 64))}),
    }
    metadata, tensors = llama_metadata(), llama_tensors()
    pieces = ("m.Q8_0.gguf.part1of2", "m.Q8_0.gguf.part2of2")
    tagged = llama_repo("org/tagged-8B", layers=4, shards=3)
    tagged.revisions["v1"] = tagged.sha
    return [
        llama_repo("org/one"),
        replace(llama_repo("org/paged"), info={"siblings": None}),
        llama_repo("org/many-8B", layers=4, shards=3),
        tagged,
        moe_repo("org/moe", experts=16, shards=2),
        FakeRepo("org/odd", unnumbered_files()),
        quantized,
        optimized,
        FakeRepo("org/mistral", mistral),
        FakeRepo("org/pipeline", pipeline_files()),
        FakeRepo("org/pickles", pickles),
        FakeRepo("org/adapter", adapter),
        FakeRepo("org/sentence", sentence),
        gguf_repo("org/gguf", ["Q4_K_M", "Q8_0"]),
        FakeRepo("org/gguf-shards", dict(gguf_shards("m-Q4_K_M", metadata, tensors, 2))),
        FakeRepo("org/gguf-pieces", raw_pieces(pieces, gguf_file(metadata, tensors))),
    ]


@dataclass(frozen=True)
class Place:
    """A file of a model, or an answer of the API about one.

    Attributes:
        model: what is asked for.
        repo_id: where the file is; "" for the model's own repository.
        route: of the API, instead of a file.
    """

    model: str
    path: str = ""
    repo_id: str = ""
    route: str = ""

    @property
    def is_hashed(self) -> bool:
        """Whether the whole file is read, so that its hash tells any other bytes from it."""
        return self.path.endswith(".json")


PLACES = {
    "description": Place("org/one", route="/api/models/org/one$"),
    "file list": Place("org/paged", route="/api/models/org/paged/tree/"),
    "all headers": Place("org/many-8B", route="/safetensors-metadata/"),
    "all headers of experts": Place("org/moe", route="/safetensors-metadata/"),
    "all headers, odd names": Place("org/odd", route="/safetensors-metadata/"),
    "config": Place("org/one", "config.json"),
    "header": Place("org/one", "model.safetensors"),
    "config beside shards": Place("org/many-8B", "config.json"),
    "header of a shard": Place("org/tagged-8B@v1", "model-00002-of-00003.safetensors"),
    "custom index": Place("org/odd", INDEX),
    "header of a custom shard": Place("org/odd", "model-b.safetensors"),
    "quantize_config": Place("org/gptq", "quantize_config.json"),
    "hf_quant_config": Place("org/modelopt", "hf_quant_config.json"),
    "params": Place("org/mistral", "params.json"),
    "model_index": Place("org/pipeline", "model_index.json"),
    "config of a component": Place("org/pipeline", "transformer/config.json"),
    "header of a component": Place(
        "org/pipeline", "transformer/diffusion_pytorch_model.safetensors"
    ),
    "config of a pickled component": Place("org/pipeline", "vae/config.json"),
    "config of pickles": Place("org/pickles", "config.json"),
    "index of pickles": Place("org/pickles", PICKLE_INDEX),
    "adapter_config": Place("org/adapter", "adapter_config.json"),
    "header of an adapter": Place("org/adapter", "adapter_model.safetensors"),
    "config of the base": Place("org/adapter", "config.json", "org/one"),
    "header of the base": Place("org/adapter", "model.safetensors", "org/one"),
    "config of a module": Place("org/sentence", "2_Dense/config.json"),
    "header of a module": Place("org/sentence", "2_Dense/model.safetensors"),
    "GGUF header": Place("org/gguf", "model-Q4_K_M.gguf"),
    "GGUF header, named": Place("org/gguf:Q8_0", "model-Q8_0.gguf"),
    "first GGUF shard": Place("org/gguf-shards", "m-Q4_K_M-00001-of-00002.gguf"),
    "second GGUF shard": Place("org/gguf-shards", "m-Q4_K_M-00002-of-00002.gguf"),
    "GGUF piece": Place("org/gguf-pieces", "m.Q8_0.gguf.part1of2"),
}


ROUTES = ("description", "file list", "all headers", "config", "header", "custom index")
ROUTES += ("GGUF header", "GGUF piece")


def other_digits(body: bytes) -> bytes:
    """The same JSON with other numbers in it."""
    return body.translate(bytes.maketrans(b"123456789", b"234567891"))


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "half of it": lambda body: body[: len(body) // 2],
    "a page": lambda body: HTML,
    "nothing": lambda body: b"",
    "an empty object": lambda body: b"{}",
    "an empty list": lambda body: b"[]",
    "null": lambda body: b"null",
    "other bytes of its length": lambda body: body[::-1],
    "spaces": lambda body: b" " * len(body),
    "zeros": lambda body: bytes(len(body)),
}
FAULTS: dict[str, Fault] = {
    **{name: Fault("change", change=change) for name, change in CHANGES.items()},
    "other digits": Fault("change", change=other_digits),
    "an object of its length": Fault("change", change=lambda body: b"{}".ljust(len(body))),
    "404": Fault("status", status=404),
    "404 of the Hub": Fault("status", status=404, headers={"X-Error-Code": "EntryNotFound"}),
    "404 of the commit": Fault("status", status=404, headers={"X-Error-Code": "RevisionNotFound"}),
    "410": Fault("status", status=410),
    "403": Fault("status", status=403),
    "401 of a gate": Fault("status", status=401, headers={"X-Error-Code": "GatedRepo"}),
    "no redirect but a page": Fault("garbage", status=200, body=HTML),
    "no redirect but nothing": Fault("garbage", status=200, body=b""),
    "cut": Fault("truncate", after=7),
    "503": Fault("status", status=503),
    "500": Fault("status", status=500),
    "429 now": Fault("status", status=429, headers={"Retry-After": "0"}),
    "reset": Fault("reset"),
}
# What could be the model's as well: other numbers in JSON that no hash vouches for.
UNKNOWABLE = ("other digits", "an object of its length", "an empty list")
MAY_BE_SAID = ("404", "410")  # by the API, where there is no such model
PASSING = ("half of it", "a page", "nothing", "an empty object", "404", "410", "cut", "503")
PASSING += ("500", "429 now", "reset")


@pytest.fixture(scope="module")
def hub() -> Iterator[HubEmulator]:
    with HubEmulator(repos()) as emulator:
        yield emulator


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch, hub: HubEmulator) -> Iterator[None]:
    """Retries come at once, so that a thousand failures take no minutes."""
    monkeypatch.setattr(
        "scrapers.client.http.pause_seconds", lambda n, hint: pause_seconds(n, hint) / 99
    )
    yield
    hub.faults.clear()


def fetcher(hub: HubEmulator, cache: Path, **options: bool) -> Fetcher:
    """A process that has read nothing yet, with this cache and no embedded copies."""
    settings = settings_of(
        hub,
        timeout_seconds=60.0,
        cache_folder=cache,
        snapshots_folder=cache / "none",
        **options,
    )
    return Fetcher(settings)


def facts(snapshot: RepoSnapshot) -> RepoSnapshot:
    """What a number may depend on."""
    return replace(snapshot, retrieved_at="", source="hub")


@pytest.fixture(scope="module")
def truth(hub: HubEmulator, tmp_path_factory: pytest.TempPathFactory) -> dict[str, RepoSnapshot]:
    """What each model is, read while nothing is wrong."""
    read = fetcher(hub, tmp_path_factory.mktemp("truth"))
    models = {place.model for place in PLACES.values()}
    return {model: facts(read(parse_model_ref(model))) for model in models}


def concerns(hub: HubEmulator, place: Place, redirects: bool) -> Callable[[Request], bool]:
    """Whether a request is for that file: where the Hub keeps it, or at any of its addresses."""
    if place.route:
        return lambda path: re.search(place.route, path) is not None
    repo_id = place.repo_id or parse_model_ref(place.model).repo_id
    file = hub.catalog.repos[repo_id].files[place.path]
    ending = f"/{quote(place.path)}"

    def match(path: str) -> bool:
        if f"/{repo_id}/" not in path:
            return file.lfs and not redirects and path.endswith(file.xet_hash)
        places = ("/resolve-cache/", "/resolve/") if redirects else ("/resolve-cache/",)
        return path.endswith(ending) and any(place in path for place in places)

    return match


def is_requested(place: Place, name: str) -> bool:
    """Whether anybody could tell this answer from a good one."""
    return place.is_hashed or name not in UNKNOWABLE


def asked(kind: str, names: Sequence[str], of: int) -> Sequence[str]:
    """By day every other fault at one place of each route, and one of so many elsewhere."""
    number = list(PLACES).index(kind)
    return some(names, of=2 if kind in ROUTES else of, start=number)


def cases() -> Iterator[Any]:
    for kind, place in PLACES.items():
        names = [name for name in FAULTS if is_requested(place, name)]
        at_hub = [name for name in names if place.path and FAULTS[name].kind != "change"]
        for name in asked(kind, names, of=14):
            yield pytest.param(place, name, False, id=f"{kind}-{name}")
        for name in some(at_hub, of=12, start=list(PLACES).index(kind)):
            yield pytest.param(place, name, True, id=f"{kind}-{name} at the Hub")


@pytest.mark.parametrize(("place", "name", "redirects"), list(cases()))
def test_faults_never_lead_to_wrong_numbers(
    hub: HubEmulator,
    truth: dict[str, RepoSnapshot],
    tmp_path: Path,
    place: Place,
    name: str,
    redirects: bool,
) -> None:
    ref, expected = parse_model_ref(place.model), truth[place.model]
    hub.faults.add(replace(FAULTS[name], match=concerns(hub, place, redirects)))
    during = fetcher(hub, tmp_path)
    for _ in range(2):
        try:
            snapshot_read = during(ref)
        except ModelUnreadable as error:
            is_doubt = isinstance(error, HubUnreachable | HubRateLimited | MalformedRepo)
            assert is_doubt or (place.route and name[:2] in ("40", "41"))
        else:
            assert facts(snapshot_read) == expected
    hub.faults.clear()
    for read in (during, fetcher(hub, tmp_path), fetcher(hub, tmp_path, offline=True)):
        assert facts(read(ref)) == expected


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind, place in PLACES.items()
        if place.is_hashed
        for name in asked(kind, list(FAULTS), of=9)
    ],
)
def test_a_listed_file_is_never_absent(
    hub: HubEmulator, tmp_path: Path, truth: dict[str, RepoSnapshot], kind: str, name: str
) -> None:
    """Whatever comes in its place, the Hub has not answered."""
    place = PLACES[kind]
    if kind == "custom index":
        hub.options.safetensors_metadata_status = 501
    hub.faults.add(replace(FAULTS[name], match=concerns(hub, place, False)))
    try:
        with pytest.raises(ModelUnreadable) as caught:
            fetcher(hub, tmp_path)(parse_model_ref(place.model))
    finally:
        hub.options.safetensors_metadata_status = 200
    assert isinstance(caught.value, HubUnreachable | HubRateLimited)
    cache = SnapshotCache(DiskEntries(tmp_path, 10**6), hub.endpoint)
    assert cache.last_known(parse_model_ref(place.repo_id or place.model)) is None


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind, place in PLACES.items()
        for name in some(PASSING, of=4, start=list(PLACES).index(kind))
        if not (place.route.endswith("$") and name in MAY_BE_SAID)
    ],
)
def test_a_single_wrong_response_is_retried(
    hub: HubEmulator, truth: dict[str, RepoSnapshot], tmp_path: Path, kind: str, name: str
) -> None:
    place = PLACES[kind]
    hub.faults.add(replace(FAULTS[name], match=concerns(hub, place, False), times=1))
    assert facts(fetcher(hub, tmp_path)(parse_model_ref(place.model))) == truth[place.model]
