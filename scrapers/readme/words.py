"""Words that tell what a sentence of a model card is about, in English, Chinese and Portuguese.

`words.toml` has them, with what each group is for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain

from gpusizer.core.tables import toml_of

LAST_TEXTS = 64
"""Whose answer is kept: a sentence and what is around it are asked about for each of its claims."""

_WORDS = toml_of(__file__)
NUMBERS: Mapping[str, int] = _WORDS["numbers"]
"""Numbers written as words."""
GPU_NAMES: Sequence[str] = _WORDS["gpus"]["names"]
"""Patterns of product names."""
HEADS: Mapping[str, str] = _WORDS["heads"]
"""Patterns of the heads of columns by what these hold."""
ENGINES: Mapping[str, str] = _WORDS["engines"]
"""Engines by the words that name them."""


def says(cue: str, text: str) -> bool:
    """Whether one of the words of a cue, which is a group of `words.toml`, is in a text.

    >>> says("training", "a constraint of 5 minutes"), says("training", "微调")
    (False, True)
    """
    return _searches(cue)(text) is not None


def spans(cue: str, text: str) -> list[tuple[int, int]]:
    """Where the words of a cue stand in a text."""
    return [match.span() for match in _cue(cue).finditer(text)]


@cache
def _searches(cue: str) -> Callable[[str], re.Match[str] | None]:
    return lru_cache(LAST_TEXTS)(_cue(cue).search)


@cache
def _cue(cue: str) -> re.Pattern[str]:
    patterns = map(_pattern, chain.from_iterable(_WORDS[cue].values()))
    return re.compile("|".join(patterns), re.IGNORECASE)


def _pattern(word: str) -> str:
    """A word's pattern: from the start of a word where it has letters, to its end by a blank."""
    has_words = word[0].isalnum() and word[0] < "\u0250"
    start = r"(?<![^\W_])" if has_words else ""
    end = r"(?![^\W_])" if word.endswith(" ") else ""
    return start + re.escape(word.strip()) + end
