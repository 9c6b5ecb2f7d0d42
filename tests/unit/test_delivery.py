"""Gradio's files from memory, and pages that name them: what goes over the wire."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import brotli
import gradio as gr
import pytest
from gradio.blocks import BlocksConfig
from gradio.state_holder import SessionState
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpusizer.ui.delivery import (
    ASSETS,
    PRELOADS,
    STYLE,
    Additions,
    Assets,
    Pages,
    asset_files,
    middleware,
    preload_markup,
    preloads,
    style_link,
)
from gpusizer.ui.serving import remember_descriptions

BR = [(b"accept-encoding", b"gzip, br")]
PAGE = (
    b'<html><head><meta charset="utf-8" /><title>x</title></head>'
    b"<body><gradio-app></gradio-app></body></html>"
)
LINK = b'<link rel="modulepreload" crossorigin href="./assets/a.js">'


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """A page in two pieces, with a header of its own."""
    headers = [(b"content-type", b"text/html"), (b"content-length", str(len(PAGE)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": PAGE[:20], "more_body": True})
    await send({"type": "http.response.body", "body": PAGE[20:]})


def get(
    app: ASGIApp, path: str, headers: list[tuple[bytes, bytes]] = BR, **scope: Any
) -> tuple[dict[bytes, bytes], bytes]:
    """Headers and body of an answer."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(dict(message))

    async def receive() -> Message:
        raise AssertionError("nothing of a GET is read")

    asked = {
        "type": "http",
        "method": "GET",
        "path": path,
        "headers": headers,
        "query_string": b"",
        **scope,
    }
    _finish(app(asked, receive, send))
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return dict(sent[0]["headers"]), body


def _finish(answer: Any) -> None:
    """Nothing here waits for anything, so no event loop is needed."""
    with pytest.raises(StopIteration):
        answer.send(None)


@pytest.fixture
def assets(tmp_path: Path) -> Assets:
    (tmp_path / "a.js").write_text("let a = 1;")
    (tmp_path / "huge.js").write_bytes(b"x" * 300_001)
    (tmp_path / "logo.svg").write_text("<svg/>")
    return Assets(application, asset_files(tmp_path))


def test_a_file_is_read_once_and_kept_for_good(assets: Assets, tmp_path: Path) -> None:
    headers, body = get(assets, "/assets/a.js")
    assert brotli.decompress(body) == b"let a = 1;"
    assert headers[b"content-type"].startswith(b"text/javascript")
    assert headers[b"content-length"] == str(len(body)).encode()
    assert b"immutable" in headers[b"cache-control"]
    (tmp_path / "a.js").unlink()
    assert get(assets, "/assets/a.js") == (headers, body)
    assert get(assets, "/space/assets/a.js", root_path="/space")[1] == body


def test_a_file_for_a_client_that_knows_no_brotli(assets: Assets) -> None:
    headers, body = get(assets, "/assets/a.js", [])
    assert body == b"let a = 1;" and headers[b"content-length"] == b"10"
    assert b"content-encoding" not in headers and headers[b"vary"] == b"Accept-Encoding"


@pytest.mark.parametrize(
    ("path", "headers", "method"),
    [
        ("/assets/none.js", BR, "GET"),
        ("/assets/../a.js", BR, "GET"),
        ("/assets/huge.js", BR, "GET"),
        ("/assets/logo.svg", BR, "GET"),
        ("/assets/a.js", BR, "HEAD"),
        ("/config", BR, "GET"),
    ],
)
def test_what_it_does_not_hold_is_gradios(
    assets: Assets, path: str, headers: list[tuple[bytes, bytes]], method: str
) -> None:
    assert get(assets, path, headers, method=method)[1] == PAGE


@pytest.mark.parametrize("path", ["/", "/zh", "/pt"])
def test_pages_name_their_files_and_are_compressed(path: str) -> None:
    headers, body = get(Pages(application, {path: Additions(LINK)}), path)
    page = brotli.decompress(body)
    assert page == PAGE.replace(b"<title>", LINK + b"<title>")
    assert headers[b"content-encoding"] == b"br"
    assert headers[b"content-length"] == str(len(body)).encode()
    assert headers[b"vary"] == b"Accept-Encoding"


