"""The emulator's downloads, faults and request log."""

from __future__ import annotations

import gzip
import http.client
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from huggingface_hub import HfApi

from tests.counting import record_waits
from tests.hub_emulator import (
    FakeRepo,
    Fault,
    HubEmulator,
    llama_repo,
)
from tests.unit.emulator.hub_requests import BIG, CONFIG, GIB, SINGLE, TOKEN, WEIGHTS, fetch, follow


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

    def test_a_small_file_lies_at_its_commit(self, hub: HubEmulator) -> None:
        repo = hub.catalog.repos[SINGLE]
        address = f"/api/resolve-cache/models/{SINGLE}/{{}}/config.json"
        status, _, body = fetch(hub.endpoint, address.format(repo.sha))
        assert (status, body) == (200, repo.files["config.json"].head_bytes())
        assert fetch(hub.endpoint, address.format("main"))[0] == 400
        assert fetch(hub.endpoint, address.format("0" * 40))[0] == 404

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

    def test_a_connection_is_reused(self, hub: HubEmulator) -> None:
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
