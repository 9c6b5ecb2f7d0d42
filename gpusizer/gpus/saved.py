"""Hardware that somebody saved on the Hub, as GPUs of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gpusizer.core.errors import UnknownGpu
from gpusizer.gpus.catalogue import Catalogue
from gpusizer.gpus.names import MAX_COUNT

_MAX_ITEMS = 32
_MAX_CHARS = 80
_MAX_GB = 100_000


def saved_gpus(items: object, catalogue: Catalogue, most: int) -> tuple[str, ...]:
    """Requests such as "2xrtx-4090-24gb" for up to `most` saved items, the primary one first.

    `items` is the Hub's `hardwareItems`, of OAuth user information and of a user's overview:
    objects of `sku` ([type, maker, model]), `mem` (GB of one unit), `num` and, on one,
    `isPrimary` (huggingface/hub-docs, docs/hub/hardware.md). The input is untrusted: items of
    another form, and GPUs that the catalogue does not have with that memory, are left out.
    """
    if not isinstance(items, list):
        return ()
    objects = [item for item in items[:_MAX_ITEMS] if isinstance(item, Mapping)]
    objects.sort(key=lambda item: item.get("isPrimary") is not True)
    return tuple(dict.fromkeys(_requests(objects, catalogue)))[:most]


def _requests(items: Iterable[Mapping[Any, Any]], catalogue: Catalogue) -> Iterable[str]:
    for item in items:
        sku, memory, count = item.get("sku"), item.get("mem"), item.get("num", 1)
        if not isinstance(sku, list) or len(sku) != 3 or not isinstance(sku[2], str):
            continue
        if not _within(memory, _MAX_GB) or not _within(count, MAX_COUNT):
            continue
        try:
            gpu = catalogue.find(f"{sku[2][:_MAX_CHARS]} {memory:g}GB")
        except UnknownGpu:
            continue  # a processor, or a card outside the catalogue
        yield f"{int(count)}x{gpu.slug}" if count > 1 else gpu.slug


def _within(number: object, most: int) -> bool:
    """Whether a value is a number from 1 to `most`; booleans are not numbers here."""
    return isinstance(number, int | float) and not isinstance(number, bool) and 1 <= number <= most
