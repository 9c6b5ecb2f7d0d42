"""Pages of other sites that show gpusizer by the HTML that the documents give."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visit
from tests.test_snippets import PUBLIC_ADDRESS, texts


@contextmanager
def hosted(html: str) -> Iterator[str]:
    """Serve a page from another site than the application's 127.0.0.1 until the context is left.

    Chromium blocks frames of 127.0.0.1 in a page that no server of this machine sent.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, format: str, *arguments: object) -> None:
            """Stay silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://localhost:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("html", texts("html"))
def test_a_frame_answers_inside_another_page(
    visit: Callable[..., Visit], app_url: str, html: str
) -> None:
    page = visit().page
    with hosted(html.replace(f"{PUBLIC_ADDRESS}/", app_url)) as address:
        page.goto(address)
        asked = parse_qs(urlsplit(page.get_attribute("iframe", "src")).query)
        frame = page.frame_locator("iframe")
        expect(frame.locator("#gs-answer .gs-eyebrow")).to_have_text(asked["model"])
        cards, gpus = frame.locator("[data-remove]"), asked["gpus"][0].split(",")
        expect(cards).to_have_count(len(gpus))
        expect(cards.first).to_have_attribute("data-remove", gpus[0])
        expect(frame.locator(".gs-header")).to_be_hidden()
        expect(frame.locator(".gradio-container footer")).to_be_hidden()
        assert page.url == address
