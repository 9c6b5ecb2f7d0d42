"""Output of `nvidia-smi`: its table, `-q`, `-L` and `--query-gpu=… --format=csv`.

Formats: NVIDIA's manual of nvidia-smi and its MIG user guide. The table and the list are parsed
without their line ends, which a one-line field loses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpusizer.core.messages import Note
from gpusizer.gpus.mig import PROFILE
from gpusizer.gpus.reports.found import MOST_CARDS, FoundCard, FoundMachine, amount_bytes, pairs

_DRIVER = re.compile(r"Driver Version\s*:\s*(\d{2,4}(?:\.\d{1,4}){0,3})")
_ROW = re.compile(
    r"\|\s{1,6}(?P<index>\d{1,3})\s{1,6}(?P<name>[^|\n]{2,60}?)\s{1,30}(?:On|Off|N/A)\s{0,4}\|"
    r"\s{0,6}[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d\s{1,6}(?P<display>On|Off|N/A)"
)
_USAGE = re.compile(r"(\d{1,9})MiB\s*/\s*(\d{1,9})MiB")
_MIG_ROW = re.compile(
    r"\|\s{1,6}(?P<gpu>\d{1,3})(?:\s{1,6}\d{1,3}){3}\s{0,6}\|\s*(?P<used>\d{1,9})MiB\s*/"
    r"\s*(?P<total>\d{1,9})MiB"
)
_LISTED = re.compile(
    r"GPU (?P<index>\d{1,3}): (?P<name>[^(\n]{2,80}?) ?\(UUID: ?GPU-"
    rf"|MIG (?P<profile>{PROFILE})(?:\+\w+)? {{1,20}}Device {{1,6}}\d{{1,3}}: ?\(UUID",
    re.IGNORECASE,
)
_BRAND = re.compile(r"\s*(?:NVIDIA|Tesla|Quadro|GeForce|RTX|GRID)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NvidiaTable:
    """Reader of the table that `nvidia-smi` prints without options."""

    program: str = "nvidia-smi"

    def read(self, text: str) -> FoundMachine | None:
        """Return the cards of the table, with MIG instances instead of their cards."""
        if "NVIDIA-SMI" not in text:
            return None
        rows = list(_ROW.finditer(text))[:MOST_CARDS]
        ends = [*(row.start() for row in rows[1:]), len(text)][: len(rows)]
        mig_at = text.find("MIG devices:")
        cards: dict[str, FoundCard] = {}
        notes = []
        for row, end in zip(rows, ends, strict=True):
            usage = _USAGE.search(text, row.end(), min(end, row.end() + 1_000))
            used, total = (int(usage[1]), int(usage[2])) if usage else (None, None)
            cards[row["index"]] = _card(row["name"], total, used)
            if row["display"] == "On":
                notes.append(Note("report_display", gpu=cards[row["index"]].name))
        instances = [
            (match["gpu"], replace(_card("", int(match["total"]), int(match["used"])), mig="?"))
            for match in _MIG_ROW.finditer(text, mig_at if mig_at >= 0 else len(text))
        ]
        if "microsoft" in text.casefold():
            notes.append(Note("report_wsl"))
        return FoundMachine(
            tuple(_with_instances(cards, instances)),
            driver=_driver(text),
            notes=tuple(dict.fromkeys(notes)),
        )


@dataclass(frozen=True, slots=True)
class NvidiaList:
    """Reader of `nvidia-smi -L`."""

    program: str = "nvidia-smi -L"

    def read(self, text: str) -> FoundMachine | None:
        """Return cards by name, with MIG instances instead of their cards."""
        cards: dict[str, FoundCard] = {}
        instances: list[tuple[str, FoundCard]] = []
        for match in list(_LISTED.finditer(text))[: 8 * MOST_CARDS]:
            if match["index"] is not None:
                cards[match["index"]] = _card(match["name"])
            elif cards:
                last = next(reversed(cards))
                instances.append((last, FoundCard("", "NVIDIA", mig=match["profile"].lower())))
        return FoundMachine(tuple(_with_instances(cards, instances))) if cards else None


@dataclass(frozen=True, slots=True)
class NvidiaQuery:
    """Reader of `nvidia-smi -q`."""

    program: str = "nvidia-smi -q"

    def read(self, text: str) -> FoundMachine | None:
        """Return cards by name, with the memory of the frame buffer."""
        if "Product Name" not in text or ("NVSMI" not in text and "FB Memory" not in text):
            return None
        names = [value for key, value in pairs(text) if key == "product name" and value]
        cards = {str(place): _card(name) for place, name in enumerate(names[:MOST_CARDS])}
        instances: list[tuple[str, FoundCard]] = []
        for memory in _frame_buffers(text):
            whole = cards.get(memory.place)
            if whole is None:
                continue
            used = replace(whole, total_bytes=memory.total_bytes, used_bytes=memory.used_bytes)
            if memory.is_instance:
                instances.append((memory.place, replace(used, mig="?")))
            else:
                cards[memory.place] = used
        shown = [value for key, value in pairs(text) if key == "display active"]
        notes = [
            Note("report_display", gpu=name)
            for name, display in zip(names, shown, strict=False)
            if display == "Enabled"
        ]
        return FoundMachine(
            tuple(_with_instances(cards, instances)),
            driver=_driver(text),
            notes=tuple(dict.fromkeys(notes)),
        )


@dataclass(frozen=True, slots=True)
class NvidiaCsv:
    """Reader of `nvidia-smi --query-gpu=… --format=csv`, with or without its head."""

    program: str = "nvidia-smi --query-gpu"

    def read(self, text: str) -> FoundMachine | None:
        """Return cards by the columns of the head; without one the largest amount is the memory."""
        cards: list[FoundCard] = []
        columns: list[str] = []
        notes: list[Note] = []
        driver = ""
        for line in text.split("\n"):
            cells = [cell.strip() for cell in line.split(",")]
            if len(cells) < 2:
                continue
            heads = [cell.casefold().partition(" [")[0] for cell in cells]
            if "name" in heads or "gpu_name" in heads or "memory.total" in heads:
                columns = heads
                continue
            row = dict(zip(columns, cells, strict=False)) if columns else {}
            name = row.get("name") or row.get("gpu_name") or ""
            if not name:
                name = next((cell for cell in cells if _BRAND.match(cell)), "")
            if not name or "|" in line or (not columns and not _BRAND.match(name)):
                continue
            driver = row.get("driver_version", driver)[:20]
            total, used = _memory(row) if columns else _amounts(cells, name, notes)
            if len(cards) < MOST_CARDS:
                cards.append(FoundCard(name, "NVIDIA", total, used))
        known = [card for card in cards if columns or card.total_bytes]
        return FoundMachine(tuple(known), driver=driver, notes=tuple(notes)) if known else None


def _memory(row: dict[str, str]) -> tuple[int | None, int | None]:
    total, used, free = (
        amount_bytes(row.get(f"memory.{name}", ""), "mib") for name in ("total", "used", "free")
    )
    if used is None and free is not None and total is not None:
        used = max(0, total - free)
    return total, used


def _amounts(cells: list[str], name: str, notes: list[Note]) -> tuple[int | None, int | None]:
    # Without a head it is unknown which of two amounts is free.
    numbers = [cell for cell in cells if cell != name and re.fullmatch(r"\d{3,7}(?: MiB)?", cell)]
    amounts = [amount for cell in numbers if (amount := amount_bytes(cell, "mib"))]
    if len(amounts) > 1:
        notes.append(Note("report_without_head"))
    return max(amounts, default=None), None


@dataclass(frozen=True, slots=True)
class _FrameBuffer:
    place: str
    is_instance: bool
    total_bytes: int | None = None
    used_bytes: int | None = None


def _frame_buffers(text: str) -> Iterator[_FrameBuffer]:
    # Sections "FB Memory Usage" with the place of their card; its instances come first.
    place, instances = -1, 0
    section: _FrameBuffer | None = None
    for line in text.split("\n"):
        key, _sign, value = (part.strip() for part in line.partition(":"))
        if key == "Product Name":
            place, instances = place + 1, 0
        elif key == "MIG Device":
            instances += 1
        elif key == "FB Memory Usage":
            section = _FrameBuffer(str(place), is_instance=instances > 0)
            instances = max(0, instances - 1)
        elif section and key == "Total":
            section = replace(section, total_bytes=amount_bytes(value))
        elif section and key == "Used":
            yield replace(section, used_bytes=amount_bytes(value))
            section = None


def _card(name: str, total_mib: int | None = None, used_mib: int | None = None) -> FoundCard:
    total, used = (None if mib is None else mib * 2**20 for mib in (total_mib, used_mib))
    return FoundCard(name.strip(), "NVIDIA", total, used)


def _with_instances(
    cards: dict[str, FoundCard], instances: list[tuple[str, FoundCard]]
) -> Iterator[FoundCard]:
    # Instances replace their card, under its name.
    for index, card in cards.items():
        own = [instance for of, instance in instances if of == index]
        yield from (replace(instance, name=card.name) for instance in own) if own else (card,)


def _driver(text: str) -> str:
    match = _DRIVER.search(text)
    return match[1] if match else ""
