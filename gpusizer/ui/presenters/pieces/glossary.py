"""The glossary: terms of an answer, each a button that shows what it means.

The page holds the meanings once (`glossary_html`). A button names the one that it shows in
`popovertarget`, so that keyboard, mouse and touch open it without a script, and describes itself by
it for readers of the screen.
"""

from __future__ import annotations

import re
from functools import cache

from markupsafe import Markup

from gpusizer.text import Language, text
from gpusizer.ui.presenters.pieces.templates import escape, piece
from gpusizer.ui.presenters.pieces.words import Words

TERMS = (
    "quantization",
    "context",
    "kv_cache",
    "tok_s",
    "first_token",
    "tensor_parallel",
    "gib",
    "offload",
    "moe",
    "loss",
    "headroom",
    "unified_memory",
)
"""Names of the terms; `page.term.<name>.spelt` has their spellings, `.text` the meaning."""
_TAG = re.compile(r"(<[^>]*>)")
_LETTER = "[A-Za-z0-9À-ÿ_-]"
"""A letter of a language with spaces, which may not continue a spelling."""


class Glossary:
    """Marks the terms of one part of the page, each where it first occurs there."""

    def __init__(self, words: Words) -> None:
        self._pattern = _spellings(words.language)
        self._open = set(TERMS)

    def __call__(self, said: str | None) -> Markup:
        """Return a text as markup, its new terms as buttons; tags within it stay as they are."""
        parts = _TAG.split(escape(said or ""))
        return Markup("".join(part if part[:1] == "<" else self._marked(part) for part in parts))

    def _marked(self, escaped: str) -> str:
        return self._pattern.sub(self._button, escaped)

    def _button(self, found: re.Match[str]) -> str:
        name = found.lastgroup or ""
        if name not in self._open:
            return found[0]
        self._open.discard(name)
        return piece("term", Markup(found[0]), f"gs-term-{name}")


def glossary_html(words: Words) -> Markup:
    """Write the meanings of all terms, hidden until a button shows one."""
    meanings = (
        piece("meaning", f"gs-term-{name}", words(f"term.{name}.title"), words(f"term.{name}.text"))
        for name in TERMS
    )
    return Markup().join(meanings)


@cache
def _spellings(language: Language) -> re.Pattern[str]:
    """Return a pattern of all spellings, the longest first, each in a group of its term's name."""
    spelt = [
        (spelling.strip(), name)
        for name in TERMS
        for spelling in text(f"page.term.{name}.spelt", language).split("|")
    ]
    longest = sorted(spelt, key=lambda item: -len(item[0]))
    groups: dict[str, list[str]] = {}
    for spelling, name in longest:
        groups.setdefault(name, []).append(re.escape(spelling).replace(r"\#", r"\d+"))
    alternatives = "|".join(f"(?P<{name}>{'|'.join(all_)})" for name, all_ in groups.items())
    return re.compile(f"(?<!{_LETTER})(?:{alternatives})(?!{_LETTER})", re.IGNORECASE)
