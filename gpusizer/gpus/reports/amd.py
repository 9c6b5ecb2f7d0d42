"""Output of `rocm-smi` and `amd-smi`, as table, lines, CSV or JSON.

Formats: ROCm's documents of both; rocm-smi's CSV in github.com/marimo-team/marimo/issues/9237,
amd-smi's table in github.com/ROCm/rocm-install-on-linux/pull/656.
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
_ROW = re.compile(
    r"\|\s{0,4}[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.\d\s{1,20}(?P<name>[^|\n]{3,40}?)\s{0,20}\|",
    re.IGNORECASE,
)
_USAGE = re.compile(r"(\d{1,8})/(\d{1,8}) MB")
_ROW_CHARS = 400
# Names of graphics whose driver has none, by architecture and compute units (both are Strix Halo).
_UNNAMED = ("amd radeon graphics", "")
_OF_ARCHITECTURE = {("gfx1151", "40"): "Radeon 8060S", ("gfx1151", "32"): "Radeon 8050S"}
_USUAL_UNITS = {"gfx1151": "40"}
_GPU = re.compile(r"\s*GPU:\s*(\d{1,3})\s*")


@dataclass(frozen=True, slots=True)
class RocmSmi:
    """Reader of `rocm-smi` with --showproductname and --showmeminfo."""

    program: str = "rocm-smi"

    def read(self, text: str) -> FoundMachine | None:
        """Return cards by their series, with their memory."""
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
class AmdTable:
    """Reader of the table that `amd-smi` prints without options."""

    program: str = "amd-smi"

    def read(self, text: str) -> FoundMachine | None:
        """Return the cards of the table, which cuts off the beginning of a long name."""
        if "AMD-SMI" not in text:
            return None
        rows = list(_ROW.finditer(text))[:MOST_CARDS]
        ends = [*(row.start() for row in rows[1:]), len(text)][: len(rows)]
        cards = []
        for row, end in zip(rows, ends, strict=True):
            usage = _USAGE.search(text, row.end(), min(end, row.end() + _ROW_CHARS))
            used, total = (int(usage[1]), int(usage[2])) if usage else (None, None)
            name = _plain_name(row["name"].lstrip("."))
            cards.append(FoundCard(name, "AMD", _mib(total), _mib(used)))
        return FoundMachine(tuple(cards))


@dataclass(frozen=True, slots=True)
class AmdSmi:
    """Reader of `amd-smi static` and `amd-smi metric`, also one after the other."""

    program: str = "amd-smi static"

    def read(self, text: str) -> FoundMachine | None:
        """Return cards by their market name, with the memory of either program."""
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
    name = _named(name, fields.get("gfx version", ""), "")
    return FoundCard(name, "AMD", total, used)


def _plain_name(name: str) -> str:
    # "VF" marks a virtual function.
    return name.strip().removesuffix(" VF")


def _named(name: str, architecture: str, units: str) -> str:
    # Graphics that the driver does not name have the name of their architecture.
    if name.casefold() not in _UNNAMED:
        return _plain_name(name)
    units = units or _USUAL_UNITS.get(architecture, "")
    return _OF_ARCHITECTURE.get((architecture, units), name)


def _mib(number: int | None) -> int | None:
    return None if number is None else number * 2**20


def _amd_card(fields: Mapping[str, str]) -> FoundCard:
    total = fields.get("TOTAL_VRAM") or fields.get("VRAM.SIZE", "")
    name = fields.get("MARKET_NAME", "")
    units = fields.get("NUM_COMPUTE_UNITS", "")
    name = _named("" if name == "N/A" else name, fields.get("TARGET_GRAPHICS_VERSION", ""), units)
    return FoundCard(
        name,
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
