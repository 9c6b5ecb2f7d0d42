"""A graphics card known by its memory alone: "12 GB".

It has the least memory that a driver shows for the catalogue's cards with that label, so a model
that fits it fits each of them. It has no bandwidth: a speed needs a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from gpusizer.core.messages import Note
from gpusizer.core.units import GB
from gpusizer.gpus.custom_card import custom_card
from gpusizer.gpus.gpu import Gpu

_SIZE = re.compile(r"(\d{1,4}) ?(?:gb|gib|g)", re.IGNORECASE)
_CARDS = frozenset({"consumer", "workstation", "datacenter"})
_EXAMPLES = 3


def size_named(text: str) -> int | None:
    """Return the GB that a text states if it states nothing else, or None.

    >>> size_named("12 GB"), size_named("RTX 3060 12GB")
    (12, None)
    """
    match = _SIZE.fullmatch(text.strip())
    return int(match[1]) or None if match else None


def sized_card(gigabytes: int, gpus: Iterable[Gpu]) -> Gpu:
    """Return a generic card with that number of GB on its label.

    Raises InvalidRequest for more than any card has.
    """
    alike = [
        gpu
        for gpu in gpus
        if gpu.segment in _CARDS
        and gpu.memory_marketing_gb == gigabytes
        and gpu.devices_per_board == 1
    ]
    least = min((gpu.memory_bytes for gpu in alike), default=gigabytes * GB)
    known = [gpu for gpu in alike if gpu.status == "current"] or alike
    newest = sorted(known, key=lambda gpu: (gpu.segment != "consumer", -gpu.release_year))
    names = ", ".join(gpu.name for gpu in newest[:_EXAMPLES])
    card = custom_card(f"custom:{gigabytes}GB")
    about = Note("card_of_size", gigabytes=gigabytes, memory_bytes=least, names=names or "—")
    return replace(
        card,
        slug=f"{gigabytes}gb",
        name=f"{gigabytes} GB card",
        memory_bytes=least,
        memory_marketing_gb=float(gigabytes),
        statements=(about,),
    )
