"""System memory under WSL 2, which lends its virtual machine half of the computer's by default."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpusizer.core.messages import Note
from gpusizer.core.units import GIB

_NAME = r"(?<![a-z\d])wsl\s?-?2?(?![a-z\d])"
_WITHIN = r"(?:\b(?:in|on|under|inside|using|no|sob)\s+|在\s?|用\s?)?"
_WORD = re.compile(rf"[\s,;+，；、(（]*{_WITHIN}{_NAME}(?:\s?[里中下])?[)）]?", re.IGNORECASE)
_DENIED = re.compile(
    rf"[\s,;+，；、(（]*(?:\b(?P<word>not|non|no|without|sem|n[aã]o)\b[\s-]*|没有?\s?|不\s?|无\s?|非\s?)"
    rf"{_WITHIN}{_NAME}(?:\s?[里中下])?[)）]?",
    re.IGNORECASE,
)
# "no" is a denial in English and "in the" in Portuguese, which these words give away.
_PORTUGUESE = re.compile(r"\b(?:com|de|da|uma?|placas?|mem[óo]ria|rodando|usando)\b", re.IGNORECASE)
_BETWEEN = " ,;+，；、"

_AMOUNT = (
    r"(?<![\d.])(?P<number>\d{1,3}(?:,\d{3})+|\d{1,6}(?:\.\d{1,3})?)"
    r"(?P<unit>\s?(?P<prefix>t|g)(?:i?b)?)"
)
_OF = r"\s?(?:(?:of|de)\s)?(?:system\s)?"
# Readings of an amount as system memory, surest first: "24 GB memory" is a card's where RAM is
# named beside it; an amount alone is the system's after a card (`gpusizer.fit.machine_parser`).
_READINGS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_AMOUNT}(?P<words>{_OF}(?:ram\b|l?p?ddr\d|内存))",
        rf"{_AMOUNT}(?P<words>{_OF}mem(?:ory|[óo]ria)\b)",
        rf"(?<=[+,;，、])(?P<before>\s*(?:\d{{1,2}}\s?[x×*]\s?)?){_AMOUNT}(?P<words>)(?=\s*(?:$|[+,;，、]))",
    )
)


@dataclass(frozen=True, slots=True)
class WslMachine:
    """A machine in words without those about WSL, with the memory that it has there, and notes."""

    text: str
    notes: tuple[Note, ...] = ()


def within_wsl(text: str) -> WslMachine | None:
    """Return a machine with half of its stated memory, None if its words say nothing about WSL.

    A machine outside of WSL keeps its memory; one without an amount has a note alone.

    >>> within_wsl("3060 + 64 GB RAM, WSL2").text, within_wsl("3060 + 64 GB RAM, no WSL").text
    ('3060 + 32 GB RAM', '3060 + 64 GB RAM')
    """
    # Microsoft's "Advanced settings configuration in WSL": `memory` of .wslconfig is 50 % of the
    # total memory on Windows unless it is set.
    denied = _DENIED.search(text)
    if denied and not _is_in_the(denied, text):
        return _without(_DENIED, text)
    machine = _without(_WORD, text)
    if machine is None:
        return None
    plain = machine.text
    reading = next((reading for reading in _READINGS if reading.search(plain)), None)
    if reading is None:
        return WslMachine(plain, (Note("report_wsl"),))
    whole = round(sum(_gib(match) for match in reading.finditer(plain)) * GIB)
    note = Note("wsl_memory", ram_bytes=whole // 2, whole_bytes=whole)
    return WslMachine(reading.sub(_halved, plain), (note,))


def _without(words: re.Pattern[str], text: str) -> WslMachine | None:
    plain = words.sub(" ", text).strip(_BETWEEN)
    return WslMachine(plain) if plain and words.search(text) else None


def _is_in_the(denied: re.Match[str], text: str) -> bool:
    word = (denied["word"] or "").casefold()
    return word == "no" and _PORTUGUESE.search(text) is not None


def _number(match: re.Match[str]) -> float:
    return float(match["number"].replace(",", ""))


def _gib(match: re.Match[str]) -> float:
    return _number(match) * (1024 if match["prefix"].casefold() == "t" else 1)


def _halved(match: re.Match[str]) -> str:
    before = match.groupdict().get("before") or ""
    return f"{before}{_number(match) / 2:g}{match['unit']}{match['words']}"
