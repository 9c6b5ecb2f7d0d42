"""Words by which sentences of a model card are recognised (`words.toml`).

They are in English, Chinese and Portuguese.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain

from gpusizer.core.tables import toml_of

# Number of cached texts: each claim searches a sentence and its surroundings again.
LAST_TEXTS = 64

_WORDS = toml_of(__file__)
# Numbers written as words.
NUMBERS: Mapping[str, int] = _WORDS["numbers"]
# Patterns of product names.
GPU_NAMES: Sequence[str] = _WORDS["gpus"]["names"]
# Patterns of the heads of columns by role.
HEADS: Mapping[str, str] = _WORDS["heads"]
# Engines by the words that name them.
ENGINES: Mapping[str, str] = _WORDS["engines"]


def says(cue: str, text: str) -> bool:
    """Whether a text has one of the words of a cue, which is a group of `words.toml`.

    >>> says("training", "a constraint of 5 minutes"), says("training", "微调")
    (False, True)
    """
    return _searches(cue)(text) is not None


def spans(cue: str, text: str) -> list[tuple[int, int]]:
    """Return the spans of a cue's words in a text."""
    return [match.span() for match in _cue(cue).finditer(text)]


@cache
def _searches(cue: str) -> Callable[[str], re.Match[str] | None]:
    return lru_cache(LAST_TEXTS)(_cue(cue).search)


@cache
def _cue(cue: str) -> re.Pattern[str]:
    patterns = map(_pattern, chain.from_iterable(_WORDS[cue].values()))
    return re.compile("|".join(patterns), re.IGNORECASE)


def _pattern(word: str) -> str:
    # From the start of a word if it has letters; a blank at its end marks the end of a word.
    has_words = word[0].isalnum() and word[0] < "\u0250"
    start = r"(?<![^\W_])" if has_words else ""
    end = r"(?![^\W_])" if word.endswith(" ") else ""
    return start + re.escape(word.strip()) + end
