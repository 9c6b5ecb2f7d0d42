"""The Hub emulator, checked against huggingface_hub and the safetensors library."""

from __future__ import annotations

import gzip
import http.client
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import safetensors
from huggingface_hub import HfApi, constants
from huggingface_hub.errors import (
    BadRequestError,
    DisabledRepoError,
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    NotASafetensorsRepoError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    SafetensorsParsingError,
)

from tests.counting import record_waits
from tests.hub_emulator import (
    FakeRepo,
    Fault,
    HubEmulator,
    corpus_repo,
    corpus_repos,
    literal_file,
    llama_repo,
    moe_repo,
    raw_safetensors_file,
    safetensors_file,
    sharded_repo,
    sparse_file,
    sparse_safetensors_file,
)

GIB = 2**30
TOKEN = "hf_reader"
SINGLE, SHARDED, BIG = "org/single", "org/sharded", "org/big"
CONFIG = f"/{SINGLE}/resolve/main/config.json"
WEIGHTS = f"/{BIG}/resolve/main/model.safetensors"
TENSORS = {
    "b.weight": ("BF16", (4, 3)),
    "a.weight": ("F32", (2,)),
    "é.scale": ("F8_E8M0", (5,)),
    "packed": ("F4", (2, 4)),
    "scalar": ("I64", ()),
    "empty": ("F16", (0, 7)),
    'quo"te': ("F8_E4M3", (1,)),
    "mask": ("BOOL", (1,)),
}


@pytest.fixture(autouse=True)
def no_xet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.delenv("HF_TOKEN", raising=False)


@pytest.fixture(scope="module")
def shared_hub() -> Iterator[HubEmulator]:
    repos = [
        llama_repo(SINGLE, card_data={"base_model": "org/base", "license": "mit"}),
        llama_repo(SHARDED, shards=3),
        llama_repo(BIG, layers=32, hidden=4096, intermediate=14336, vocab=128256, heads=32),
        llama_repo("org/gated", gated="manual"),
        llama_repo("org/private", private=True),
        llama_repo("org/disabled", disabled=True),
        FakeRepo("org/many", {f"part/{n:04}.txt": literal_file("x") for n in range(2500)}),
        FakeRepo("org/pickle", {"pytorch_model.bin": sparse_file(6 * GIB)}),
    ]
    renames = {"old/name": SINGLE, "older/name": "old/name", "loop/a": "loop/b", "loop/b": "loop/a"}
    with HubEmulator(repos, valid_tokens={TOKEN: {"org/gated"}, "hf_other": ()}) as hub:
        hub.options.renames = renames
        yield hub


@pytest.fixture
def hub(shared_hub: HubEmulator) -> Iterator[HubEmulator]:
    options = dict(vars(shared_hub.options))
    shared_hub.faults.clear()
    shared_hub.reset_log()
    yield shared_hub
    vars(shared_hub.options).update(options)


@pytest.fixture
def api(hub: HubEmulator) -> HfApi:
    return HfApi(endpoint=hub.endpoint, token=False)


