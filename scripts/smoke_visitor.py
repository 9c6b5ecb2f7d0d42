"""Programs of `scripts/smoke.py` outside of gpusizer: an emulated Hub, a visitor's browser.

python -m scripts.smoke_visitor hub        prints the variables that lead to it, and serves
python -m scripts.smoke_visitor page URL   ends with 0 once the page shows an answer
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading

from playwright.sync_api import sync_playwright

from tests.hub_emulator import HubEmulator, llama_repo

_NAMES = ("chromium", "google-chrome", "chrome")
_ANSWER_MS = 60_000
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def serve_hub() -> None:
    """Serve the model `org/model` until this process is killed."""
    with HubEmulator([llama_repo("org/model")]) as hub:
        origins = {"HF_ENDPOINT": hub.endpoint, "GPUSIZER_CDN_ORIGINS": hub.cdn_endpoint}
        print(json.dumps(origins), flush=True)
        threading.Event().wait()


def see_answer(url: str) -> None:
    """Open a page whose address asks a question, and wait for the answer's headline.

    Raises playwright's TimeoutError if none appears, AssertionError for an error of the page.
    """
    chromium = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    assert chromium, "Chromium is not installed"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        page.get_by_role("heading", name="Qwen3-8B").first.wait_for(timeout=_ANSWER_MS)
        assert not errors, errors
        browser.close()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["hub"]:
            serve_hub()
        case ["page", url]:
            see_answer(url)
        case _:
            sys.exit(__doc__)
