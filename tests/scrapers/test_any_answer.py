"""Any answer in place of any file: no number that is not the model's, during it or after it.

Readings go through the fetcher with its cache on disk, as the page's do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gpusizer.core.errors import HubRateLimited, HubUnreachable, MalformedRepo, ModelUnreadable
from gpusizer.hub.model_ref import parse_model_ref
from gpusizer.hub.snapshot import RepoSnapshot
from scrapers.cache.disk_entries import DiskEntries
from scrapers.cache.snapshot_cache import SnapshotCache
from scrapers.fetcher import Fetcher
from tests.hub_emulator import (
    FakeRepo,
    Fault,
    HubEmulator,
    gguf_repo,
    literal_file,
    llama_repo,
    moe_repo,
    safetensors_file,
    sharded_repo,
)
from tests.nightly import some
from tests.scrapers.checkpoints import INDEX, TENSORS
from tests.scrapers.conftest import settings_of
from tests.scrapers.local_repos import pieces_repo, pipeline_repo

LORA = {"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": ("F32", (8, 64))}
HTML = b"<!DOCTYPE html><html><head><title>Hugging Face</title></head></html>"


def unnumbered_repo() -> FakeRepo:
    """Two shards that only the index names, beside a file that is no shard."""
    repo = sharded_repo("org/odd", TENSORS, 2, {"model_type": "x"})
    for number, name in ((1, "a"), (2, "b")):
        old, new = f"model-0000{number}-of-00002", f"model-{name}"
        repo.files[f"{new}.safetensors"] = repo.files.pop(f"{old}.safetensors")
        index = repo.files[INDEX].head_bytes().decode()
        repo.files[INDEX] = literal_file(index.replace(old, new))
    repo.files["leftover.safetensors"] = safetensors_file(TENSORS)
    return repo


def repos() -> list[FakeRepo]:
    """One repository for each way of storing weights."""
    quantized = llama_repo("org/gptq")
    quantized.files["quantize_config.json"] = literal_file({"bits": 4, "group_size": 64})
    adapter = {
        "adapter_config.json": literal_file({"r": 8, "base_model_name_or_path": "org/one"}),
        "adapter_model.safetensors": safetensors_file(LORA),
    }
    tagged = llama_repo("org/tagged-8B", layers=4, shards=3)
    tagged.revisions["v1"] = tagged.sha
    return [
        llama_repo("org/one"),
        llama_repo("org/paged", info={"siblings": None}),
        tagged,
        moe_repo("org/moe", experts=16, shards=2),
        unnumbered_repo(),
        quantized,
        FakeRepo("org/adapter", adapter),
        replace(pipeline_repo(), repo_id="org/pipeline", sha=""),
        replace(pieces_repo(), repo_id="org/pieces", sha=""),
        gguf_repo("org/gguf", ["Q4_K_M", "Q8_0"]),
    ]


@dataclass(frozen=True)
class Place:
    """A file of a model (of `repo_id`, if another than its own), or a route of the API."""

    model: str
    path: str = ""
    repo_id: str = ""
    route: str = ""

    @property
    def is_hashed(self) -> bool:
        """Whether the whole file is read, so that its hash tells any other bytes from it."""
        return self.path.endswith(".json")

    def matches(self, hub: HubEmulator, redirects: bool) -> Callable[[str], bool]:
        """Return whether a request is for this place where the Hub keeps it, or also redirects."""
        if self.route:
            return lambda path: re.search(self.route, path) is not None
        repo_id = self.repo_id or parse_model_ref(self.model).repo_id
        file = hub.catalog.repos[repo_id].files[self.path]
        routes = ("/resolve-cache/", "/resolve/") if redirects else ("/resolve-cache/",)

        def match(path: str) -> bool:
            if f"/{repo_id}/" not in path:
                return file.lfs and not redirects and path.endswith(file.xet_hash)
            return path.endswith(f"/{quote(self.path)}") and any(r in path for r in routes)

        return match


PLACES = [
    Place("org/one", route="/api/models/org/one$"),
    Place("org/paged", route="/api/models/org/paged/tree/"),
    Place("org/moe", route="/safetensors-metadata/"),
    Place("org/odd", route="/safetensors-metadata/"),
    Place("org/one", "config.json"),
    Place("org/one", "model.safetensors"),
    Place("org/tagged-8B@v1", "model-00002-of-00003.safetensors"),
    Place("org/odd", "model-b.safetensors"),
    Place("org/gptq", "quantize_config.json"),
    Place("org/pipeline", "model_index.json"),
    Place("org/pipeline", "unet/config.json"),
    Place("org/pipeline", "unet/diffusion_pytorch_model.safetensors"),
    Place("org/adapter", "adapter_config.json"),
    Place("org/adapter", "model.safetensors", "org/one"),
    Place("org/gguf:Q8_0", "model-Q8_0.gguf"),
    Place("org/pieces", "m-Q4_K.gguf.part1of2"),
]


def cut(body: bytes, share: float) -> bytes:
    return body[: int(len(body) * share)]


CHANGES: list[Callable[[bytes], bytes]] = [
    lambda body: HTML,
    lambda body: b"",
    lambda body: b"{}",
    lambda body: b"null",
    lambda body: body[::-1],
    lambda body: bytes(len(body)),
    lambda body: b"[" * 50_000 + body,
    lambda body: body + b" " * 100_000,
]
# What could be the model's as well: other numbers in JSON that no hash vouches for.
UNKNOWABLE: list[Callable[[bytes], bytes]] = [
    lambda body: body.translate(bytes.maketrans(b"123456789", b"234567891")),
    lambda body: b"{}".ljust(len(body)),
    lambda body: b"[]",
]
FAULTS = st.one_of(
    st.sampled_from(CHANGES).map(lambda change: Fault("change", change=change)),
    st.floats(0, 0.99).map(lambda share: Fault("change", change=lambda body: cut(body, share))),
    st.integers(0, 40).map(lambda sent: Fault("truncate", after=sent)),
    st.sampled_from([403, 404, 410, 418, 500, 503]).map(lambda code: Fault("status", status=code)),
    st.sampled_from(["EntryNotFound", "RevisionNotFound", "GatedRepo"]).map(
        lambda code: Fault("status", status=404, headers={"X-Error-Code": code})
    ),
    st.sampled_from([HTML, b""]).map(lambda body: Fault("garbage", status=200, body=body)),
    st.builds(lambda: Fault("status", status=429, headers={"Retry-After": "0"})),
    st.builds(lambda: Fault("reset")),
)
HASHED = st.builds(
    lambda place, change: (place, Fault("change", change=change)),
    st.sampled_from([place for place in PLACES if place.is_hashed]),
    st.sampled_from(UNKNOWABLE),
)


@pytest.fixture(scope="module")
def hub() -> Iterator[HubEmulator]:
    """Yield a Hub whose failures are repeated at once."""
    with (
        HubEmulator(repos()) as emulator,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("scrapers.client.http.pause_seconds", lambda attempt, hint: 0.002)
        yield emulator


def fetcher(hub: HubEmulator, cache: Path, **options: bool) -> Fetcher:
    """Return a process that has read nothing yet, with this cache and no embedded copies."""
    folders = {"cache_folder": cache, "snapshots_folder": cache / "none"}
    return Fetcher(settings_of(hub, timeout_seconds=60.0, **folders, **options))


def facts(snapshot: RepoSnapshot) -> RepoSnapshot:
    """Return the facts that a number may depend on."""
    return replace(snapshot, retrieved_at="", source="hub")


@pytest.fixture(scope="module")
def truth(hub: HubEmulator, tmp_path_factory: pytest.TempPathFactory) -> dict[str, RepoSnapshot]:
    """Return each model, read while all is well."""
    read = fetcher(hub, tmp_path_factory.mktemp("truth"))
    models = {place.model for place in PLACES}
    return {model: facts(read(parse_model_ref(model))) for model in models}


@settings(max_examples=settings.default.max_examples * 2)
@given(st.tuples(st.sampled_from(PLACES), FAULTS) | HASHED, st.booleans())
@example((PLACES[4], Fault("status", status=404)), True)
@example((PLACES[5], Fault("ignore_range")), False)
def test_no_answer_leads_to_wrong_numbers(
    hub: HubEmulator,
    truth: dict[str, RepoSnapshot],
    case: tuple[Place, Fault],
    redirects: bool,
) -> None:
    place, fault = case
    ref, expected = parse_model_ref(place.model), truth[place.model]
    with TemporaryDirectory() as folder:
        cache = Path(folder)
        hub.faults.clear()
        hub.faults.add(
            replace(fault, match=place.matches(hub, redirects and fault.kind != "change"))
        )
        during = fetcher(hub, cache)
        for _ in range(2):
            try:
                snapshot = during(ref)
            except ModelUnreadable as error:
                is_doubt = isinstance(error, HubUnreachable | HubRateLimited | MalformedRepo)
                assert is_doubt or (place.route and fault.kind == "status")
                if not place.repo_id:
                    kept = SnapshotCache(DiskEntries(cache, 10**6), hub.endpoint)
                    assert kept.last_known(ref) is None
            else:
                assert facts(snapshot) == expected
                assert not place.is_hashed or redirects or fault.kind == "ignore_range"
        hub.faults.clear()
        for read in (during, fetcher(hub, cache), fetcher(hub, cache, offline=True)):
            assert facts(read(ref)) == expected


PASSING = {
    "half of it": Fault("change", change=lambda body: cut(body, 0.5)),
    "nothing": Fault("change", change=lambda body: b""),
    "404": Fault("status", status=404),
    "cut": Fault("truncate", after=7),
    "503": Fault("status", status=503),
    "429 now": Fault("status", status=429, headers={"Retry-After": "0"}),
    "reset": Fault("reset"),
}


@pytest.mark.parametrize("number", range(len(PLACES)))
def test_a_single_wrong_answer_is_asked_for_again(
    hub: HubEmulator, truth: dict[str, RepoSnapshot], tmp_path: Path, number: int
) -> None:
    place = PLACES[number]
    for name in some([*PASSING], of=4, start=number):
        if place.route.endswith("$") and name == "404":  # there is no such model
            continue
        hub.faults.clear()
        hub.faults.add(replace(PASSING[name], match=place.matches(hub, False), times=1))
        snapshot = fetcher(hub, tmp_path / name.replace(" ", ""))(parse_model_ref(place.model))
        assert facts(snapshot) == truth[place.model], name
