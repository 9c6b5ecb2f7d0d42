"""Over TLS: what is trusted, and that the same connection serves again."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from scrapers.connections import Connections
from scrapers.redirects import origin_of
from tests.scrapers.test_answers import read

BODY = bytes(range(256)) * 1000


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A self-signed certificate of 127.0.0.1, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + secret)
    return path


class Server:
    """Answers over TLS; counts connections that got so far."""

    def __init__(self, certificate: Path) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
        self._context = context
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return  # closed: the test is over
            try:
                wire = self._context.wrap_socket(accepted, server_side=True)
            except OSError:
                continue  # the client did not trust it
            self.connections += 1
            with wire, wire.makefile("rb") as lines:
                while lines.readline():
                    while lines.readline() not in (b"\r\n", b""):
                        pass
                    wire.sendall(head + BODY)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def server(certificate: Path) -> Iterator[Server]:
    made = Server(certificate)
    yield made
    made.close()


def ask(connections: Connections, url: str) -> bytes:
    origin = origin_of(url)
    assert origin is not None
    return read(connections.get(url, origin, {}, 5.0, 5.0))


def test_a_trusted_server_is_read_over_one_connection(server: Server, certificate: Path) -> None:
    connections = Connections(4, str(certificate))
    for _ in range(3):
        assert ask(connections, f"https://127.0.0.1:{server.port}/") == BODY
    connections.close()
    assert server.connections == 1


def test_nobody_else_is_trusted(server: Server) -> None:
    connections = Connections(4, None)
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(connections, f"https://127.0.0.1:{server.port}/")
    assert server.connections == 0


def test_a_certificate_of_another_host_is_not_trusted(server: Server, certificate: Path) -> None:
    connections = Connections(4, str(certificate))
    with pytest.raises(ssl.SSLCertVerificationError):
        ask(connections, f"https://localhost:{server.port}/")
