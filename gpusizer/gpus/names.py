"""Keys of typed GPU names that do not depend on spelling.

>>> name_key("NVIDIA GeForce RTX 4090"), name_key("rtx4090 24G"), name_key("A100-SXM4-80GB")
(NameKey(core='4090', memory_gb=None), NameKey(core='4090', memory_gb=24), \
NameKey(core='a100sxm4', memory_gb=80))
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.tables import toml_of

_MACS = re.compile(r"macbook(?: pro| air)?|mac (?:studio|mini|pro)|imac")
_WORDS = toml_of(__file__)
_NOISE = re.compile(rf"\b(?:{'|'.join(_WORDS['noise'])}|{_MACS.pattern})\b")
_TRANSLATIONS = dict.fromkeys(_WORDS["nothing"], " ") | {
    word: f" {meaning} " for meaning, words in _WORDS["translations"].items() for word in words
}
_PARENTHESIS = re.compile(r"\([^)]*\)")
_MEMORY = re.compile(r"(?<![a-z\d.])(\d{1,4}) ?(?:gb|gib|g)(?![a-z\d])")
_TRAILING_MEMORY = re.compile(r"(?<=\S) (\d{1,3})$")
_VGPU_PROFILE = re.compile(r"(?<=[a-z\d])-(\d{1,2}|141)[cq]$")  # of NVIDIA: "L40S-48C" has 48 GB
_MAKERS = {
    maker: re.compile(rf"(?<![^\W\d_])(?:{'|'.join(words)})(?![a-z])")
    for maker, words in _WORDS["makers"].items()
}
_SERIES = re.compile(r"^(?:rtx|gtx|rx|arc)(?=[a-z]?\d)")


_FEWEST_DIGITS = 3  # fewest digits with which a number alone names a product


class NameKey(NamedTuple):
    """`core` identifies the product; `memory_gb` is the size on the label, if given."""

    core: str
    memory_gb: int | None


def name_key(text: str) -> NameKey:
    """Return the key of a name, slug or alias; an unrecognisable text has an empty core."""
    words = _words(text)
    sizes = _MEMORY.findall(words)
    return NameKey(_core(_MEMORY.sub(" ", words)), int(sizes[-1]) if sizes else None)


def candidate_keys(text: str) -> tuple[NameKey, ...]:
    """Return readings of a typed name, best first.

    "m3 max 128" may end in a size without its unit.
    """
    key = name_key(text)
    trailing = _TRAILING_MEMORY.search(_words(text))
    if key.memory_gb is not None or trailing is None:
        return (key,)
    core = _core(_words(text)[: trailing.start()])
    return (key, NameKey(core, int(trailing[1]))) if core else (key,)


def makers_named(text: str) -> frozenset[str]:
    """Return the makers that a name mentions; empty for a number alone.

    >>> sorted(makers_named("GeForce RTX4090")), sorted(makers_named("rx 7700"))
    (['NVIDIA'], ['AMD'])
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return frozenset(maker for maker, words in _MAKERS.items() if words.search(plain))


def search_words(text: str) -> list[str]:
    """Return the words of a name or query, a size and its unit as one word.

    >>> search_words("GeForce RTX-4090 (AD102), 24 GB")
    ['geforce', 'rtx', '4090', 'ad102', '24gb']
    """
    words = _MEMORY.sub(r"\1gb", _words(text.replace("(", " ").replace(")", " ")))
    return [word for word in (word.strip(".") for word in words.split()) if word]


def telling_words(words: Sequence[str]) -> list[str]:
    """Return the words that distinguish GPUs from each other.

    >>> telling_words(["macbook", "pro", "m3"]), telling_words(["gtx", "edition"])
    (['apple', 'm3'], ['gtx'])
    """
    text = " ".join(words)
    maker = ["apple"] if _MACS.search(text) else []
    return maker + search_words(_NOISE.sub(" ", text))


@dataclass(frozen=True, slots=True)
class SearchedNames:
    """The names of one GPU, for queries whose words may be written apart or together."""

    whole: frozenset[str]  # words, and adjacent words joined: "rtx", "4090", "rtx4090"
    beginnings: str  # each word joined with all that follow it in its name, after a space

    @classmethod
    def from_names(cls, names: Iterable[str]) -> SearchedNames:
        """Return the searchable words of some names."""
        split = [search_words(name) for name in names]
        runs = (
            "".join(words[first:last])
            for words in split
            for first in range(len(words))
            for last in range(first + 1, len(words) + 1)
        )
        rests = ("".join(words[first:]) for words in split for first in range(len(words)))
        return cls(frozenset(runs), "".join(f" {rest}" for rest in rests))

    def have_whole(self, words: Sequence[str]) -> bool:
        """Return whether each of `words` is a word of these names."""
        return all(word in self.whole for word in words)

    def have_beginnings(self, words: Sequence[str]) -> bool:
        """Return whether each of `words` begins a word of these names."""
        return all(f" {word}" in self.beginnings for word in words)

    def have_products(self, words: Sequence[str]) -> bool:
        """Return whether each of `words` begins a word here without cutting a number.

        A T4000 is another product than a T400. A short number alone is a series: "rtx 40".
        """
        return self.have_beginnings(words) and all(
            (word.isdecimal() and len(word) < _FEWEST_DIGITS)
            or re.search(rf" {re.escape(word)}(?!\d)", self.beginnings)
            for word in words
            if word[-1].isdecimal()
        )


def _words(text: str) -> str:
    text = unicodedata.normalize("NFKC", text).casefold().strip()
    text = _VGPU_PROFILE.sub(r" \1gb", text)
    for word, replacement in _TRANSLATIONS.items():
        text = text.replace(word, replacement)
    text = _PARENTHESIS.sub(" ", text)
    return " ".join(re.sub(r"[^\w.]|_", " ", text).split())


def _core(words: str) -> str:
    return _SERIES.sub("", "".join(_NOISE.sub(" ", words).split()))


MAX_COUNT = 1024
# "2x4090", "2 × RTX 4090", "4 * L40S". A bare number is part of the name ("4090", "7900 XTX").
_COUNTED = re.compile(r"\s*(\d{1,5})\s*(?!xtx?\b)[x×*]\s*(\S.*)", re.IGNORECASE | re.DOTALL)
_COUNT_LAST = re.compile(r"(.*\S)\s+[x×*]\s*(\d{1,5})\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """A GPU's name as written, and its number of boards; None to find the number that fits."""

    name: str
    count: int | None = None


def parse_gpu_request(text: str) -> GpuRequest:
    """Split a count off a GPU's name, before it or after.

    >>> parse_gpu_request("2 × RTX 4090")
    GpuRequest(name='RTX 4090', count=2)
    >>> parse_gpu_request("RTX 4090 x2")
    GpuRequest(name='RTX 4090', count=2)

    Raises InvalidRequest for a count outside 1 to 1024.
    """
    match, last = _COUNTED.fullmatch(text), _COUNT_LAST.fullmatch(text)
    counted = [(int(match[1]), match[2])] if match else []
    counted += [(int(last[2]), last[1])] if last else []
    if not counted:
        return GpuRequest(text.strip())
    count, name = min(counted)  # of "4090 x2" and "2 x 4090" the larger number is the name
    if not 1 <= count <= MAX_COUNT:
        raise InvalidRequest(
            field="gpu", value=text[:80], reason="out_of_range", low=1, high=MAX_COUNT
        )
    return GpuRequest(name.strip(), count)
