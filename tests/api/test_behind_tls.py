"""Behind a server that ends TLS, and the deployment's nginx, every kind of client gets its answer.

Gradio tells its clients the addresses to call: with another scheme than the visitor's they would be
asked in the clear, or nobody would answer.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme
from gradio_client import Client

from tests.api.test_transports import EXAMPLES, four_ways
from tests.api.transports import TIMEOUT
from tests.deployment import nginx_command, nginx_configuration
from tests.nightly import some
from tests.ports import free_port, wait_for

JAVASCRIPT = Path(__file__).resolve().parents[1] / "javascript"
INSTALL_SECONDS = 300

# What a load balancer in front of the deployment does: it ends TLS, and says that it did.
_ENDS_TLS = """
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} ssl;
        ssl_certificate {certificate};
        ssl_certificate_key {certificate};
        location / {{
            proxy_pass http://127.0.0.1:{behind};
            proxy_http_version 1.1;
            proxy_buffering off;
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-Proto https;
            proxy_set_header Connection "";
        }}
    }}
}}
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A certificate of 127.0.0.1 and its key, which node, and all that use OpenSSL, trust while
    this module is tested."""
    authority, folder = trustme.CA(), tmp_path_factory.mktemp("tls")
    certificate, trusted = folder / "certificate.pem", folder / "authority.pem"
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(certificate)
    authority.cert_pem.write_to_path(trusted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(trusted))
        patch.setenv("CURL_CA_BUNDLE", str(trusted))
        patch.setenv("NODE_EXTRA_CA_CERTS", str(trusted))
        yield certificate


@pytest.fixture(scope="module")
def https_url(
    app_url: str, certificate: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """The address of the running application behind both proxies, with a slash at its end."""
    inner, outer = (tmp_path_factory.mktemp(name) for name in ("deployed", "ends-tls"))
    replica = app_url.removeprefix("http://").rstrip("/")
    port, behind = free_port(), free_port()
    configuration = outer / "nginx.conf"
    configuration.write_text(
        _ENDS_TLS.format(folder=outer, port=port, behind=behind, certificate=certificate)
    )
    commands = [
        nginx_command(nginx_configuration(inner, behind, (replica, replica))),
        nginx_command(configuration),
    ]
    processes = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for command in commands]
    try:
        wait_for(behind)
        wait_for(port)
        yield f"https://127.0.0.1:{port}/"
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(120)


@pytest.fixture(scope="module")
def https_client(https_url: str) -> Iterator[Client]:
    client = Client(https_url, verbose=False)
    yield client
    client.close()


@pytest.fixture(scope="session")
def node() -> str:
    """The program node, with the packages of `tests/javascript` as its lock has them."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        pytest.fail("needs node 18 or newer, and npm")
    lock = JAVASCRIPT / "package-lock.json"
    stamp = JAVASCRIPT / "node_modules" / "installed-package-lock.json"
    if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
        install = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
        installed = subprocess.run(
            install, cwd=JAVASCRIPT, capture_output=True, text=True, timeout=INSTALL_SECONDS
        )
        assert installed.returncode == 0, installed.stderr
        stamp.write_bytes(lock.read_bytes())
    return program


def through_javascript(node: str, url: str, endpoint: str, fields: dict[str, Any]) -> Any:
    """Ask with `@gradio/client`; return what it says the address is, and the answer."""
    done = subprocess.run(
        [node, "ask.mjs", url, endpoint, json.dumps(fields)],
        cwd=JAVASCRIPT,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("endpoint", some(list(EXAMPLES), of=2))
def test_every_client_gets_the_answer(
    https_client: Client, https_url: str, node: str, endpoint: str
) -> None:
    request = EXAMPLES[endpoint]
    answer = four_ways(https_client, https_url, endpoint, request)
    assert "error" not in answer
    told = through_javascript(node, https_url, endpoint, request)
    assert told == {"root": https_url.rstrip("/"), "answer": answer}
