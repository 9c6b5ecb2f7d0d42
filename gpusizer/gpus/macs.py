"""Macs by the names that people use: a computer with its memory, or a generation of chips.

The catalogue's notes name the computers of a chip.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from gpusizer.gpus.gpu import Gpu

_COMPUTER = re.compile(
    r"(?:apple )?(mac ?studio|mac ?book ?pro|mac ?book ?air|mac ?mini|mac ?pro|imac|mac)"
    r"(?: (?:with )?(\d{1,4}) ?(?:gb|gib|g)?)?"
)
_COMPUTER_LAST = re.compile(rf"(\d{{1,4}}) ?(?:gb|gib|g) {_COMPUTER.pattern}")

# Apple's computers, written without spaces, by their names; the last names any of them.
_MODELS = {
    "macstudio": "Mac Studio",
    "macbookpro": "MacBook Pro",
    "macbookair": "MacBook Air",
    "macmini": "Mac mini",
    "macpro": "Mac Pro",
    "imac": "iMac",
    "mac": "",
}
_GENERATION = re.compile(r"(?:^| )m(\d)(?= )(?! (?:pro|max|ultra)\b)")
_SIZE = re.compile(r"(?:^| )(\d{1,4}) ?(?:gb|gib|g)(?= |$)")
_MAC = re.compile(r"\b(?:mac ?book|mac|imac|apple|m\d)\b")


def macs_named(text: str, gpus: Iterable[Gpu]) -> tuple[Gpu, ...]:
    """Return the chips that a Mac of that name was sold with, the newest first.

    A stated memory size limits them; without it chips of each size are returned. Empty for a text
    that names a chip or no computer.
    """
    plain = _plain(text)
    last = _COMPUTER_LAST.fullmatch(plain)
    match = _COMPUTER.fullmatch(f"{last[2]} {last[1]}" if last and not last[3] else plain)
    if match is None:
        return ()
    computer = _MODELS[match[1].replace(" ", "")]
    sold = [
        gpu
        for gpu in gpus
        if gpu.segment == "apple"
        and computer in gpu.notes
        and (match[2] is None or gpu.memory_marketing_gb == int(match[2]))
    ]
    return tuple(sorted(sold, key=lambda gpu: -gpu.release_year))


def generation_named(text: str, gpus: Iterable[Gpu]) -> tuple[Gpu, ...]:
    """Return the chips of a generation with the stated memory, the slowest first.

    A text such as "MacBook Pro M3 36GB" names one; other texts return ().
    """
    plain = _plain(text)
    generation, size = _GENERATION.search(f"{plain} "), _SIZE.search(plain)
    if generation is None or size is None or not _MAC.search(plain):
        return ()
    sold = [
        gpu
        for gpu in gpus
        if gpu.segment == "apple"
        and gpu.architecture.startswith(f"M{generation[1]} ")
        and gpu.memory_marketing_gb == int(size[1])
    ]
    return tuple(sorted(sold, key=lambda gpu: gpu.bandwidth_bytes_per_second or 0))


def chip_names(chips: Iterable[Gpu]) -> list[str]:
    """Return the distinct names of chips without their memory.

    >>> chip_names(())
    []
    """
    return list(dict.fromkeys(gpu.name.rpartition(" ")[0] for gpu in chips))


def _plain(text: str) -> str:
    plain = re.sub(r"[-_]", " ", unicodedata.normalize("NFKC", text)).casefold()
    return " ".join(plain.split())
