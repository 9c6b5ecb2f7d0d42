"""Under HubSession: connections that are kept, proxies, trust, and what is asked."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scrapers.answers import BrokenAnswer, HttpAnswer
from scrapers.connections import Connections
from scrapers.redirects import origin_of
from scrapers.wire import request_head
from tests.scrapers.test_answers import read

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Listener:
    """Answers every request of every connection with the same bytes; keeps what was asked."""

    def __init__(self, answer: bytes, requests_per_connection: int) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._answer, self._most = answer, requests_per_connection
        self.address = "http://{}:{}".format(*self._socket.getsockname())
        self.heads: list[str] = []
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            with connection, connection.makefile("rb") as lines:
                for _ in range(self._most):
                    head = b"".join(iter(lines.readline, b"\r\n")) if lines.peek(1) else b""
                    if not head:
                        break
                    self.heads.append(head.decode())
                    connection.sendall(self._answer)

    def close(self) -> None:
        self._socket.close()


@contextmanager
def listening(answer: bytes = OK, requests_per_connection: int = 9) -> Iterator[Listener]:
    listener = Listener(answer, requests_per_connection)
    try:
        yield listener
    finally:
        listener.close()


@pytest.fixture
def connections() -> Iterator[Connections]:
    found = Connections(4, None)
    yield found
    found.close()


def get(connections: Connections, url: str) -> HttpAnswer:
    origin = origin_of(url)
    assert origin is not None
    return connections.get(url, origin, {"User-Agent": "test"}, 1.0, 1.0)


def test_a_connection_is_used_again(connections: Connections) -> None:
    with listening() as hub:
        assert [read(get(connections, f"{hub.address}/{n}?a=b#c")) for n in range(3)] == [b"hi"] * 3
        assert hub.connections == 1
        assert hub.heads[0].startswith("GET /0?a=b HTTP/1.1\r\n")


def test_a_connection_left_half_read_is_not(connections: Connections) -> None:
    with listening() as hub:
        for _ in range(3):
            get(connections, hub.address).close()
        assert hub.connections == 3


def test_a_connection_closed_meanwhile_is_not(connections: Connections) -> None:
    with listening(requests_per_connection=1) as hub:
        for _ in range(3):
            assert read(get(connections, hub.address)) == b"hi"
            time.sleep(0.05)
        assert hub.connections == 3


def test_after_a_failure_no_other_kept_connection_is_tried(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What forgot one of them has forgotten the rest, and need not have said so."""
    monkeypatch.setattr("scrapers.connections.is_open", lambda _: True)
    with listening(requests_per_connection=1) as hub:
        for answer in [get(connections, hub.address) for _ in range(3)]:
            assert read(answer) == b"hi"
        with pytest.raises((BrokenAnswer, OSError)):
            read(get(connections, hub.address))
        assert read(get(connections, hub.address)) == b"hi"
        assert hub.connections == 4


def test_an_old_connection_is_not_used(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scrapers.connections._IDLE_SECONDS", 0.0)
    with listening() as hub:
        for _ in range(2):
            assert read(get(connections, hub.address)) == b"hi"
        assert hub.connections == 2


def test_a_certificate_that_is_not_trusted_is_said(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ssl.SSLCertVerificationError("self-signed")

    monkeypatch.setattr("socket.create_connection", refuse)
    with pytest.raises(ssl.SSLCertVerificationError):
        get(connections, "http://127.0.0.1:9")


def test_nothing_is_kept_after_the_end(connections: Connections) -> None:
    with listening() as hub:
        answer = get(connections, hub.address)
        connections.close()
        assert read(answer) == b"hi"
        assert read(get(connections, hub.address)) == b"hi"
        assert hub.connections == 2


def test_addresses_from_redirects_are_escaped(connections: Connections) -> None:
    with listening() as hub:
        read(get(connections, f"{hub.address}/caf\xe9%20?q=\xfc&x=%41"))
        assert hub.heads[0].startswith("GET /caf%C3%A9%20?q=%C3%BC&x=%41 HTTP/1.1\r\n")


@pytest.mark.parametrize("host", ["a..b", ".huggingface.co", "x" * 70 + ".co"])
def test_hosts_that_no_name_server_knows(connections: Connections, host: str) -> None:
    for scheme in ("http", "https"):
        with pytest.raises((BrokenAnswer, OSError)):
            get(connections, f"{scheme}://{host}/")


def test_a_proxy_is_told_the_whole_address(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening() as proxy:
        monkeypatch.setenv("http_proxy", proxy.address)
        monkeypatch.setenv("no_proxy", "other.test")
        assert read(get(connections, "http://hub.test:81/a?b=c")) == b"hi"
    assert proxy.heads[0].startswith("GET http://hub.test:81/a?b=c HTTP/1.1\r\nHost: hub.test:81")


def test_a_proxy_opens_a_tunnel_and_sees_nothing_else(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(b"HTTP/1.1 200 OK\r\n\r\n", 1) as proxy:
        monkeypatch.setenv("https_proxy", proxy.address.removeprefix("http://"))
        with pytest.raises(OSError):  # the proxy speaks no TLS behind its tunnel
            get(connections, "https://hub.test/secret")
    assert len(proxy.heads) == 1
    assert proxy.heads[0].startswith("CONNECT hub.test:443 HTTP/1.")
    assert "secret" not in proxy.heads[0]


def test_a_proxy_is_told_who_asks(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(requests_per_connection=1) as proxy:
        address = proxy.address.replace("//", "//me:se%40cret@")
        monkeypatch.setenv("all_proxy", address)
        assert read(get(connections, "http://hub.test/")) == b"hi"
        with pytest.raises((BrokenAnswer, OSError)):
            get(connections, "https://hub.test/")
    told = "Proxy-Authorization: Basic " + b64encode(b"me:se@cret").decode()
    assert [told in head for head in proxy.heads] == [True, True]
    assert "cret" not in repr(connections.__dict__)


def test_proxies_of_other_kinds_are_not_gone_around(
    connections: Connections, monkeypatch: pytest.MonkeyPatch
) -> None:
    for proxy in ("https://proxy.test", "socks5://proxy.test", "http://"):
        monkeypatch.setenv("all_proxy", proxy)
        with pytest.raises(BrokenAnswer):
            get(connections, "http://hub.test/")


def test_trust(connections: Connections) -> None:
    context = connections._trusted()
    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.cert_store_stats()["x509_ca"] > 50
    assert context is connections._trusted()


@pytest.mark.parametrize(
    ("address", "header"),
    [
        ("http://Hub.test/a", "hub.test"),
        ("http://hub.test:80/a", "hub.test"),
        ("https://hub.test:80/a", "hub.test:80"),
        ("https://[::1]/a", "[::1]"),
        ("http://[::1]:81/a", "[::1]:81"),
    ],
)
def test_hosts_as_they_are_asked(address: str, header: str) -> None:
    origin = origin_of(address)
    assert origin is not None
    head = request_head("GET", "/a", origin, {"Range": "bytes=0-9"})
    assert head == f"GET /a HTTP/1.1\r\nHost: {header}\r\nRange: bytes=0-9\r\n\r\n".encode()


@pytest.mark.parametrize("target", ["/a b", "/a\r\nX: y", "/\x00", "/caf\xe9"])
def test_no_target_becomes_a_second_line(target: str) -> None:
    origin = origin_of("http://hub.test")
    assert origin is not None
    with pytest.raises(BrokenAnswer):
        request_head("GET", target, origin, {})
    with pytest.raises(BrokenAnswer):
        request_head("GET", "/", origin, {"Authorization": f"Bearer \n{target}"})
