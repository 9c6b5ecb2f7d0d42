"""What `rocm-smi` and `amd-smi` print, as lines, CSV or JSON.

Formats: ROCm's documents of both; rocm-smi's CSV in github.com/marimo-team/marimo/issues/9237.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpusizer.core.messages import Note
from gpusizer.gpus.reports.found import MOST_CARDS, FoundCard, FoundMachine, amount_bytes

_ROCM_LINE = re.compile(r"(?:GPU|card)\[?(\d{1,3})\]?\s*:\s*([^:]{3,60}):\s*(.*)", re.IGNORECASE)
_ROCM_PAIR = re.compile(r'"?(card\d{1,3})"?\s*:\s*\{|"([^"]{3,60})"\s*:\s*"?([^",}]{0,120})')
_NAMES = ("card series", "device name", "card model")
_NO_NAME = re.compile(r"0x[0-9a-f]{1,8}|n/a", re.IGNORECASE)
_TOTAL, _USED = "vram total memory (b)", "vram total used memory (b)"
_GPU = re.compile(r"\s*GPU:\s*(\d{1,3})\s*")


@dataclass(frozen=True, slots=True)
class RocmSmi:
    """Reads `rocm-smi` with --showproductname and --showmeminfo."""

    program: str = "rocm-smi"

    def read(self, text: str) -> FoundMachine | None:
        """Cards by their series, with the memory that stands beside it."""
        is_short = "ROCm System Management Interface" in text or "ROCM-SMI" in text
        if not is_short and _TOTAL not in text.casefold() and "card series" not in text.casefold():
            return None
        fields: dict[str, dict[str, str]] = {}
        for device, key, value in (*_of_lines(text), *_of_csv(text), *_of_json(text)):
            fields.setdefault(device, {}).setdefault(key.casefold().strip(), value.strip(' ",'))
        cards = tuple(map(_rocm_card, list(fields.values())[:MOST_CARDS]))
        named = tuple(card for card in cards if card.name or card.total_bytes)
        notes = () if named else (Note("report_without_names", program=self.program),)
        return FoundMachine(named, notes=notes)


@dataclass(frozen=True, slots=True)
class AmdSmi:
    """Reads `amd-smi static` and `amd-smi metric`, one after the other too."""

    program: str = "amd-smi"

    def read(self, text: str) -> FoundMachine | None:
        """Cards by their market name, with the memory of either."""
        words = ("MARKET_NAME", "TOTAL_VRAM", "KFD_ID", "AMDSMI")
        if not any(word in text for word in words):
            return None
        fields: dict[str, dict[str, str]] = {}
        device, section = "", ""
        for line in text.split("\n"):
            gpu = _GPU.fullmatch(line)
            key, _, value = (part.strip() for part in line.partition(":"))
            if gpu:
                device = gpu[1]
                fields.setdefault(device, {})
            elif device and not value:
                section = key
            elif device:
                name = f"{section}.{key}" if key == "SIZE" else key
                fields[device].setdefault(name, value)
        cards = tuple(map(_amd_card, list(fields.values())[:MOST_CARDS]))
        named = tuple(card for card in cards if card.name or card.total_bytes)
        notes = () if named else (Note("report_without_names", program=self.program),)
        return FoundMachine(named, notes=notes)


def _rocm_card(fields: Mapping[str, str]) -> FoundCard:
    names = (fields.get(name, "") for name in _NAMES)
    name = next((name for name in names if name and not _NO_NAME.fullmatch(name)), "")
    total, used = amount_bytes(fields.get(_TOTAL, "")), amount_bytes(fields.get(_USED, ""))
    return FoundCard(name, "AMD", total, used)


def _amd_card(fields: Mapping[str, str]) -> FoundCard:
    total = fields.get("TOTAL_VRAM") or fields.get("VRAM.SIZE", "")
    name = fields.get("MARKET_NAME", "")
    return FoundCard(
        "" if name == "N/A" else name,
        "AMD",
        amount_bytes(total, "mb"),
        amount_bytes(fields.get("USED_VRAM", ""), "mb"),
    )


def _of_lines(text: str) -> Iterator[tuple[str, str, str]]:
    for line in text.split("\n"):
        match = _ROCM_LINE.match(line.strip())
        if match:
            yield match[1], match[2].strip(), match[3]


def _of_csv(text: str) -> Iterator[tuple[str, str, str]]:
    head: list[str] = []
    for line in text.split("\n"):
        cells = line.split(",")
        if cells[0].strip().casefold() == "device" and len(cells) > 1:
            head = cells
        elif head and cells[0].strip().startswith("card"):
            device = cells[0].strip().removeprefix("card")
            yield from ((device, key, value) for key, value in zip(head, cells, strict=False))


def _of_json(text: str) -> Iterator[tuple[str, str, str]]:
    if "{" not in text:
        return
    device = ""
    for match in _ROCM_PAIR.finditer(text):
        if match[1]:
            device = match[1].removeprefix("card")
        elif device:
            yield device, match[2], match[3]
