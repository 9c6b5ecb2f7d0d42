"""The application with sign-in as a Space serves it, in a process of its own, and what it is asked.

The process, `python -m tests.serve_space`, tells its routes and functions, and writes down each
visitor's token that it would ask the Hub with.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
from itsdangerous import TimestampSigner

ROOT = Path(__file__).resolve().parents[1]
HOST = "me-gs.hf.space"
TOKEN = "hf_of_the_visitor"
PRIVATE_MODEL = "me/private"
SECRET = "secret"
ON_A_SPACE = {
    "SYSTEM": "spaces",
    "SPACE_ID": "me/gs",
    "SPACE_HOST": HOST,
    "OAUTH_CLIENT_ID": "client",
    "OAUTH_CLIENT_SECRET": SECRET,
    "OAUTH_SCOPES": "openid profile gated-repos",
    "HF_ENDPOINT": "http://127.0.0.1:9",
    "GPUSIZER_CACHE_DIR": "off",
    "GPUSIZER_METRICS": "1",
    "GPUSIZER_QUESTIONS_PER_MINUTE": "off",
}
TIMEOUT = 60


@dataclass(frozen=True)
class Route:
    """A path, with names in braces for its parameters, and its methods."""

    path: str
    methods: tuple[str, ...]


@dataclass(frozen=True)
class Function:
    """Function of a page, "" for the endpoints, that callers may call, with values that read a
    model.
    """

    page: str
    number: int
    name: str
    values: list[Any]
    named: dict[str, Any] | None  # the same values by name, of a documented endpoint


@dataclass(frozen=True)
class Space:
    """The running application. `log` is its standard error, `tokens` the file of its tokens."""

    url: str
    pid: int
    log: Path
    tokens: Path
    routes: tuple[Route, ...]
    functions: tuple[Function, ...]
    pages: tuple[str, ...]

    def ask(self, method: str, path: str, **options: Any) -> requests.Response:
        """Send a request, with the Host of the Space; of a stream the head alone is read."""
        headers = {"host": HOST, **options.pop("headers", {})}
        with requests.Session() as session:
            session.trust_env = False
            options = {"timeout": TIMEOUT, "allow_redirects": False, "stream": True, **options}
            answer = session.request(method, f"{self.url}{path}", headers=headers, **options)
            kind = answer.headers.get("content-type", "")
            if "event-stream" not in kind:
                assert answer.content is not None
            return answer

    def wait_for_answer(self, page: str, session_hash: str) -> None:
        """Read the stream of a session until its last call has been answered."""
        path = f"{page}/gradio_api/queue/data?session_hash={session_hash}"
        beats = 0
        with self.ask("GET", path) as answer:
            for line in answer.iter_lines():
                beats += b'"heartbeat"' in line
                if b'"close_stream"' in line:
                    return
                assert beats < 8, "nothing for two minutes"
        pytest.fail("the stream has no end")

    @property
    def token_count(self) -> int:
        """How many tokens the application has asked with."""
        return self.tokens.read_text("utf-8").count(f"{TOKEN}\n")


def session_cookie() -> str:
    """Return the cookie of a visitor who has signed in, as Gradio signs it."""
    user = {"sub": "1", "name": "A", "preferred_username": "a"}
    links = {"profile": "https://huggingface.co/a", "picture": "https://huggingface.co/a.png"}
    info = {
        "access_token": TOKEN,
        "scope": "openid profile",
        "expires_at": int(time.time()) + 9_999,
        "userinfo": {**user, **links},
    }
    key = hashlib.sha256(f"{SECRET}-v4".encode()).hexdigest()
    content = b64encode(json.dumps({"oauth_info": info}).encode())
    return f"session={TimestampSigner(key).sign(content).decode()}"


@contextmanager
def sign_in_provider() -> Iterator[str]:
    """Serve what an application asks of the Hub before it sends a visitor there to sign in."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"authorization_endpoint": "https://hub.test/oauth/authorize"})
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *arguments: object) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@contextmanager
def running_space(folder: Path, **settings: str) -> Iterator[Space]:
    """Run the application until the context is left, with a Space's settings and these."""
    log, tokens = folder / "stderr.txt", folder / "tokens.txt"
    tokens.touch()
    with sign_in_provider() as provider, log.open("w", encoding="utf-8") as stderr:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "GRADIO_TEMP_DIR": str(folder),
            "OPENID_PROVIDER_URL": provider,
            "TOKENS": str(tokens),
            **ON_A_SPACE,
            **settings,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.serve_space"],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
        with process:
            assert process.stdout
            told = next((line for line in process.stdout if line.startswith('{"url"')), "")
            if not told:
                process.kill()
                pytest.fail(f"the application did not start:\n{log.read_text('utf-8')}")
            # Gradio prints when a visitor signs in.
            drain = threading.Thread(target=process.stdout.read, daemon=True)
            drain.start()
            told = json.loads(told)
            yield Space(
                told["url"].rstrip("/"),
                process.pid,
                log,
                tokens,
                tuple(Route(path, tuple(methods)) for path, methods in told["routes"]),
                tuple(Function(**function) for function in told["functions"]),
                tuple(told["pages"]),
            )
            process.terminate()
            drain.join()


def filled(route: Route) -> str:
    """Return the path of a route, with a word for each of its parameters."""
    return re.sub(r"\{[^}]+\}", "x", route.path)
