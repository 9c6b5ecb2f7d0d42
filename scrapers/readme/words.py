"""Words that tell what a sentence of a model card is about, in English, Chinese and Portuguese.

`words.toml` has them, with what each group is for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain

from gpusizer.core.tables import toml_of

_LAST_TEXTS = 64
"""Whose answer is kept: a sentence and what is around it are asked about for each of its claims."""


class Cue:
    """Any of some words in a text."""

    def __init__(self, words: Mapping[str, Sequence[str]]) -> None:
        self._pattern = re.compile(
            "|".join(map(_pattern, chain.from_iterable(words.values()))), re.IGNORECASE
        )
        self._search = lru_cache(_LAST_TEXTS)(self._pattern.search)

    def is_in(self, text: str) -> bool:
        """Whether one of the words is in the text.

        >>> Cue({"en": ("train", "min ")}).is_in("a constraint of 5 minutes")
        False
        """
        return self._search(text) is not None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the words stand."""
        return [match.span() for match in self._pattern.finditer(text)]


def _pattern(word: str) -> str:
    """A word's pattern: from the start of a word where it has letters, to its end by a blank."""
    has_words = word[0].isalnum() and word[0] < "\u0250"
    start = r"(?<![^\W_])" if has_words else ""
    end = r"(?![^\W_])" if word.endswith(" ") else ""
    return start + re.escape(word.strip()) + end


_WORDS = toml_of(__file__)

TRAINING = Cue(_WORDS["training"])
BENCHMARK = Cue(_WORDS["benchmark"])
INFERENCE = Cue(_WORDS["inference"])
RUNNING = Cue(_WORDS["running"])
NEED = Cue(_WORDS["need"])
AMOUNT_NEED = Cue(_WORDS["amount_need"])
NEED_HEADS = Cue(_WORDS["need_heads"])
PERSONAL = Cue(_WORDS["personal"])
RECOMMENDED = Cue(_WORDS["recommended"])
MINIMUM = Cue(_WORDS["minimum"])
APPROXIMATE = Cue(_WORDS["approximate"])
VRAM = Cue(_WORDS["vram"])
MEMORY = Cue(_WORDS["memory"])
HOST_MEMORY = Cue(_WORDS["host_memory"])
DISK = Cue(_WORDS["disk"])
UNIFIED_MEMORY = Cue(_WORDS["unified_memory"])
UNIFIED = Cue(_WORDS["unified"])
SAVING = Cue(_WORDS["saving"])
OTHERS = Cue(_WORDS["others"])
ADD_ON = Cue(_WORDS["add_on"])
QUANTIZED = Cue(_WORDS["quantized"])
OFFLOAD = Cue(_WORDS["offload"])
CONTEXT = Cue(_WORDS["context"])
NO_CONTEXT = Cue(_WORDS["no_context"])
NATIVE_CONTEXT = Cue(_WORDS["native_context"])
EXTENDED_CONTEXT = Cue(_WORDS["extended_context"])
BATCH_HEADS = Cue(_WORDS["batch_heads"])

NUMBERS: Mapping[str, int] = _WORDS["numbers"]
"""Numbers written as words."""
GPU_NAMES: Sequence[str] = _WORDS["gpus"]["names"]
"""Patterns of product names."""
HEADS: Mapping[str, str] = _WORDS["heads"]
"""Patterns of the heads of columns by what these hold."""
ENGINES: Mapping[str, str] = _WORDS["engines"]
"""Engines by the words that name them."""
