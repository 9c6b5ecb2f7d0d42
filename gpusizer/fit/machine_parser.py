"""MachineWords: the cards and the system memory that a text names, as every field reads them.

    4090, 2x3090, L40S            three machines of one kind of card each
    3060 + 64 GB RAM              a card, and memory beside it
    3090 + 2x 3060 + 64 GB        a machine of several kinds

An amount alone is system memory unless it comes first. A comma separates machines; where one
machine is asked for (`parse_rig`), its parts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.units import GIB
from gpusizer.fit.loose_machine import NO_CARD, tidy
from gpusizer.gpus.custom_card import is_custom
from gpusizer.gpus.names import parse_gpu_request

MOST_CARDS = 16  # GGML_CUDA_MAX_DEVICES
MOST_RAM_BYTES = 64 * 1024 * GIB

# "Ryzen AI Max+ 395" is a name.
_PLUS = r"(?<!\bmax)\+"
_JOINED = re.compile(rf"\s*(?:{_PLUS}|&|\bwith\b|\bcom\b|加)\s*", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:[,;、\n]|\b(?:and|or|vs|e|ou)\b\.?|和|或)\s*", re.IGNORECASE)
_COMMA = re.compile(r"\s*,\s*")
_BETWEEN = re.compile(f"{_JOINED.pattern}|{_LISTED.pattern}", re.IGNORECASE)
_MEMORY_WORD = re.compile(
    r"\b(?:ram|memory|memoria|mem|dram|l?p?ddr\d\w?(?:-\d+)?)\b|内存|记忆体", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"(?:(\d{1,2})\s*[x×*]\s*)?(\d{1,6}(?:\.\d+)?)\s*(tb|tib|t|gb|gib|g)?(?![a-z\d])", re.IGNORECASE
)
_PRODUCTS = re.compile(r"(?<![\w.])\d{4}(?![\w.])")  # "3090 3060"
_AMOUNT_ALONE = re.compile(
    r"(?:\d{1,2}\s*[x×*]\s*)?\d{1,6}(?:\.\d+)?\s*(?:tb|tib|t|gb|gib|g)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class MachineWords:
    """Names of the cards, repeated for equal ones, and bytes of system memory (None: not stated).

    Memory modules count in binary: "64 GB" are 64 x 2^30 bytes.
    """

    cards: tuple[str, ...]
    ram_bytes: int | None


def is_rig(text: str) -> bool:
    """Whether a text means a machine rather than one kind of GPU."""
    plain = _plain(text)
    parts = _BETWEEN.split(plain)
    joined = re.search(_PLUS, plain, re.IGNORECASE) is not None
    said = any(_is_memory(part) or NO_CARD.fullmatch(part) for part in parts)
    return joined or said or any(map(_AMOUNT_ALONE.fullmatch, parts[1:]))


def split_machines(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the machines that lists name; memory alone belongs to the one before it.

    >>> split_machines(["4090, 2x3090 and L40S", "3060, 64 GB RAM"])
    ('4090', '2x3090', 'L40S', '3060 + 64 GB RAM')
    """
    machines: list[str] = []
    for written in texts:
        text = tidy(written, _BETWEEN)
        between = _COMMA if _described(text) else _LISTED
        for part in filter(None, between.split(text.strip())):
            plain = _plain(part)
            alone = _is_memory(plain) or _AMOUNT_ALONE.fullmatch(plain) is not None
            if machines and alone and not _JOINED.search(plain):
                machines[-1] += f" + {part}"
            elif len(machines) == 1 and not _JOINED.search(plain) and _is_memory_alone(machines[0]):
                machines[0] = f"{part} + {machines[0]}"
            else:
                machines.append(part)
    return tuple(machines)


@dataclass(frozen=True, slots=True)
class KindWords:
    """One kind of card in a machine: its name, boards (None: open) and system memory (None: not
    stated), in bytes.
    """

    name: str
    boards: int | None = None
    ram_bytes: int | None = None


