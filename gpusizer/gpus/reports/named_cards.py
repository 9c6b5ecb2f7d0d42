"""Catalogue entries for the cards of a report, by name and memory."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpusizer.core.messages import Note
from gpusizer.core.printable import printable
from gpusizer.core.units import GB, GIB, MIB
from gpusizer.gpus.catalogue import MAX_NAME_CHARS, Catalogue
from gpusizer.gpus.gpu import Gpu
from gpusizer.gpus.gpu_cores import cores_sold
from gpusizer.gpus.mig import instance_bytes, profiles_of
from gpusizer.gpus.reports.found import FoundCard
from gpusizer.gpus.vgpu import is_type, named_vgpu_gb, vgpu_named

# Largest relative difference between a driver's memory and the catalogue's: ECC takes a sixteenth,
# carve-outs of firmware a little.
_NEAR = 0.12
_LEAST_CARD_BYTES = GIB
_MARKS = re.compile(r"\((?:R|TM|C)\)|[®™]", re.IGNORECASE)
_ALTERNATIVES = re.compile(r"\s*/\s*(?=(?:RTX|GTX|RX|\d|Radeon|GeForce|M\d))")
# Not used by engines here: graphics of processors and servers, and displays that no card has.
_UNUSED = re.compile(
    r"u?hd graphics|iris|microsoft|basic (?:render|display)|aspeed|matrox|llvmpipe|virtual"
    r"|remote display|virtio|vmware|citrix|parsec|cirrus|radeon(?: vega \d+)? graphics$|raphael"
    r"|cezanne|renoir|granite ridge|mi2\d0 bridge|intel graphics$|(?:arrow|alder|raptor) lake",
    re.IGNORECASE,
)
_STACKS = {"NVIDIA": "CUDA", "AMD": "ROCm", "Intel": "oneAPI"}


@dataclass(frozen=True, slots=True)
class ResolvedCard:
    """A card by a name that a request's machine fields accept, or "" for one that is left out."""

    name: str
    used_bytes: int | None = None  # memory in use, or None
    shares_memory: bool = False  # whether its memory is the system's
    left_out: str = ""  # its name in the report, if it is left out
    notes: tuple[Note, ...] = ()


def resolved(card: FoundCard, ram_bytes: int | None, catalogue: Catalogue) -> ResolvedCard:
    """Return the card by its catalogue name; one that the catalogue lacks by its memory."""
    name = " ".join(_MARKS.sub(" ", card.name).split())[:MAX_NAME_CHARS]
    shown = printable(name)
    if card.maker == "Apple":
        return _chip(card, name, catalogue)
    virtual = vgpu_named(name)
    if virtual is not None and is_type(virtual, catalogue.find(virtual.gpu)):
        return ResolvedCard(virtual.name, card.used_bytes)
    virtual_gb = named_vgpu_gb(name)
    if card.maker == "NVIDIA" and virtual_gb is not None:
        return _by_memory(card, shown, card.total_bytes or virtual_gb * GIB)
    sizes = _named(name, catalogue)
    if card.mig:
        return _instance(card, shown, sizes, catalogue)
    shared = [gpu for gpu in sizes if gpu.is_integrated]
    if shared:
        return _integrated(card, shown, shared, ram_bytes, catalogue)
    if _UNUSED.search(name) or _is_small(card):
        return ResolvedCard("", left_out=shown or card.maker)
    alike = [gpu for gpu in sizes if _is_near(gpu, card.total_bytes)]
    if alike:
        gpu = min(alike, key=lambda gpu: _apart(gpu, card.total_bytes))
        return ResolvedCard(gpu.slug, card.used_bytes)
    if card.total_bytes:
        return _by_memory(card, shown, card.total_bytes)
    near = ", ".join(_suggestions(name, catalogue))
    note = Note("report_card_not_told", name=shown, near=near or "—")
    return ResolvedCard("", left_out=shown, notes=(note,))


def _by_memory(card: FoundCard, shown: str, total_bytes: int) -> ResolvedCard:
    if total_bytes < _LEAST_CARD_BYTES:
        return ResolvedCard("", left_out=shown or card.maker)
    stack = _STACKS.get(card.maker, "")
    note = Note("report_unknown_card", name=shown or card.maker, memory_bytes=total_bytes)
    described = f"custom:{total_bytes // MIB}MiB" + (f"@{stack}" if stack else "")
    return ResolvedCard(described, card.used_bytes, notes=(note,))


