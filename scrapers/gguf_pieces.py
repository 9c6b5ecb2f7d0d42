"""Raw pieces of a GGUF file, made with `split` and joined again with `cat`. Pure.

X.Q6_K.gguf-split-a, -split-b    X.Q8_0.gguf.part1of3    X.Q8_0.gguf.part-aa    X.Q8_0.gguf.part2

Unlike the shards of llama-gguf-split they are no GGUF files of their own: the header is in the
first, and its offsets go through all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from scrapers.byte_window import Source

_ENDLESS = 2**62  # bytes of a piece whose size the Hub did not say

_PIECE = re.compile(
    r"(?P<whole>.+\.(?-i:gguf))[-._](?P<word>split|part)"
    r"(?:[-_](?P<letters>[a-z]{1,2})"
    r"|[-_.]?(?P<number>\d{1,4})(?:[-_]?of[-_]?(?P<count>\d{1,4}))?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece, by its name.

    Attributes:
        whole: path of the file that the pieces make.
        style: equal for the pieces of one set: the word, and how many letters or of how many.
        number: its place; letters start at 0, numbers at 0 or 1.
        count: pieces of the set, None where names do not say.
    """

    whole: str
    style: str
    number: int
    count: int | None


def piece_of(path: str) -> Piece | None:
    """The piece that a path names, None for any other file."""
    match = _PIECE.fullmatch(path) if ".gguf" in path else None
    if match is None:
        return None
    word, letters, count = match["word"].lower(), match["letters"], match["count"]
    if letters:
        return Piece(match["whole"], f"{word} {'a' * len(letters)}", _rank(letters.lower()), None)
    told = int(count) if count else None
    return Piece(match["whole"], f"{word} {told}", int(match["number"]), told)


def is_whole_set(pieces: Sequence[Piece]) -> bool:
    """Whether pieces of one style, in order, are all there, as far as their names tell.

    Of those without a count, the last ones may still be missing: then the tensors reach beyond
    their sum.
    """
    first = pieces[0].number
    if [piece.number for piece in pieces] != list(range(first, first + len(pieces))):
        return False
    if pieces[0].count is not None:
        return first in (0, 1) and len(pieces) == pieces[0].count
    starts = (0,) if pieces[0].style.endswith("a") else (0, 1)
    return first in starts and len(pieces) > 1


def joined_source(parts: Sequence[tuple[Source, int | None]]) -> Source:
    """The bytes of pieces as of one file, from each piece's and its size in bytes.

    The size of the whole is the sum, unknown where one is.
    """
    known = [size for _, size in parts if size is not None]
    total = sum(known) if len(known) == len(parts) else None

    def source(start: int, stop: int) -> tuple[bytes, int | None]:
        data, offset = b"", 0
        for read, size in parts:
            end = offset + (_ENDLESS if size is None else size)
            at = start + len(data)
            if offset <= at < min(end, stop):
                data += read(at - offset, min(stop, end) - offset)[0]
            offset = end
        return data, total

    return source


def _rank(letters: str) -> int:
    """ "a" and "aa" are 0, "b" and "ab" 1."""
    rank = 0
    for letter in letters:
        rank = rank * 26 + ord(letter) - ord("a")
    return rank
