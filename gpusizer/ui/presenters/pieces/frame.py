"""The page around the answer: header, status, method, and API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from gpusizer.core.tables import toml_of
from gpusizer.hub.reading_steps import ReadingStep
from gpusizer.text import LANGUAGES
from gpusizer.ui.presenters.pieces.addresses import PATHS
from gpusizer.ui.presenters.pieces.html import bullets, defined, el, fold, join, section
from gpusizer.ui.presenters.pieces.words import Words

LOCALES = {"en": "en", "zh": "zh-CN", "pt": "pt-BR"}
_OWN_NAMES = {"en": "English", "zh": "简体中文", "pt": "Português"}

_METHOD = ("parameters", "weights", "kv_cache", "runtime", "fit", "speed", "prices")
_LIMITS = ("bands", "engines", "multi", "offline")

ORIGIN = "http://127.0.0.1:7860"
"""Placeholder in the examples, which the page's script replaces by its own origin."""
MCP_PATH = "/gradio_api/mcp/"
_TABLES = toml_of(__file__)
_EXAMPLES: Mapping[str, str] = {
    name: text.replace("ORIGIN", ORIGIN) for name, text in _TABLES["examples"].items()
}
PYTHON_EXAMPLE, JAVASCRIPT_EXAMPLE, CURL_EXAMPLE = _EXAMPLES.values()


def header_html(words: Words) -> Markup:
    """Write the header: name, promise and links to the other languages."""
    links = [
        el(
            "a",
            _OWN_NAMES[language],
            href=PATHS[language],
            lang=LOCALES[language],
            hreflang=LOCALES[language],
            aria_current="page" if language == words.language else None,
        )
        for language in LANGUAGES
    ]
    hints = [
        el(
            "a",
            Words(language)("hint"),
            href=PATHS[language],
            lang=LOCALES[language],
            hidden=True,
            data_hint=language,
        )
        for language in LANGUAGES
        if language != words.language
    ]
    return el(
        "header",
        skip_html(words),
        el("div", el("h1", "gpusizer"), el("p", words("promise")), join(hints)),
        el("nav", join(links), aria_label=words("languages")),
        class_="gs-header",
        data_earlier=words("earlier", name="NAME"),
        data_title=words("document_title"),
        lang=LOCALES[words.language],
    )


def skip_html(words: Words) -> Markup:
    """Write the page's first link, which is seen once it has the focus, and where the page's
    script tells that an answer is finished."""
    skip = el("a", words("skip"), href="#gs-tabs", class_="gs-skip")
    return join((skip, el("p", class_="gs-told", role="status")))


def status_html(model: str, steps: Sequence[ReadingStep], words: Words) -> Markup:
    """Write the status while a model is read, with the steps so far."""
    items = (
        words(f"step.{step.name}", count=words.whole(step.count), total=words.whole(step.total))
        for step in steps
    )
    return waiting_html(words("reading", model=model[:120]), bullets(items, "gs-steps", "ol"))


def waiting_html(doing: str, steps: Markup | None = None) -> Markup:
    """Write what is done while the visitor waits."""
    return el(
        "div",
        el("span", class_="gs-spinner"),
        el("p", doing),
        steps,
        class_="gs-status",
        role="status",
    )


def method_html(words: Words) -> Markup:
    """Write how each number is computed, from which sources, and with which limits."""
    explained = (
        defined(words(f"method.{name}.title"), words(f"method.{name}.text")) for name in _METHOD
    )
    return section(
        "method",
        fold(
            words("method.title"),
            el("dl", join(explained)),
            el("h3", words("limits.title")),
            bullets(words(f"limits.{name}") for name in _LIMITS),
            class_="gs-method",
        ),
    )


ENDPOINTS_PATH = "endpoints"
"""Path of the page with Gradio's API documentation, relative to any page."""
_DESCRIPTIONS = ("llms.txt", ENDPOINTS_PATH)


def api_html(words: Words, *, opened: bool = False) -> Markup:
    """Write the section on the API: endpoints and examples of calls."""
    endpoints = _TABLES["endpoints"].items()
    named = (join((el("code", path), " ", words(f"api.{name}"))) for name, path in endpoints)
    links = (el("span", el("a", f"/{path}", href=path), " ") for path in _DESCRIPTIONS)
    return section(
        "api",
        fold(
            words("api.title"),
            el("p", words("api.lead")),
            bullets(named),
            words.code("Python", PYTHON_EXAMPLE, "python"),
            words.code("JavaScript", JAVASCRIPT_EXAMPLE, "javascript"),
            words.code("curl", CURL_EXAMPLE, "curl"),
            el("p", words("api.mcp"), " ", el("code", MCP_PATH)),
            el("p", words("api.all"), " ", join(links)),
            el("p", words("api.errors")),
            class_="gs-api",
            open=opened or None,
        ),
    )
