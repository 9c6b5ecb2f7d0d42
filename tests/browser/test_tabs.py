"""Every tab: opened by its address, answered, without a fault in any language, width or theme."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.pieces.words import Words
from tests.browser.axe import serious
from tests.browser.conftest import Visit
from tests.engine_logs import VLLM_V1
from tests.nightly import paired, some

Open = Callable[..., Visit]
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
PATHS = {"en": "/", "zh": "/zh", "pt": "/pt"}
TABS = {
    "compare": ("&gpus=4090,h100&model=" + LLAMA, "#gs-compare-cards .gs-side"),
    "train": ("&gpu=4090&method=qlora&model=" + LLAMA, "#gs-training .gs-ranked tbody tr"),
    "reverse": ("&gpu=3090%20%2B%203060%20%2B%2064gb%20ram", "#gs-reverse-grid [role=gridcell]"),
    "desk": (
        "&gpu=2x%203090%20%2B%2064%20GB%20RAM&models=Qwen/Qwen3-30B-A3B%20users%3D2"
        "%0ABAAI/bge-large-en-v1.5%0Aopenai/whisper-large-v3%20resident%3Dno",
        "#gs-desk .gs-servers tbody tr",
    ),
    "catalogue": ("", "#gs-catalogue-grid [role=gridcell]"),
    "know": ("", "#gs-accuracy [lang=en] table"),
    "log": ("", "#gs-log-go"),
}


_WHOLE_TABLES = (("log", 1280), ("log", 390), ("desk", 390))  #


_OPENED = {"en": (1280, "light"), "zh": (390, "dark"), "pt": (390, "light")}  #


_OVERLAPS = """selector => {
  const boxes = [...document.querySelectorAll(selector)].filter(e => e.offsetParent)
    .map(e => [e.textContent.trim(), e.getBoundingClientRect()]);
  const found = [];
  boxes.forEach(([one, a], i) => boxes.slice(i + 1).forEach(([other, b]) => {
    const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (across > 1 && down > 2) found.push([one, other]);
  }));
  return found;
}"""


@pytest.mark.parametrize(("tab", "language"), some(paired(TABS, LANGUAGES), of=2))
def test_a_tab_by_its_address(visit: Open, tab: str, language: Language) -> None:
    """The tab is opened in one width and checked in both."""
    query, selector = TABS[tab]
    width, theme = _OPENED[language]
    window = visit(width, theme)
    window.page.goto(
        f"{window.address}{PATHS[language].lstrip('/')}?tab={tab}{query}&__theme={theme}"
    )
    page = window.page
    page.locator(selector).first.wait_for()
    if tab == "log":
        words = Words(language)
        page.get_by_label(words("log.label")).fill(VLLM_V1)
        page.get_by_label(words("log.gpu")).fill("H100 80GB")
        page.click(selector)
        page.wait_for_selector("#gs-log tbody tr")
        assert re.search(r"15[.,]25", page.inner_text("#gs-log"))
    for summary in page.query_selector_all(".gs-details > summary"):
        if summary.is_visible():
            summary.click()
    shown_text = page.inner_text("main")
    assert not re.findall(r"\b(?:page|note|error|reason|verdict)\.[a-z_]+", shown_text)
    for width in (1280, 390):
        window.show(width, theme)
        if (tab, width) in _WHOLE_TABLES:
            scrolled = "boxes => [...boxes].map(box => box.scrollWidth - box.clientWidth)"
            assert max(page.eval_on_selector_all(".gs-scroll:visible", scrolled)) <= 0
        window.shot(f"tab-{tab}-{language}-{width}-{theme}")
    for width, theme in ((1280, "light"), (390, "dark")):
        window.show(width, theme)
        assert serious(page) == []
        if tab == "know":
            assert page.evaluate(_OVERLAPS, "#gs-accuracy p, #gs-accuracy table") == []
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
            links = page.locator("#gs-accuracy a").evaluate_all("all => all.map(a => a.href)")
            assert links and all(link.startswith("https://") for link in links)
    assert f"tab={tab}" in page.url