def fetch(
    endpoint: str, target: str, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Status, lower-case headers and body of one request on a connection of its own."""
    parts = urlsplit(target if target.startswith("http") else endpoint + target)
    connection = http.client.HTTPConnection(parts.netloc, timeout=5)
    try:
        connection.request(method, f"{parts.path}?{parts.query}", headers=headers)
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return response.status, names, response.read()
    finally:
        connection.close()


def follow(hub: HubEmulator, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    """The answer after one redirect."""
    _, first, _ = fetch(hub.endpoint, path)
    return fetch(hub.endpoint, first["location"], **headers)


class TestFiles:
    @pytest.mark.parametrize("metadata", [None, {"format": "pt"}])
    def test_sparse_header_is_the_librarys(self, metadata: dict[str, str] | None) -> None:
        real = safetensors_file(TENSORS, metadata)
        sparse = sparse_safetensors_file(TENSORS, metadata)
        assert sparse.size == real.size
        assert sparse.read(0, sparse.size) == real.read(0, real.size)

    def test_every_dtype_is_in_the_librarys_order(self) -> None:
        dtypes = "U64 I64 F64 C64 F32 U32 I32 BF16 F16 U16 I16 F8_E5M2FNUZ F8_E4M3FNUZ"
        names = [*dtypes.split(), *["F8_E8M0", "F8_E4M3", "F8_E5M2", "I8", "U8", "F4", "BOOL"]]
        tensors = {f"t{number}": (dtype, (2,)) for number, dtype in enumerate(sorted(names))}
        real, sparse = safetensors_file(tensors), sparse_safetensors_file(tensors)
        assert sparse.read(0, sparse.size) == real.read(0, real.size)

    def test_library_opens_sparse_file(self, tmp_path: Path) -> None:
        path = tmp_path / "model.safetensors"
        sparse = sparse_safetensors_file(TENSORS, {"format": "pt"})
        path.write_bytes(sparse.read(0, sparse.size))
        with safetensors.safe_open(path, framework="numpy") as file:
            assert set(file.keys()) == set(TENSORS)
            assert file.metadata() == {"format": "pt"}
            assert file.get_slice("b.weight").get_shape() == [4, 3]

    def test_raw_file_claims_what_it_is_told(self) -> None:
        file = raw_safetensors_file(b"{}", header_length=2**63, data_size=6)
        assert file.size == 16
        assert file.read(0, 99) == (2**63).to_bytes(8, "little") + b"{}" + bytes(6)

    def test_sparse_file_reads_zeros_past_its_head(self) -> None:
        file = sparse_file(6 * GIB, b"GGUF")
        assert file.read(2, 6) == b"UF\0\0"
        assert file.read(6 * GIB - 2, 7 * GIB) == b"\0\0"
        assert file.sha256 != sparse_file(5 * GIB, b"GGUF").sha256

    def test_git_names(self) -> None:
        assert literal_file("hello\n").oid == "ce013625030ba8dba906f756967f9e9ca394464a"
        pointer = literal_file("hello\n", lfs=True).lfs_pointer
        assert b"sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" in pointer

    def test_shards_hold_every_tensor_once(self) -> None:
        repo = sharded_repo("a/b", {f"t{n}": ("F32", (10,)) for n in range(9)}, shards=4)
        assert repo.counted_parameters() == {"F32": 90}
        assert len(repo.weight_paths()) == 4

    def test_moe_counts(self) -> None:
        repo = moe_repo(layers=1, experts=4, hidden=8, expert_size=4, vocab=10, dtype="F16")
        experts = 4 * 3 * 8 * 4
        attention = 2 * 8 * 64 + 2 * 8 * 32
        norms = 8 + 8 + 16 + 16 + 8
        assert repo.counted_parameters() == {
            "F16": experts + attention + norms + 4 * 8 + 2 * 10 * 8
        }


class TestModelInfo:
    def test_default_fields(self, api: HfApi, hub: HubEmulator) -> None:
        info = api.model_info(SINGLE, files_metadata=True)
        repo = hub.catalog.repos[SINGLE]
        assert (info.id, info.sha, info.gated, info.private) == (SINGLE, repo.sha, False, False)
        assert info.safetensors is not None
        assert info.safetensors["total"] == sum(repo.counted_parameters().values())
        assert info.card_data is not None
        assert info.card_data.license == "mit"
        weights = next(s for s in info.siblings or () if s.rfilename == "model.safetensors")
        assert weights.size == repo.files["model.safetensors"].size
        assert weights.lfs is not None
        assert weights.lfs.sha256 == repo.files["model.safetensors"].sha256

    def test_expand_gives_only_what_was_asked(self, api: HfApi, hub: HubEmulator) -> None:
        info = api.model_info(SINGLE, expand=["safetensors", "baseModels", "gguf"])
        assert info.safetensors is not None
        assert info.sha is None
        _, _, body = fetch(hub.endpoint, f"/api/models/{SINGLE}?expand[]=baseModels&expand=gguf")
        answer = json.loads(body)
        assert set(answer) == {"_id", "id", "baseModels"}
        assert answer["baseModels"]["models"][0]["id"] == "org/base"

    def test_unknown_expand(self, api: HfApi) -> None:
        with pytest.raises(BadRequestError):
            api.model_info(SINGLE, expand=["nonsense"])  # type: ignore[list-item]

    def test_info_overrides(self, hub: HubEmulator) -> None:
        hub.add(FakeRepo("org/liar", info={"sha": 7, "tags": None, "gguf": {"total": -1}}))
        answer = json.loads(fetch(hub.endpoint, "/api/models/org/liar")[2])
        assert (answer["sha"], answer["gguf"]) == (7, {"total": -1})
        assert "tags" not in answer

    @pytest.mark.parametrize("name", ["old/name", "older/name", SINGLE.upper()])
    def test_renamed(self, api: HfApi, hub: HubEmulator, name: str) -> None:
        assert api.model_info(name, expand=["sha"]).id == SINGLE
        assert hub.requests[0].status == 307
        assert hub.requests[-1].query == "expand=sha"
        assert next(entry.path for entry in api.list_repo_tree(name)) == "README.md"

    def test_rename_loop_never_ends(self, hub: HubEmulator) -> None:
        assert fetch(hub.endpoint, "/api/models/loop/a")[1]["location"] == "/api/models/loop/b"
        assert fetch(hub.endpoint, "/api/models/loop/b")[1]["location"] == "/api/models/loop/a"

    def test_revisions(self, hub: HubEmulator, api: HfApi) -> None:
        repo = llama_repo("org/branches")
        repo.revisions = {"small": {"config.json": literal_file("{}")}, "v1": "small"}
        repo.revisions["refs/pr/1"] = dict(repo.files)
        hub.add(repo)
        small = api.model_info(repo.repo_id, revision="small")
        assert [sibling.rfilename for sibling in small.siblings or ()] == ["config.json"]
        assert small.sha != repo.sha
        assert api.model_info(repo.repo_id, revision="v1").sha == small.sha
        assert api.model_info(repo.repo_id, revision=small.sha).sha == small.sha
        assert api.model_info(repo.repo_id, revision="refs/pr/1").sha != repo.sha
        assert api.model_info(repo.repo_id, revision=repo.sha).sha == repo.sha


class TestTree:
    def test_pages(self, api: HfApi, hub: HubEmulator) -> None:
        entries = list(api.list_repo_tree("org/many", recursive=True))
        assert entries[0].path == "part"
        assert len({entry.path for entry in entries}) == 2501
        assert len(hub.requests) == 3

    def test_expanded_pages_are_smaller(self, api: HfApi, hub: HubEmulator) -> None:
        first = next(iter(api.list_repo_tree("org/many", "part", expand=True)))
        assert first.last_commit is not None
        assert (
            len(json.loads(fetch(hub.endpoint, "/api/models/org/many/tree/main/part?expand=1")[2]))
            == 50
        )

    def test_lfs_entry(self, api: HfApi) -> None:
        (entry,) = api.list_repo_tree("org/pickle")
        assert entry.size == 6 * GIB
        assert entry.lfs is not None
        assert entry.lfs.size == 6 * GIB

    def test_missing_folder(self, api: HfApi) -> None:
        with pytest.raises(EntryNotFoundError):
            list(api.list_repo_tree(SINGLE, "nowhere"))

    def test_paths_info(self, api: HfApi) -> None:
        entries = api.get_paths_info("org/many", ["part", "part/0001.txt", "nowhere"])
        assert [entry.path for entry in entries] == ["part", "part/0001.txt"]


class TestSafetensors:
    @pytest.mark.parametrize("repo_id", [SINGLE, SHARDED, BIG])
    def test_ranges(self, api: HfApi, hub: HubEmulator, repo_id: str) -> None:
        metadata = api.get_safetensors_metadata(repo_id)
        assert metadata.parameter_count == hub.catalog.repos[repo_id].counted_parameters()
        assert all(request.range for request in hub.requests_to("cdn", "GET"))

    def test_one_request(self, api: HfApi, hub: HubEmulator) -> None:
        for _ in range(2):
            metadata = api.get_sharded_safetensors_metadata(SHARDED)
            assert metadata.parameter_count == hub.catalog.repos[SHARDED].counted_parameters()
            assert metadata.metadata is not None
        assert len(hub.requests) == 2

    @pytest.mark.parametrize("status", [404, 501])
    def test_one_request_switched_off(self, api: HfApi, hub: HubEmulator, status: int) -> None:
        hub.options.safetensors_metadata_status = status
        with pytest.raises(HfHubHTTPError):
            api.get_sharded_safetensors_metadata(SHARDED)

    def test_no_safetensors(self, api: HfApi) -> None:
        with pytest.raises(NotASafetensorsRepoError):
            api.get_safetensors_metadata("org/pickle")
        with pytest.raises(EntryNotFoundError):
            api.get_sharded_safetensors_metadata(SINGLE)

    @pytest.mark.parametrize(
        "header", [b"not JSON", b"[" * 100_000, b'{"a": {"dtype": "F32"}}', b"\xff{}"]
    )
    def test_malformed_header(self, api: HfApi, hub: HubEmulator, header: bytes) -> None:
        repo = hub.add(FakeRepo("org/broken", {"model.safetensors": raw_safetensors_file(header)}))
        assert api.model_info(repo.repo_id).safetensors is None
        if header[:1] != b"\xff":  # huggingface_hub decodes with errors="ignore"
            with pytest.raises((SafetensorsParsingError, RecursionError)):
                api.get_safetensors_metadata(repo.repo_id)


class TestAccess:
    def test_missing_repo(self, api: HfApi, hub: HubEmulator) -> None:
        with pytest.raises(RepositoryNotFoundError):
            api.model_info("org/nothing")
        assert hub.requests[-1].status == 401
        with pytest.raises(RepositoryNotFoundError):
            api.model_info("org/nothing", token=TOKEN)
        assert hub.requests[-1].status == 404

    def test_bare_401(self, hub: HubEmulator) -> None:
        hub.options.anon_401_code = None
        status, headers, body = fetch(hub.endpoint, "/api/models/org/nothing")
        assert (status, json.loads(body)) == (401, {"error": "Invalid username or password."})
        assert "x-error-code" not in headers

    def test_bad_token(self, api: HfApi) -> None:
        with pytest.raises(HfHubHTTPError, match="401") as caught:
            api.model_info(SINGLE, token="hf_wrong")
        assert not isinstance(caught.value, RepositoryNotFoundError)

    def test_private(self, api: HfApi, hub: HubEmulator) -> None:
        for token in (False, TOKEN):
            with pytest.raises(RepositoryNotFoundError):
                api.model_info("org/private", token=token)
        hub.options.valid_tokens = {TOKEN: {"org/gated", "org/private"}, "hf_other": ()}
        assert api.model_info("org/private", token=TOKEN).private

    def test_gated(self, api: HfApi, hub: HubEmulator) -> None:
        assert api.model_info("org/gated").gated == "manual"
        assert list(api.list_repo_tree("org/gated"))
        for token, status in ((False, 401), ("hf_other", 403)):
            with pytest.raises(GatedRepoError):
                api.get_safetensors_metadata("org/gated", token=token)
            assert hub.requests[-1].status == status
        assert api.get_safetensors_metadata("org/gated", token=TOKEN).parameter_count

    def test_disabled(self, api: HfApi) -> None:
        assert api.model_info("org/disabled").disabled
        with pytest.raises(DisabledRepoError):
            api.get_safetensors_metadata("org/disabled")

    def test_missing_revision(self, api: HfApi) -> None:
        with pytest.raises(RevisionNotFoundError):
            api.model_info(SINGLE, revision="nope")
        with pytest.raises(RevisionNotFoundError):
            list(api.list_repo_tree(SINGLE, revision="nope"))

    def test_missing_entry(self, api: HfApi, hub: HubEmulator, tmp_path: Path) -> None:
        with pytest.raises(EntryNotFoundError):
            api.hf_hub_download(SINGLE, "nope.json", local_dir=tmp_path)
        _, headers, body = fetch(hub.endpoint, f"/{SINGLE}/resolve/main/nope.json")
        assert headers["x-repo-commit"] == hub.catalog.repos[SINGLE].sha
        assert body == b"Entry not found"

    def test_unknown_route(self, hub: HubEmulator) -> None:
        assert fetch(hub.endpoint, "/api/nothing/here")[0] == 404
        assert fetch(hub.endpoint, "/org/../../etc/passwd")[0] == 404

    def test_rate_limit_headers(self, hub: HubEmulator) -> None:
        for path, bucket in (("/api/models/org/nothing", "api"), (CONFIG, "resolvers")):
            _, headers, _ = fetch(hub.endpoint, path)
            assert headers["ratelimit"].startswith(f'"{bucket}";r=')
            assert f'"{bucket}";q=' in headers["ratelimit-policy"]

    def test_rate_limit_enforced(self) -> None:
        limits = {"api": (1, 1), "resolvers": (9, 9), "pages": (9, 9)}
        with HubEmulator([llama_repo(SINGLE)], rate_limits=limits) as hub:
            hub.options.enforce_rate_limits = True
            path = f"/api/models/{SINGLE}"
            assert [fetch(hub.endpoint, path)[0] for _ in range(2)] == [200, 429]


class TestDownloads:
    def test_small_file(self, api: HfApi, hub: HubEmulator, tmp_path: Path) -> None:
        path = api.hf_hub_download(SINGLE, "config.json", local_dir=tmp_path)
        content = hub.catalog.repos[SINGLE].files["config.json"].head_bytes()
        assert Path(path).read_bytes() == content

    def test_lfs_file(self, api: HfApi, hub: HubEmulator, tmp_path: Path) -> None:
        path = api.hf_hub_download(SINGLE, "model.safetensors", local_dir=tmp_path)
        file = hub.catalog.repos[SINGLE].files["model.safetensors"]
        assert Path(path).read_bytes() == file.read(0, file.size)

    def test_redirect_of_small_file(self, hub: HubEmulator) -> None:
        status, headers, _ = fetch(hub.endpoint, CONFIG, "HEAD")
        repo = hub.catalog.repos[SINGLE]
        assert status == 307
        assert headers["location"].startswith(
            f"/api/resolve-cache/models/{SINGLE}/{repo.sha}/config.json?"
        )
        assert headers["x-linked-size"] == str(repo.files["config.json"].size)
        assert headers["x-linked-etag"] == f'"{repo.files["config.json"].oid}"'

    def test_redirect_of_lfs_file(self, hub: HubEmulator) -> None:
        status, headers, _ = fetch(hub.endpoint, WEIGHTS)
        file = hub.catalog.repos[BIG].files["model.safetensors"]
        assert status == 302
        assert headers["location"].startswith(hub.cdn_endpoint + "/xet-bridge-us/")
        assert headers["x-linked-etag"] == f'"{file.sha256}"'
        status, there, _ = fetch(hub.endpoint, headers["location"], "HEAD")
        assert (status, int(there["content-length"])) == (200, file.size)
        assert there["etag"] != headers["x-linked-etag"]
        assert "x-repo-commit" not in there

    def test_old_name_of_a_file_is_no_hop(self, hub: HubEmulator) -> None:
        _, headers, _ = fetch(hub.endpoint, "/older/name/resolve/main/config.json")
        assert f"/api/resolve-cache/models/{SINGLE}/" in headers["location"]

    def test_unsigned_address(self, hub: HubEmulator) -> None:
        _, headers, _ = fetch(hub.endpoint, WEIGHTS)
        assert fetch(hub.endpoint, headers["location"].partition("?")[0])[0] == 403

    @pytest.mark.parametrize(
        ("span", "status", "length"),
        [
            ("bytes=0-9", 206, 10),
            ("bytes=-5", 206, 5),
            ("bytes=8-", 206, None),
            ("bytes=5-4", 416, None),
        ],
    )
    @pytest.mark.parametrize("path", [CONFIG, f"/{SINGLE}/resolve/main/model.safetensors"])
    def test_ranges(
        self, hub: HubEmulator, path: str, span: str, status: int, length: int | None
    ) -> None:
        file = hub.catalog.repos[SINGLE].files[path.rpartition("/")[2]]
        got, headers, body = follow(hub, path, Range=span, **{"Accept-Encoding": "gzip"})
        assert got == status
        assert headers["content-range"].endswith(f"/{file.size}")
        assert status == 416 or len(body) == (length or file.size - 8)
        assert hub.requests[-1].range == span

    def test_range_past_the_end(self, hub: HubEmulator) -> None:
        status, headers, _ = follow(hub, CONFIG, Range="bytes=99999-")
        assert (status, headers["content-range"].partition("/")[0]) == (416, "bytes *")

    def test_end_of_a_huge_file(self, hub: HubEmulator) -> None:
        size = hub.catalog.repos[BIG].files["model.safetensors"].size
        assert size > 6 * GIB
        status, _, body = follow(hub, WEIGHTS, Range=f"bytes={size - 3}-{size + 9}")
        assert (status, body) == (206, b"\0\0\0")

    def test_gzip(self, hub: HubEmulator) -> None:
        status, headers, body = follow(hub, CONFIG, **{"Accept-Encoding": "gzip"})
        content = hub.catalog.repos[SINGLE].files["config.json"].head_bytes()
        assert (status, gzip.decompress(body)) == (200, content)
        assert headers["etag"].startswith("W/")
        assert "content-length" not in headers
        assert "accept-ranges" not in headers

    def test_cdn_on_another_address(self) -> None:
        with HubEmulator([llama_repo(SINGLE)], cdn_address="127.0.0.2") as hub:
            api = HfApi(endpoint=hub.endpoint, token=False)
            assert api.get_safetensors_metadata(SINGLE).parameter_count
            assert hub.cdn_endpoint.startswith("http://127.0.0.2:")

    def test_only_loopback(self) -> None:
        with pytest.raises(ValueError, match="loopback"):
            HubEmulator(cdn_address="192.0.2.1")

    def test_token_is_not_sent_to_the_cdn(self, hub: HubEmulator) -> None:
        api = HfApi(endpoint=hub.endpoint, token=TOKEN)
        api.get_safetensors_metadata(SINGLE)
        assert all("authorization" in request.headers for request in hub.requests_to("hub"))
        assert not any("authorization" in request.headers for request in hub.requests_to("cdn"))


class TestFaults:
    PATH = f"/api/models/{SINGLE}"

    def test_status(self, hub: HubEmulator) -> None:
        fault = Fault("status", SINGLE, status=429, headers={"Retry-After": "3"}, times=1, skip=1)
        hub.faults.add(fault)
        answers = [fetch(hub.endpoint, self.PATH) for _ in range(3)]
        assert [status for status, _, _ in answers] == [200, 429, 200]
        assert answers[1][1]["retry-after"] == "3"
        assert fault.happened == 1

    def test_reset(self, hub: HubEmulator) -> None:
        hub.faults.add(Fault("reset", SINGLE))
        with pytest.raises(ConnectionResetError):
            fetch(hub.endpoint, self.PATH)
        assert hub.requests[-1].status == 0

    def test_truncate(self, hub: HubEmulator) -> None:
        hub.faults.add(Fault("truncate", host="cdn", after=10))
        with pytest.raises(http.client.IncompleteRead) as caught:
            follow(hub, WEIGHTS, Range="bytes=0-99")
        assert caught.value.partial == hub.catalog.repos[BIG].files["model.safetensors"].read(0, 10)
        assert hub.requests[-1].body_bytes_sent == 10

    def test_slow(self, hub: HubEmulator, monkeypatch: pytest.MonkeyPatch) -> None:
        hub.faults.add(Fault("slow", host="cdn", piece=10, delay=0.01))
        waits = record_waits(monkeypatch)
        assert len(follow(hub, WEIGHTS, Range="bytes=0-99")[2]) == 100
        assert waits.count(0.01) == 9

    def test_hang_ends_with_the_emulator(self) -> None:
        with ThreadPoolExecutor(1) as pool:
            with HubEmulator([llama_repo(SINGLE)]) as hub:
                hub.faults.add(Fault("hang"))
                waiting = pool.submit(fetch, hub.endpoint, self.PATH)
                while not hub.requests:
                    time.sleep(0.001)
            assert isinstance(waiting.exception(), ConnectionError)

    def test_ignore_range(self, hub: HubEmulator) -> None:
        hub.faults.add(Fault("ignore_range", host="cdn"))
        location = fetch(hub.endpoint, WEIGHTS)[1]["location"]
        connection = http.client.HTTPConnection(urlsplit(location).netloc, timeout=5)
        connection.request(
            "GET", location.removeprefix(hub.cdn_endpoint), headers={"Range": "bytes=0-9"}
        )
        response = connection.getresponse()
        assert (response.status, len(response.read(2**20))) == (200, 2**20)
        assert int(response.headers["Content-Length"]) > 6 * GIB
        response.close()
        connection.close()
        assert hub.requests[-1].body_bytes_sent < GIB

    def test_redirect_to(self, hub: HubEmulator) -> None:
        with HubEmulator() as canary:
            hub.faults.add(Fault("redirect_to", "/resolve/", location=f"{canary.endpoint}/x"))
            assert follow(hub, CONFIG)[0] == 404
            assert [request.path for request in canary.requests] == ["/x"]

    def test_garbage(self, hub: HubEmulator) -> None:
        hub.faults.add(Fault("garbage", lambda path: "resolve-cache" in path, body=b"<html>"))
        status, _, body = follow(hub, CONFIG, **{"Accept-Encoding": "gzip"})
        assert (status, body) == (200, b"<html>")

    def test_unknown_kind(self) -> None:
        with pytest.raises(ValueError, match="truncate"):
            Fault("explode")


class TestLog:
    def test_contents(self, hub: HubEmulator) -> None:
        _, _, body = fetch(hub.endpoint, f"/api/models/{SINGLE}?expand=sha", Accept="*/*")
        (logged,) = hub.requests
        assert (logged.method, logged.host, logged.status) == ("GET", "hub", 200)
        assert (logged.path, logged.query) == (f"/api/models/{SINGLE}", "expand=sha")
        assert (logged.headers["accept"], logged.range) == ("*/*", None)
        assert logged.body_bytes_sent == len(body)

    def test_concurrency_and_latency(
        self, hub: HubEmulator, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        hub.options.latency, hub.options.connect_latency = 0.125, 0.25
        waits = record_waits(monkeypatch)
        with ThreadPoolExecutor(64) as pool:
            paths = [f"/api/models/{SINGLE}?expand=sha"] * 64
            answers = list(pool.map(lambda path: fetch(hub.endpoint, path), paths))
        assert all(status == 200 for status, _, _ in answers)
        assert waits.count(0.375) == 64
        assert hub.peak_concurrency > 32
        assert hub.connections == 64
        hub.reset_log()
        assert (hub.requests, hub.peak_concurrency, hub.connections) == ([], 0, 0)

    def test_waves_are_answered_together(self, hub: HubEmulator) -> None:
        """However late the last of a wave comes, it counts as made with the first."""
        path = f"/api/models/{SINGLE}?expand=sha"
        hub.expect_waves(2, 1)
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(fetch, hub.endpoint, path)
            assert wait([first], timeout=0.3).not_done
            second = pool.submit(fetch, hub.endpoint, path)
            assert (first.result()[0], second.result()[0]) == (200, 200)
        assert hub.round_trips == 1
        assert [fetch(hub.endpoint, path)[0] for _ in range(2)] == [200, 200]
        assert (len(hub.requests), hub.round_trips) == (4, 3)

    def test_connection_is_kept(self, hub: HubEmulator) -> None:
        connection = http.client.HTTPConnection(urlsplit(hub.endpoint).netloc, timeout=5)
        for _ in range(50):
            connection.request("GET", f"/api/models/{SINGLE}")
            assert connection.getresponse().read()
        connection.close()
        assert hub.connections == 1
        assert hub.peak_concurrency == 1

    def test_errors_inside_come_out_at_close(self) -> None:
        hub = HubEmulator([FakeRepo("a/b", info={"sha": object()})])
        with pytest.raises(http.client.RemoteDisconnected):
            fetch(hub.endpoint, "/api/models/a/b")
        with pytest.raises(RuntimeError, match="failed to answer"):
            hub.close()


class TestCorpus:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "org__model"
        (folder / "vae").mkdir(parents=True)
        header = {"w": {"dtype": "F16", "shape": [4, 2], "data_offsets": [0, 16]}}
        shard, gguf = "model-00001-of-00001.safetensors", "model.Q4_K_M.gguf"
        meta: dict[str, Any] = {
            "id": "org/model",
            "revision": None,
            "siblings": [
                {"rfilename": shard, "size": 8 + 104 + 16},
                {"rfilename": gguf, "size": 4 * GIB, "lfs_sha256": "ab" * 32},
                {"rfilename": "tokenizer.model", "size": None},
            ],
            "header_json_bytes": {shard: 104},
            "params_by_dtype": {"F16": 8},
            "gated": False,
            "pipeline_tag": "text-generation",
            "library_name": None,
            "tags": None,
            "license": "mit",
        }
        index = json.dumps({"metadata": {"total_size": 16}, "weight_map": {"w": shard}})
        (folder / "meta.json").write_text(json.dumps(meta))
        (folder / "headers.json.gz").write_bytes(
            gzip.compress(json.dumps({shard: header}).encode())
        )
        (folder / "model.safetensors.index.json.gz").write_bytes(gzip.compress(index.encode()))
        (folder / "README.md").write_text("---\nbase_model: org/base\nlicense: gemma\n---\n")
        (folder / "vae" / "config.json").write_text("{}")
        return folder

    def test_headers_are_read_on_first_use(self, folder: Path) -> None:
        (folder / "headers.json.gz").rename(folder.parent / "away.gz")
        (repo,) = corpus_repos(folder.parent)
        (folder.parent / "away.gz").rename(folder / "headers.json.gz")
        assert repo.counted_parameters() == {"F16": 8}

    def test_repo(self, folder: Path) -> None:
        with HubEmulator([corpus_repo(folder)]) as hub:
            api = HfApi(endpoint=hub.endpoint, token=False)
            info = api.model_info("org/model", files_metadata=True)
            assert info.card_data is not None
            assert (info.card_data.license, info.card_data.base_model) == ("gemma", "org/base")
            assert info.safetensors == {"parameters": {"F16": 8}, "total": 8}
            sizes = {sibling.rfilename: sibling.size for sibling in info.siblings or ()}
            assert sizes["model.Q4_K_M.gguf"] == 4 * GIB
            assert "vae/config.json" in sizes
            assert api.get_safetensors_metadata("org/model").parameter_count == {"F16": 8}
            metadata = api.get_sharded_safetensors_metadata("org/model")
            assert metadata.parameter_count == {"F16": 8}