def test_pages_for_a_client_that_knows_no_brotli() -> None:
    headers, body = get(Pages(application, {"/": Additions(LINK)}), "/", [])
    assert LINK in body and b"content-encoding" not in headers
    assert headers[b"content-length"] == str(len(body)).encode()


@pytest.mark.parametrize(("path", "method"), [("/config", "GET"), ("/", "POST"), ("/", "HEAD")])
def test_other_answers_stay_as_they_are(path: str, method: str) -> None:
    headers, body = get(Pages(application, {"/": Additions(LINK)}), path, method=method)
    assert body == PAGE and b"content-encoding" not in headers


def test_the_named_files_are_this_gradios() -> None:
    names = preloads()
    assert list(names) == PRELOADS.read_text("utf-8").split()
    assert all((ASSETS / name).is_file() for name in names)
    markup = preload_markup(names).decode()
    assert markup.count("modulepreload") == sum(name.endswith(".js") for name in names)
    assert markup.count('as="style"') == sum(name.endswith(".css") for name in names)


def test_our_stylesheet_is_kept_as_long_as_it_is_the_same() -> None:
    pages, assets = middleware()
    served = Assets(application, assets.kwargs["files"])
    link = re.search(r'href="\./(gpusizer\.css)\?v=[0-9a-f]{12}"', style_link().decode())
    assert link is not None
    headers, body = get(served, f"/{link[1]}")
    assert brotli.decompress(body) == STYLE.read_bytes()
    assert headers[b"content-type"] == b"text/css; charset=utf-8"
    added = pages.kwargs["additions"]
    assert set(added) == {"/", "/zh", "/pt", "/endpoints"}
    assert all(style_link() in one.head for one in added.values())
    assert b"modulepreload" in added["/"].head and b"modulepreload" not in added["/endpoints"].head
    page = added["/zh"].to(b'<html lang="en">' + PAGE, asks=False).decode()
    assert page.startswith('<html lang="zh-CN">') and "<title>gpusizer" in page
    assert "开始计算".encode() in added["/zh"].early and not added["/endpoints"].early


@pytest.mark.parametrize(
    ("asked", "early"),
    [("", True), ("utm_source=x", True), ("model=a/b", False), ("tab=know", False),
     ("x=1&gpus=4090", False), ("model=", True), ("%ff=%fe", True)],
)  # fmt: skip
def test_an_early_field_where_the_address_asks_for_nothing(asked: str, early: bool) -> None:
    pages = Pages(application, {"/": Additions(b"", b"<form></form>")})
    _, body = get(pages, "/", [], query_string=asked.encode())
    assert (b"<form></form><gradio-app>" in body) is early


def page_of(*components: gr.blocks.Block) -> Any:
    """As much of `gr.Blocks` as a session looks at: a real one leaves sockets open."""
    config = BlocksConfig(SimpleNamespace(renderables=[]))  # type: ignore[arg-type]
    config.blocks = {one._id: one for one in components}
    return SimpleNamespace(default_config=config, blocks=config.blocks)


def test_sessions_are_described_as_before() -> None:
    page = page_of(
        gr.Textbox(label="a", value="x", render=False),
        gr.Dropdown(["b", "c"], label="d", render=False),
        gr.HTML("<p></p>", render=False),
    )
    before = SessionState(page).config_values
    asked: list[str] = []
    for block in page.blocks.values():
        block.get_config = partial(_counted, block.get_config, asked)
    remember_descriptions(page.blocks.values())
    assert SessionState(page).config_values == before
    assert SessionState(page).config_values == before
    assert sorted(asked) == ["dropdown", "html", "textbox"]  # once, however many sessions


def test_what_a_session_changes_stays_its_own() -> None:
    box = gr.Textbox(label="a", value="x", render=False)
    page = page_of(box)
    remember_descriptions([box])
    first, second = SessionState(page), SessionState(page)
    first._update_value_in_config(box._id, "somebody's")
    assert first.config_values[box._id]["props"]["value"] == "somebody's"
    assert second.config_values[box._id]["props"]["value"] == "x"
    assert SessionState(page).config_values[box._id]["props"]["value"] == "x"


def _counted(describe: Callable[[], dict[str, Any]], asked: list[str]) -> dict[str, Any]:
    made = describe()
    asked.append(made["name"])
    return made
