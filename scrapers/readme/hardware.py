"""GPUs, counts and amounts of memory that a sentence names, with where they stand. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from scrapers.readme.words import GPU_NAMES, NUMBERS

_MOST_GPUS = 100_000
_MOST_GB = 1e6

_GPU = re.compile(
    rf"(?:(?<![A-Za-z0-9.,])|(?<=\d[xX×]))(?P<name>{'|'.join(GPU_NAMES)})"
    r"(?:[- ]?(?:SXM\d?|PCI-?[eE]|NVL))?"
    r"(?:[- ]?\(?(?P<memory>\d{1,3}) ?[Gg](?:i?[Bb])?\)?)?s?(?![A-Za-z0-9])"
)
_GENERIC = re.compile(
    r"(?<![A-Za-z])(?:GPUs?|graphics cards?|video cards?|placas? de vídeo|placas?"
    r"|(?<=GB )cards?|(?<=GB-)cards?)(?![A-Za-z]|\s(?:memory|mem|V?RAM)\b)"
    r"|显卡|加速卡|(?<=[张块])卡|(?<=单)卡",
    re.IGNORECASE,
)
_VENDOR = r"(?:NVIDIA|AMD|Intel|Apple|Tesla|GeForce|consumer|multi-?|high-end|modern|datacenter|-)"
_NUMBER = "|".join(sorted(map(re.escape, NUMBERS), key=len, reverse=True))
_COUNT_BEFORE = re.compile(
    rf"(?:(?<![\w.,-])|(?<=[\u4e00-\u9fff(~≥>=]))(?P<count>\d{{1,6}}|{_NUMBER})"
    rf"\s?(?:[x×*]|张|块|卡|台|个|片)?\s*(?:{_VENDOR}\s*)*$",
    re.IGNORECASE,
)
_COUNT_AFTER = re.compile(
    r"\s?(?:GPUs?\s?)?\(?\s?[x×*]\s?(?P<count>\d{1,4})(?![\d.,]|\s?GB)", re.IGNORECASE
)
_AMOUNT = re.compile(
    r"(?:(?<![\w.,])|(?<=[\u4e00-\u9fffxX×]))"
    r"(?:(?P<count>\d{1,4})\s?[x×*]\s?)?"
    r"(?P<low>\d{1,5}(?:[.,]\d{1,3})*)\+?\s?(?:(?:G(?:i?B)?\s?)?(?:-|–|~|to|até|到|至)\s?"
    r"(?P<high>\d{1,5}(?:[.,]\d{1,3})?))?\+?[ -]?(?P<unit>GiB|GB|G|TiB|TB|T|MiB|MB)\+?"
    r"(?![A-Za-z0-9/])",
    re.IGNORECASE,
)
_FACTORS = {"g": 1.0, "t": 1000.0, "m": 0.001}
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


@dataclass(frozen=True, slots=True)
class MemoryAmount:
    """Memory, with the number of parts that are as large ("4 x 80GB")."""

    start: int
    end: int
    gb: float
    high_gb: float | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that a sentence names, with where it stands in it: a GPU, any GPU (`gpu` None), or
    an amount of memory.

    Attributes:
        gb, high_gb: memory of all GPUs together, and the end of a range.
        others: alternatives to `gpu`.
        is_machine: a count of it counts whole machines.
    """

    start: int
    end: int
    gb: float | None = None
    high_gb: float | None = None
    gb_per_gpu: float | None = None
    unified_gb: float | None = None
    gpu: str | None = None
    others: tuple[str, ...] = ()
    count: int | None = None
    is_machine: bool = False


def amounts_in(text: str) -> list[MemoryAmount]:
    """Amounts of memory in a text, in order.

    >>> [(item.gb, item.high_gb, item.count) for item in amounts_in("85-100GB, ≥3×80GB or 1T")]
    [(85.0, 100.0, None), (80.0, None, 3), (1000.0, None, None)]
    """
    amounts = []
    for match in _AMOUNT.finditer(text):
        factor = _FACTORS[match["unit"][0].lower()]
        low = decimal(match["low"]) * factor
        high = decimal(match["high"]) * factor if match["high"] else None
        count = int(match["count"]) if match["count"] else None
        if 0 < low <= _MOST_GB:
            amounts.append(
                MemoryAmount(match.start(), match.end(), round(low, 6), high, count or None)
            )
    return amounts


def decimal(digits: str) -> float:
    """A number with a decimal point or comma, or with commas between thousands.

    >>> decimal("9,5"), decimal("1,000"), decimal("14.7")
    (9.5, 1000.0, 14.7)
    """
    if _THOUSANDS.fullmatch(digits):
        return float(digits.replace(",", ""))
    first, *rest = digits.replace(",", ".").split(".")
    return float(f"{first}.{''.join(rest) or 0}")


def gpus_in(text: str) -> list[Claim]:
    """GPUs that a text names, with counts, in order.

    >>> [(item.gpu, item.count) for item in gpus_in("8xH100, H20 x 16 or a single RTX 3090")]
    [('H100', 8), ('H20', 16), ('RTX 3090', 1)]
    """
    mentions = []
    named_spans = [match.span() for match in _GPU.finditer(text)]
    for match in _GPU.finditer(text):
        memory = float(match["memory"]) if match["memory"] else None
        name = " ".join(match["name"].split())
        mentions.append(_mention(text, match, name, memory))
    for match in _GENERIC.finditer(text):
        if not any(end <= match.start() <= end + 1 for _, end in named_spans):
            mentions.append(_mention(text, match, None, None))
    return sorted(mentions, key=lambda item: item.start)


def _mention(text: str, match: re.Match[str], name: str | None, memory_gb: float | None) -> Claim:
    """A GPU with its count, which stands before it or behind it."""
    head = text[max(match.start() - 40, 0) : match.start()]
    if name is None:
        head = _AMOUNT_AT_END.sub("", head)
    before, after = _COUNT_BEFORE.search(head), _COUNT_AFTER.match(text, match.end())
    stated = before or after
    count = None if stated is None else NUMBERS.get(stated["count"].lower())
    if stated is not None and count is None:
        count = int(stated["count"])
    usable = count if count is not None and 0 < count <= _MOST_GPUS else None
    end = after.end() if after and not before else match.end()
    start = match.start() - (len(head) - before.start() if before else 0)
    machine = _MACHINE.match(text, match.end())
    return Claim(
        start, end, gb_per_gpu=memory_gb, gpu=name, count=usable, is_machine=machine is not None
    )


_AMOUNT_AT_END = re.compile(
    r"\d{1,4}(?:[.,]\d)?[ -]?G(?:i?B)?(?:\s(?:of )?VRAM)?\+?\s?$", re.IGNORECASE
)
_MACHINE = re.compile(
    r"\s(?:DGX\s?)?(?:host|node|server|machine|system|DGX)s?(?![A-Za-z])", re.IGNORECASE
)
