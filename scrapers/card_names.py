"""Names of models in a sentence: words with a number of parameters, as cards write them. Pure."""

from __future__ import annotations

import re

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{1,96}")
_SIZE = re.compile(r"(?:^|[-_x.])[A-Za-z]?\d+(?:\.\d+)?[BbMm](?:$|[-_.])")


def names_in(text: str) -> list[tuple[int, str]]:
    """Names with their positions.

    >>> names_in("Qwen2.5-7B-Instruct and the 1.3B model, 24GB, bf16")
    [(0, 'Qwen2.5-7B-Instruct'), (28, '1.3B')]
    """
    names = []
    for match in _WORD.finditer(text):
        word = match[0].rstrip("./-")
        if _SIZE.search(word):
            names.append((match.start(), word))
    return names
