"""RigWords: a machine as people write it, "rtx 3090 + 2x rtx 3060 + 64gb ram"."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from gpusizer.errors import InvalidRequest
from gpusizer.gpu_request import parse_gpu_request
from gpusizer.units import GIB

MOST_CARDS = 16  # GGML_CUDA_MAX_DEVICES
MOST_RAM_BYTES = 64 * 1024 * GIB

_BETWEEN = re.compile(r"\s*(?:[+,;&、]|\band\b|\bwith\b|\be\b|\bcom\b|和|加)\s*", re.IGNORECASE)
_MEMORY_WORD = re.compile(
    r"\b(?:ram|memory|memoria|mem|dram|l?p?ddr\d\w?(?:-\d+)?)\b|内存|记忆体", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"(?:(\d{1,2})\s*[x×*]\s*)?(\d{1,6}(?:\.\d+)?)\s*(tb|tib|t|gb|gib|g)?(?![a-z\d])", re.IGNORECASE
)
_NO_CARD = re.compile(r"(?:cpu(?:[ -]only)?|no gpus?|sem gpu|只用 ?cpu|无显卡)$", re.IGNORECASE)
_COUNT_LAST = re.compile(r"(.*\S)\s+[x×*]\s*(\d{1,3})$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class RigWords:
    """Names of the cards, each as often as it is there, and bytes of system memory (None: unsaid).

    Memory modules count in binary: "64 GB" are 64 x 2^30 bytes.
    """

    cards: tuple[str, ...]
    ram_bytes: int | None


def is_rig(text: str) -> bool:
    """Whether a text means a machine rather than one kind of GPU."""
    return "+" in text or _MEMORY_WORD.search(_plain(text)) is not None


def parse_rig(text: str) -> RigWords:
    """Cards and system memory.

    >>> parse_rig("RTX 3090 + 2x RTX 3060 + 64GB RAM")
    RigWords(cards=('RTX 3090', 'RTX 3060', 'RTX 3060'), ram_bytes=68719476736)

    Raises InvalidRequest for an empty text, memory without an amount, and too much of anything.
    """
    cards: list[str] = []
    ram: int | None = None
    for part in _BETWEEN.split(_plain(text)):
        if not part or _NO_CARD.fullmatch(part):
            continue
        if _MEMORY_WORD.search(part):
            ram = (ram or 0) + _amount(part, text)
            continue
        last = _COUNT_LAST.fullmatch(part)
        asked = parse_gpu_request(f"{last[2]}x {last[1]}" if last else part)
        cards += [asked.name] * min(asked.count or 1, MOST_CARDS + 1)
    if not cards and ram is None:
        raise InvalidRequest(field="rig", value=text[:80], reason="rig_empty")
    if len(cards) > MOST_CARDS:
        raise _out_of_range(text, 0, MOST_CARDS)
    return RigWords(tuple(cards), ram)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("ó", "o").strip()


def _amount(part: str, text: str) -> int:
    words = _MEMORY_WORD.sub(" ", part)
    found = _AMOUNT.search(words)
    if found is None:
        raise InvalidRequest(field="rig", value=text[:80], reason="ram_amount")
    if re.search(r"\d", words[: found.start()] + words[found.end() :]):
        raise InvalidRequest(field="rig", value=text[:80], reason="rig_separator")
    unit = (found[3] or "g").lower()
    number = float(found[2]) * int(found[1] or 1) * (1024 if unit.startswith("t") else 1)
    amount = round(number * GIB)
    if not 0 < amount <= MOST_RAM_BYTES:
        raise _out_of_range(text, 1, MOST_RAM_BYTES // GIB)
    return amount


def _out_of_range(text: str, low: int, high: int) -> InvalidRequest:
    return InvalidRequest(field="rig", value=text[:80], reason="out_of_range", low=low, high=high)
