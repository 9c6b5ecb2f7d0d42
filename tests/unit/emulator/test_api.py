"""The emulator's API agrees with what huggingface_hub expects of the Hub."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from huggingface_hub import HfApi
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

from tests.hub_emulator import (
    FakeRepo,
    HubEmulator,
    literal_file,
    llama_repo,
    raw_safetensors_file,
)
from tests.unit.emulator.hub_requests import BIG, CONFIG, GIB, SHARDED, SINGLE, TOKEN, fetch


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

    def test_expand_returns_only_the_requested_fields(self, api: HfApi, hub: HubEmulator) -> None:
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
            == 100
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
