"""A first visit: how soon there is a field to type into, and what was fetched for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import sync_playwright

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    # Another host fails at once, instead of holding a page up where there is no network.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)
_LOCAL = ("127.0.0.1", "localhost", None)
_QUIET_SECONDS = 2.0
_WATCH = """(() => {
  const shows = within => [...document.querySelectorAll(`${within} input, ${within} textarea`)]
    .some(field => field.checkVisibility({checkVisibilityCSS: true}));
  const look = () => {
    if (!window.benchShown && shows('body')) window.benchShown = performance.now();
    if (shows('gradio-app')) window.benchDrawn = performance.now();
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})();"""


@dataclass(frozen=True, slots=True)
class Load:
    """What one first visit fetched.

    Attributes:
        requests: of any kind.
        transferred: bytes over the wire, headers included.
        outside: addresses on other hosts, which the visit did not reach.
    """

    requests: int
    transferred: int
    outside: tuple[str, ...]


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser that reaches this machine only."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
    if path is None:
        raise SystemExit("Chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        yield browser
        browser.close()


def seconds_to_fields(browser: Any, address: str) -> tuple[float, float]:
    """From navigation to the first visible field, and to one of Gradio's own; nothing cached."""
    context = browser.new_context()
    context.add_init_script(_WATCH)
    page = context.new_page()
    page.goto(address, wait_until="commit")
    page.wait_for_function("window.benchDrawn")
    shown, drawn = page.evaluate("[window.benchShown, window.benchDrawn]")
    context.close()
    return shown / 1000, drawn / 1000


def counted(browser: Any, address: str) -> Load:
    """A visit for counting only, until two seconds after everything was loaded."""
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    sizes: list[int] = []
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    network.on("Network.requestWillBeSent", lambda sent: asked.append(sent["request"]["url"]))
    network.on("Network.loadingFinished", lambda done: sizes.append(done["encodedDataLength"]))
    page.goto(address, wait_until="load")
    page.wait_for_timeout(_QUIET_SECONDS * 1000)
    context.close()
    fetched = [url for url in asked if not url.startswith(("data:", "blob:"))]
    outside = tuple(url for url in fetched if urlsplit(url).hostname not in _LOCAL)
    return Load(len(fetched), int(sum(sizes)), outside)


def assets_fetched(browser: Any, address: str) -> list[str]:
    """Names of Gradio's own files that a first visit fetches, scripts before stylesheets."""
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address, wait_until="load")
    page.wait_for_timeout(_QUIET_SECONDS * 1000)
    context.close()
    names = dict.fromkeys(url.split("/assets/")[1] for url in asked if "/assets/" in url)
    return sorted(names, key=lambda name: not name.endswith(".js"))
