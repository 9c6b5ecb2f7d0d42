"""A browser that may call this host only. Without Chromium tests are skipped, except in CI."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

ARTIFACTS = Path(__file__).resolve().parents[2] / "artifacts"
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    # Two renderers for the address bar of each window, which tests never use. This list is in
    # place of Playwright's, whose entries that a page can notice are repeated.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,HttpsUpgrades,PaintHolding"
    ",HttpsFirstBalancedModeAutoEnable,ThirdPartyStoragePartitioning,OptimizationHints,MediaRouter"
    ",AvoidUnnecessaryBeforeUnloadCheckSync,DestroyProfileOnBrowserClose,LensOverlay",
    # One renderer for all windows of a profile, which keeps Gradio's script compiled.
    "--process-per-site",
    # No name but this host's resolves, so no packet leaves the machine.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
]
_LOCAL_HOSTS = ("127.0.0.1", "localhost", None)
# A page that hangs fails; one on a machine that is busy with other tests does not.
_TIMEOUT_MS = 60_000


def _unavailable(reason: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def wait_for_values(page: Any) -> None:
    """Wait until the fields of a fold that was opened, and are visible, have their values."""
    # Gradio mounts them when the fold opens, and sets them a frame later
    # (`render_previously_invisible_children`): text typed between the two is lost.
    page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame("
        "() => requestIdleCallback(done, {timeout: 10000}))))"
    )


class Held:
    """Holds a page's requests for some addresses back until `let_go`."""

    def __init__(self, page: Any, addresses: str) -> None:
        self.page, self.over = page, False
        self.waiting: list[Any] = []
        page.route(addresses, lambda route: self.ask(route))

    def ask(self, route: Any) -> None:
        if self.over:
            route.fallback()
        else:
            self.waiting.append(route)

    def let_go(self) -> None:
        self.over = True
        for route in self.waiting:
            route.fallback()


# Playwright's event loop runs on in this thread until it is stopped, where no other can begin.
@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """Chromium or Chrome of this machine under Playwright, or the one that CHROMIUM names."""
    try:
        from playwright.sync_api import expect, sync_playwright  # noqa: PLC0415
    except ImportError:
        _unavailable("playwright is not installed")
    installed = map(shutil.which, ("chromium", "google-chrome", "chrome"))
    chromium = os.environ.get("CHROMIUM") or next(filter(None, installed), None)
    if chromium is None:
        _unavailable("Chromium is not installed")
    expect.set_options(timeout=_TIMEOUT_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
        yield launched
        launched.close()


@dataclass
class Visit:
    """One page in one window, and its errors."""

    page: Any
    address: str
    saves_screenshots: bool = False
    errors: list[str] = field(default_factory=list)

    def go(self, path: str) -> Any:
        """Open a path of the application and wait until it is rendered."""
        self.page.goto(self.address + path.lstrip("/"))
        self.page.locator(".gs-section:visible").first.wait_for()
        return self.page

    def show(self, width: int, theme: str) -> None:
        """Set the width of the window and Gradio's theme."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme=theme)
        self.page.evaluate("dark => document.body.classList.toggle('dark', dark)", theme == "dark")
        self.page.wait_for_function(
            "() => document.documentElement.scrollWidth <= window.innerWidth"
        )
        # Gradio fades from one theme's colours to the other's.
        self.page.wait_for_function(
            "() => document.getAnimations().every(animation =>"
            " !(animation instanceof CSSTransition) || animation.playState !== 'running')"
        )

    def shot(self, name: str) -> None:
        """Save a screenshot of the whole page, where `--screenshots` asks for them."""
        if self.saves_screenshots:
            ARTIFACTS.mkdir(exist_ok=True)
            self.page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=True)


class Profiles:
    """Profiles of the browser, one for each window of a test. What they fetched is kept from test
    to test, as in a browser that is used; what the page stores is not. In each a window of the
    same site stays open, with which its renderer and the scripts in it stay."""

    def __init__(self, browser: Any, address: str) -> None:
        self.browser, self.address = browser, address
        self.contexts: list[Any] = []
        self.staying: list[Any] = []

    def context(self, number: int) -> Any:
        """Return the profile of the window of this number, from 0 on."""
        if number == len(self.contexts):
            made = self.browser.new_context(locale="en-US")
            made.set_default_timeout(_TIMEOUT_MS)
            self.contexts.append(made)
            self.staying.append(made.new_page())
            self.staying[-1].goto(f"{self.address}healthz")
        return self.contexts[number]

    def forget(self, page: Any) -> None:
        """Close a window, and drop what the page stored in its profile. Scripts of a page that is
        closed run on for a while and remember a field that was left; those of a page that another
        has replaced do not."""
        context = page.context
        for opened in context.pages:
            if opened not in self.staying:
                opened.goto(f"{self.address}healthz")
                opened.close()
        context.clear_cookies()
        self.staying[self.contexts.index(context)].evaluate("() => localStorage.clear()")


@pytest.fixture(scope="package")
def profiles(browser: Any, app_url: str) -> Profiles:
    return Profiles(browser, app_url)


@pytest.fixture
def visit(
    profiles: Profiles, app_url: str, pytestconfig: pytest.Config
) -> Iterator[Callable[..., Visit]]:
    """Yield a function that opens windows; none may have an error or a foreign request.

    This is checked at the end of the test.
    """
    visits: list[Visit] = []
    outside: list[str] = []

    def note_outside(request: Any) -> None:
        if urlsplit(request.url).hostname not in _LOCAL_HOSTS:
            outside.append(request.url)

    def open_window(width: int = 1280, theme: str = "light") -> Visit:
        context = profiles.context(len(visits))
        context.on("request", note_outside)
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        window = Visit(page, app_url, pytestconfig.getoption("screenshots"))
        visits.append(window)
        page.on("pageerror", lambda error: window.errors.append(str(error)))
        return window

    yield open_window
    for window in visits:
        window.page.context.remove_listener("request", note_outside)
        profiles.forget(window.page)
    assert [error for window in visits for error in window.errors] == []
    assert outside == []
