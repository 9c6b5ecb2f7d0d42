"""GPUs that a computer's name and its memory mean: "Mac Studio 128 GB" names no chip."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from gpusizer.gpus.gpu import Gpu

_COMPUTER = re.compile(
    r"(?:apple )?(mac ?studio|mac ?book ?pro|mac ?book ?air|mac ?mini|mac ?pro|imac)"
    r" (?:with )?(\d{2,4}) ?(?:gb|gib|g)?"
)
_MODELS = {
    "macstudio": "Mac Studio",
    "macbookpro": "MacBook Pro",
    "macbookair": "MacBook Air",
    "macmini": "Mac mini",
    "macpro": "Mac Pro",
    "imac": "iMac",
}


def computers_named(text: str, gpus: Iterable[Gpu]) -> tuple[Gpu, ...]:
    """The chips with which a Mac of that name and so much memory was sold, the newest first.

    The catalogue's notes name the computers of a chip. None for a text that names a chip, or
    anything but a computer with its memory.
    """
    plain = " ".join(re.sub(r"[-_]", " ", unicodedata.normalize("NFKC", text)).casefold().split())
    match = _COMPUTER.fullmatch(plain)
    if match is None:
        return ()
    computer, gb = _MODELS[match[1].replace(" ", "")], int(match[2])
    sold = [
        gpu
        for gpu in gpus
        if gpu.segment == "apple" and gpu.memory_marketing_gb == gb and computer in gpu.notes
    ]
    return tuple(sorted(sold, key=lambda gpu: -gpu.release_year))
