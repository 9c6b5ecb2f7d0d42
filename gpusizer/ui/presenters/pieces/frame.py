"""The page around the answer: header, status, method, and API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from gpusizer.core.tables import toml_of
from gpusizer.hub.reading_steps import ReadingStep
from gpusizer.text import LANGUAGES
from gpusizer.ui.presenters.pieces.addresses import PATHS
from gpusizer.ui.presenters.pieces.templates import piece, render
from gpusizer.ui.presenters.pieces.words import Words

LOCALES = {"en": "en", "zh": "zh-CN", "pt": "pt-BR"}
_OWN_NAMES = {"en": "English", "zh": "简体中文", "pt": "Português"}

ORIGIN = "http://127.0.0.1:7860"
"""Placeholder in the examples, which the page's script replaces by its own origin."""
MCP_PATH = "/gradio_api/mcp/"
_TABLES = toml_of(__file__)
_EXAMPLES: Mapping[str, str] = {
    name: text.replace("ORIGIN", ORIGIN) for name, text in _TABLES["examples"].items()
}
PYTHON_EXAMPLE, JAVASCRIPT_EXAMPLE, CURL_EXAMPLE = _EXAMPLES.values()


ENDPOINTS_PATH = "endpoints"
"""Path of the page with Gradio's API documentation, relative to any page."""


def header_html(words: Words) -> Markup:
    """Write the header: name, promise and links to the other languages."""
    hints = [(other, Words(other)("hint")) for other in LANGUAGES if other != words.language]
    addresses = {"locales": LOCALES, "paths": PATHS, "own_names": _OWN_NAMES}
    return render("header.html", words, hints=hints, **addresses)


def status_html(model: str, steps: Sequence[ReadingStep], words: Words) -> Markup:
    """Write the status while a model is read, with the steps so far."""
    said = [
        words(f"step.{step.name}", count=words.whole(step.count), total=words.whole(step.total))
        for step in steps
    ]
    return waiting_html(words("reading", model=model[:120]), said)


def waiting_html(doing: str, steps: Sequence[str] = ()) -> Markup:
    """Write what is done while the visitor waits."""
    return piece("waiting", doing, steps)


def method_html(words: Words) -> Markup:
    """Write how each number is computed, from which sources, and with which limits."""
    return render("method.html", words)


def api_html(words: Words, *, opened: bool = False) -> Markup:
    """Write the section on the API: endpoints and examples of calls."""
    return render(
        "api.html",
        words,
        opened=opened,
        endpoints=_TABLES["endpoints"],
        examples=_EXAMPLES,
        mcp_path=MCP_PATH,
        endpoints_path=ENDPOINTS_PATH,
    )
