"""Raw pieces of a GGUF file, made with `split` and joined with `cat`. Pure.

X.Q6_K.gguf-split-a, -split-b    X.Q8_0.gguf.part1of3    X.Q8_0.gguf.part-aa    X.Q8_0.gguf.part2

Unlike the shards of llama-gguf-split they are no GGUF files of their own: only the first piece
has a header, whose offsets count through all pieces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from scrapers.formats.byte_window import Source

_ENDLESS = 2**62  # bytes assumed for a piece whose size the Hub did not send

_PIECE = re.compile(
    r"(?P<whole>.+\.(?-i:gguf))[-._](?P<word>split|part)"
    r"(?:[-_](?P<letters>[a-z]{1,2})"
    r"|[-_.]?(?P<number>\d{1,4})(?:[-_]?of[-_]?(?P<count>\d{1,4}))?)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece, read from its name."""

    joined_path: str  # path of the file that the pieces make
    style: str  # naming scheme, equal for the pieces of one set
    number: int  # position in the set; letters start at 0, numbers at 0 or 1
    count: int | None  # pieces of the set, None where the name does not give it


def piece_of(path: str) -> Piece | None:
    """Parse the path of a piece; None for any other file."""
    match = _PIECE.fullmatch(path) if ".gguf" in path else None
    if match is None:
        return None
    word, letters, count = match["word"].lower(), match["letters"], match["count"]
    if letters:
        return Piece(match["whole"], f"{word} {'a' * len(letters)}", _rank(letters.lower()), None)
    piece_count = int(count) if count else None
    return Piece(match["whole"], f"{word} {piece_count}", int(match["number"]), piece_count)


def is_whole_set(pieces: Sequence[Piece]) -> bool:
    """Whether sorted pieces of one style are complete, as far as their names show."""
    # If names give no count, the last pieces may still be missing; then tensors reach beyond the
    # sum of sizes.
    first_number = pieces[0].number
    if [piece.number for piece in pieces] != list(range(first_number, first_number + len(pieces))):
        return False
    if pieces[0].count is not None:
        return first_number in (0, 1) and len(pieces) == pieces[0].count
    starts = (0,) if pieces[0].style.endswith("a") else (0, 1)
    return first_number in starts and len(pieces) > 1


def joined_source(parts: Sequence[tuple[Source, int | None]]) -> Source:
    """Return the source of one file from the sources and sizes of its pieces."""
    # The size is the sum of the pieces' sizes, unknown if any of them is.
    if len(parts) == 1:
        return parts[0][0]
    known_sizes = [size for _, size in parts if size is not None]
    total = sum(known_sizes) if len(known_sizes) == len(parts) else None

    def source(start: int, stop: int) -> tuple[bytes, int | None]:
        data, offset = b"", 0
        for piece_source, size in parts:
            end = offset + (_ENDLESS if size is None else size)
            at = start + len(data)
            if offset <= at < min(end, stop):
                data += piece_source(at - offset, min(stop, end) - offset)[0]
            offset = end
        return data, total

    return source


def _rank(letters: str) -> int:
    # 0 for "a" and "aa", 1 for "b" and "ab".
    rank = 0
    for letter in letters:
        rank = rank * 26 + ord(letter) - ord("a")
    return rank