def parse_kind(text: str) -> KindWords:
    """Read one kind of card, with or without the memory beside it.

    >>> parse_kind("2x3090 + 64 GB RAM")
    KindWords(name='3090', boards=2, ram_bytes=68719476736)

    Raises InvalidRequest for cards of several kinds, and for memory alone.
    """
    if not is_rig(text):
        card = parse_gpu_request(tidy(text, _BETWEEN))
        return KindWords(card.name, card.count)
    words = parse_rig(text)
    names = set(words.cards)
    if len(names) != 1:
        reason = "mixed_machine" if names else "memory_alone"
        raise InvalidRequest(field="gpu", value=text[:80], reason=reason)
    boards = len(words.cards)
    return KindWords(words.cards[0], boards if boards > 1 else None, words.ram_bytes)


def is_mixed(text: str) -> bool:
    """Whether a text names a machine with cards of several kinds, or with none."""
    return is_rig(text) and len(set(parse_rig(text).cards)) != 1


def parse_rig(text: str, ram_bytes: int | None = None) -> MachineWords:
    """Read cards and system memory from a text such as people write.

    `ram_bytes` is the memory of a machine whose text names none.

    >>> parse_rig("RTX 3090 + 2x RTX 3060 + 64GB RAM")
    MachineWords(cards=('RTX 3090', 'RTX 3060', 'RTX 3060'), ram_bytes=68719476736)

    Raises InvalidRequest for an empty text, memory without an amount, and too much of anything.
    """
    cards: list[str] = []
    ram: int | None = None
    is_without_card = False
    for part in _BETWEEN.split(_plain(text)):
        if not part:
            continue
        if NO_CARD.fullmatch(part):
            is_without_card = True
            continue
        is_amount = _AMOUNT_ALONE.fullmatch(part) is not None
        if _is_memory(part) or (is_amount and (cards or ram)):
            ram = (ram or 0) + _amount(part, text)
            continue
        card = parse_gpu_request(part)
        if len(_PRODUCTS.findall(card.name.partition("(")[0])) > 1:
            raise InvalidRequest(field="rig", value=text[:80], reason="rig_separator")
        cards += [card.name] * min(card.count or 1, MOST_CARDS + 1)
    if not cards and ram is None and not is_without_card:
        raise InvalidRequest(field="rig", value=text[:80], reason="rig_empty")
    if len(cards) > MOST_CARDS:
        raise _out_of_range(text, 0, MOST_CARDS)
    return MachineWords(tuple(cards), ram_bytes if ram is None else ram)


def _is_memory_alone(machine: str) -> bool:
    return _is_memory(machine) and not _BETWEEN.search(machine)


def _is_memory(part: str) -> bool:
    return _MEMORY_WORD.search(part) is not None


def _described(text: str) -> bool:
    """Whether parentheses or a description of a card stand in a text, which may hold any words."""
    return "(" in text or is_custom(text)


def _plain(text: str) -> str:
    tidied = tidy(text, _BETWEEN)
    return unicodedata.normalize("NFKC", tidied).replace("ó", "o").strip()


def _amount(part: str, text: str) -> int:
    words = _MEMORY_WORD.sub(" ", part)
    match = _AMOUNT.search(words)
    if match is None:
        raise InvalidRequest(field="rig", value=text[:80], reason="ram_amount")
    if re.search(r"\d", words[: match.start()] + words[match.end() :]):
        raise InvalidRequest(field="rig", value=text[:80], reason="rig_separator")
    unit = (match[3] or "g").lower()
    number = float(match[2]) * int(match[1] or 1) * (1024 if unit.startswith("t") else 1)
    amount = round(number * GIB)
    if not 0 < amount <= MOST_RAM_BYTES:
        raise _out_of_range(text, 1, MOST_RAM_BYTES // GIB)
    return amount


def _out_of_range(text: str, low: int, high: int) -> InvalidRequest:
    return InvalidRequest(field="rig", value=text[:80], reason="out_of_range", low=low, high=high)
