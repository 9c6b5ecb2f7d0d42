"""Headers of answers for browsers, caches and pages, and the server's own address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.api.transports import TIMEOUT
from tests.running_app import RunningApp, running_app
from tests.space import HOST, Space, filled

POLICY = "base-uri 'self'; form-action 'self'; frame-ancestors *; object-src 'none'"
PAGES = ("/", "/zh", "/pt", "/endpoints")
DESCRIPTIONS = (
    *("/config", "/en/config", "/zh/config", "/gradio_api/info", "/gradio_api/info?page=x"),
    *("/en/gradio_api/info", "/gradio_api/openapi.json", "/gradio_api/mcp/schema"),
)
EVIL = "evil.example"
LIES = ({"x-forwarded-host": EVIL}, {"x-gradio-server": f"https://{EVIL}"}, {"host": EVIL})


def test_every_answer_has_them(space: Space) -> None:
    """Files, refusals and failures, too."""
    kinds = set()
    for route in space.routes:
        for method in route.methods:
            with space.ask(method, filled(route)) as answer:
                kinds.add(answer.status_code)
                assert answer.headers["x-content-type-options"] == "nosniff", route
                assert answer.headers["referrer-policy"] == "same-origin", route
                assert "x-frame-options" not in answer.headers, "pages may be shown in a frame"
    assert {200, 404, 405, 422} & kinds >= {200, 404, 422}


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_asked_for_anew_and_restricted(space: Space, path: str) -> None:
    headers = space.ask("GET", path).headers
    assert (headers["cache-control"], headers["content-security-policy"]) == ("no-cache", POLICY)


@pytest.mark.parametrize("path", DESCRIPTIONS)
def test_descriptions_are_asked_for_anew(space: Space, path: str) -> None:
    assert space.ask("GET", path).headers["cache-control"] == "no-cache"


def test_headers_of_ours_stay(space: Space) -> None:
    size = space.ask("GET", "/v1/size?model=Qwen/Qwen3-8B&top=1")
    assert size.headers["cache-control"].startswith("public, max-age=300")
    badge = space.ask("GET", "/v1/badge?model=Qwen/Qwen3-8B&gpu=4090")
    assert badge.headers["cache-control"].startswith("public, max-age=300")
    assert "immutable" in space.ask("GET", "/style.css").headers["cache-control"]


@pytest.mark.parametrize("lie", LIES)
def test_a_space_knows_its_own_address(space: Space, lie: dict[str, str]) -> None:
    for path in (*PAGES, *DESCRIPTIONS, "/gradio_api/mcp/", "/llms.txt"):
        assert EVIL not in space.ask("GET", path, headers=lie).text, path
        assert EVIL not in space.ask("GET", path).text, path
    assert f'"root":"http://{HOST}/zh"' in space.ask("GET", "/zh", headers=lie).text


def test_no_page_has_a_path_of_the_server(space: Space) -> None:
    for path in (*PAGES, *DESCRIPTIONS):
        text = space.ask("GET", path).text
        assert "site-packages" not in text and "/gradio_api/file=" not in text, path
    assert "gs-sign-in" in space.ask("GET", "/").text


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """Yield the application behind one proxy."""
    folder: Path = tmp_path_factory.mktemp("behind")
    with running_app(folder, GPUSIZER_TRUSTED_PROXIES="1") as application:
        yield application


def root_of(url: str, headers: dict[str, str]) -> str:
    """Return the address that programs use."""
    config = requests.get(f"{url}config", headers=headers, timeout=TIMEOUT).json()
    return str(config["root"])


def test_without_a_proxy_the_connection_alone_is_believed(app_url: str) -> None:
    own = app_url.rstrip("/")
    assert root_of(app_url, {}) == own
    for lie in LIES[:2]:
        assert root_of(app_url, lie) == own
        assert EVIL not in requests.get(f"{app_url}zh", headers=lie, timeout=TIMEOUT).text


def test_what_one_asks_at_is_told_to_nobody_else(app_url: str) -> None:
    for path in ("gradio_api/info", "gradio_api/openapi.json", "config", "", "endpoints"):
        requests.get(app_url + path, headers={"host": EVIL}, timeout=TIMEOUT)
        assert EVIL not in requests.get(app_url + path, timeout=TIMEOUT).text, path


def test_a_trusted_proxy_is_believed(behind: RunningApp) -> None:
    told = {"x-forwarded-host": "gpus.example", "x-forwarded-proto": "https"}
    assert root_of(behind.url, told) == "https://gpus.example"
    node = {"x-gradio-server": f"https://{EVIL}"}
    assert root_of(behind.url, node) == behind.url.rstrip("/"), "there is no server of Node"


def test_the_description_names_every_endpoint(app_url: str) -> None:
    for query in ("", "?page=x", "?serialize=False", "?all_endpoints=1"):
        info = requests.get(f"{app_url}gradio_api/info{query}", timeout=TIMEOUT).json()
        assert len(info["named_endpoints"]) == 6
        snippets = info["named_endpoints"]["/size_model"]["code_snippets"]
        assert app_url.rstrip("/") in str(snippets)
