"""Addresses of the pages, and links from a page to other questions in its language."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from gpusizer.text import Language

PATHS: Mapping[Language, str] = {"en": "./", "zh": "zh", "pt": "pt"}
"""Path of each language's page, relative to any of them."""
PAGE_PATHS: Mapping[Language, str] = {"en": "/", "zh": "/zh", "pt": "/pt"}
"""Address of a question from the root of the application."""


def question_href(query: str | Mapping[str, object], language: Language) -> str:
    """Return the address of a question, a query string or its fields, on the page of a language.

    Gradio's pages have `<base href="./">`: a query string alone would lead to the English page.

    >>> question_href({"model": "a/b", "gpus": "4090"}, "zh")
    'zh?model=a/b&gpus=4090'
    """
    if not isinstance(query, str):
        query = urlencode(query, safe="/,", errors="replace")
    return f"{PATHS[language]}?{query}"