def _named(name: str, catalogue: Catalogue) -> Sequence[Gpu]:
    # A name of several products has none.
    if not name or name.endswith("...") or len(_ALTERNATIVES.split(name)) > 1:
        return ()
    return catalogue.sizes_of(name)


def _chip(card: FoundCard, name: str, catalogue: Catalogue) -> ResolvedCard:
    # By its name and the memory of the computer.
    sizes = [gpu for gpu in catalogue.sizes_of(name) if gpu.segment == "apple"]
    if card.total_bytes is None:
        near = ", ".join(gpu.name for gpu in sizes[:5])
        return ResolvedCard(
            "", left_out=printable(name), notes=(Note("report_needs_memory", name=name, near=near),)
        )
    gb = round(card.total_bytes / GIB)
    gpu = next((gpu for gpu in sizes if gpu.memory_marketing_gb == gb), None)
    if gpu is None:
        described = f"custom:{card.total_bytes // MIB}MiB@Metal"
        note = Note("report_unknown_card", name=name, memory_bytes=card.total_bytes)
        return ResolvedCard(described, shares_memory=True, notes=(note,))
    cores = f" ({card.cores} cores)" if card.cores in cores_sold(gpu) else ""
    return ResolvedCard(f"{gpu.name}{cores}", shares_memory=True)


def _integrated(
    card: FoundCard,
    shown: str,
    sizes: Sequence[Gpu],
    ram_bytes: int | None,
    catalogue: Catalogue,
) -> ResolvedCard:
    # Graphics that use the system's memory: a driver often shows a small part.
    most = max(ram_bytes or 0, card.total_bytes or 0)
    if not most:
        gpu = catalogue.match(shown) or sizes[0]
        near = ", ".join(size.name for size in sizes[:5])
        notes = (Note("report_needs_memory", name=shown, near=near),) if len(sizes) > 1 else ()
        return ResolvedCard(gpu.slug, shares_memory=True, notes=notes)
    gpu = min(sizes, key=lambda gpu: abs(gpu.memory_marketing_gb * GIB - most))
    return ResolvedCard(gpu.slug, shares_memory=True)


def _instance(
    card: FoundCard, shown: str, sizes: Sequence[Gpu], catalogue: Catalogue
) -> ResolvedCard:
    # By its profile, else by its memory.
    divided = [gpu for gpu in sizes if profiles_of(gpu)]
    parents = {
        gpu.slug: gpu for gpu in (catalogue.match(shown), *divided) if gpu and gpu in divided
    }
    for gpu in parents.values():
        for profile, shares in profiles_of(gpu).items():
            total = card.total_bytes or 0
            if profile == card.mig or (
                card.mig == "?" and abs(instance_bytes(gpu, shares) - total) < _NEAR * total
            ):
                return ResolvedCard(f"{gpu.slug} MIG {profile}", card.used_bytes)
    if card.total_bytes:
        return _by_memory(card, f"{shown} MIG", card.total_bytes)
    return ResolvedCard("", left_out=f"{shown} MIG {card.mig}")


def _suggestions(name: str, catalogue: Catalogue) -> list[str]:
    parts = _ALTERNATIVES.split(name)
    names = [gpu.name for part in parts[:5] for gpu in catalogue.sizes_of(part)]
    return list(dict.fromkeys(names))[:5] or catalogue.suggestions(name)


def _is_small(card: FoundCard) -> bool:
    return card.total_bytes is not None and card.total_bytes < _LEAST_CARD_BYTES


def _is_near(gpu: Gpu, total_bytes: int | None) -> bool:
    return total_bytes is None or _apart(gpu, total_bytes) < _NEAR


def _apart(gpu: Gpu, total_bytes: int | None) -> float:
    # An unknown amount counts as 0, which leaves the first.
    if total_bytes is None:
        return 0.0
    label = gpu.memory_marketing_gb / gpu.devices_per_board
    figures = (gpu.device_memory_bytes, label * GIB, label * GB)
    return min(abs(figure / max(total_bytes, 1) - 1) for figure in figures)
