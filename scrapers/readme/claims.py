"""GPUs and amounts of memory that a sentence of a model card names, as claims. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scrapers.readme.quants import names_in, quant_mentions
from scrapers.readme.text import Block
from scrapers.readme.words import GPU_NAMES, NUMBERS, says

_MOST_GPUS = 100_000
_MOST_GB = 1e6
_MOST_SENTENCES = 60
_MOST_CLAIMS = 8
# Most amounts and GPUs of a sentence that become claims.
_MOST_NAMED = 16
# Characters after an amount that are searched for its noun.
_NOUN_CHARS = 24

_GPU = re.compile(
    rf"(?:(?<![A-Za-z0-9.,])|(?<=\d[xX×]))(?P<name>{'|'.join(GPU_NAMES)})"
    r"(?:[- ]?(?:SXM\d?|PCI-?[eE]|NVL))?"
    r"(?:[- ]?\(?(?P<memory>\d{1,3}) ?[Gg](?:i?[Bb])?\)?)?s?(?![A-Za-z0-9])"
)
# A GPU without a name; "model card" is no GPU.
_GENERIC = re.compile(
    r"(?<![A-Za-z])(?:GPUs?|(?:graphics |video |(?<!model )(?<!data ))cards?|accelerators?"
    r"|placas?(?: de vídeo)?)(?![A-Za-z]|\s(?:memory|mem|V?RAM)\b)"
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
_COUNT_BEHIND = re.compile(
    r"\s?(?:GPUs?\s?)?(?:\(?\s?[x×*]\s?(?P<count>\d{1,4})(?![\d.,]|\s?GB)"
    r"|(?P<pieces>\d{1,3})\s?[张块卡])",
    re.IGNORECASE,
)
_MEMORY_AT_END = re.compile(
    r"\d{1,4}(?:[.,]\d)?[ -]?G(?:i?B)?(?:\s(?:of )?VRAM)?\+?\s?的?\s?$", re.IGNORECASE
)
# Text after a GPU whose count is one of whole machines.
_MACHINE = re.compile(r"\s(?:DGX\s?)?(?:host|node|server|machine|system|DGX)s?(?![a-z])", re.I)
_AMOUNT = re.compile(
    r"(?:(?<![\w.,])|(?<=[\u4e00-\u9fffxX×]))"
    r"(?:(?P<count>\d{1,4})\s?[x×*]\s?)?"
    r"(?P<low>\d{1,5}(?:[.,]\d{1,3})*)\+?\s?(?:(?:G(?:i?B)?\s?)?(?:-|–|~|to|até|到|至)\s?"
    r"(?P<high>\d{1,5}(?:[.,]\d{1,3})?))?\+?[ -]?(?P<unit>GiB|GB|G|TiB|TB|T|MiB|MB)\+?"
    r"(?![0-9/]|(?!x\s?\d)[A-Za-z])(?:\s?[x×*]\s?(?P<times>\d{1,3})(?![\w.,]))?",
    re.IGNORECASE,
)
_FACTORS = {"g": 1.0, "t": 1000.0, "m": 0.001}
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_MEMORY_BEFORE = re.compile(
    r"\+?[ -]?(?:of )?(?:VRAM |memory )?(?:显存的?)?(?:NVIDIA |AMD |CUDA )?"
    r"(?:GPUs?|cards?|graphics cards?|accelerators?|显卡|卡)",
    re.IGNORECASE,
)
_MEMORY_BEHIND = re.compile(
    r"s?(?: chip| card)?\s?[,(]?\s?(?:each\s)?"
    r"(?:with|of|having|has|having at least|com|de|具有|配备)?\s?"
    r"(?:at least|atleast|a minimum of|pelo menos|至少|over|≥|>=)?\s?(?:about|~)?\s?"
    r"(?:(?:VRAM|显存|memory):?\s?)?$",
    re.IGNORECASE,
)
# Text between alternative GPUs, as in "A100 or H100" or "a GPU such as A100".
_ALTERNATIVE = re.compile(
    r"\s?(?:\(|/|,|or|ou|或者?|.{0,40}\b(?:like|such as|e\.g\.|for example|como)\b|.{0,40}例?如)?"
    r"\s?(?:an?\s|one\s|um\s)?(?:NVIDIA\s|AMD\s)?$",
    re.IGNORECASE,
)
# Kind of memory that an amount measures, by cues; the first cue in a text counts.
_NOUNS = {
    "unified_memory": "unified",
    "vram": "vram",
    "host_memory": "host",
    "disk": "disk",
    "memory": "memory",
    "unified": "unified",
}
# Beginnings of llama.cpp's quantizations, which also run in system memory.
_FILE_QUANTS = ("q", "iq", "tq")
# Beginnings of chips that share the computer's memory.
_SHARING = re.compile(r"Apple|M\d ", re.IGNORECASE)

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|[。！？\n]")
_CLAUSE_END = re.compile(
    r"[,，;()—–]\s|\s[—–-]\s|[(),，、](?!\d)|而|但"
    r"|\s(?:and|but|while|whereas|although|e|mas|enquanto)\s"
)


@dataclass(frozen=True, slots=True)
class MemoryAmount:
    """Memory, with the number of equal parts ("4 x 80GB", "48G x2"), 0 without one."""

    start: int
    end: int
    gb: float
    high_gb: float | None = None
    count: int = 0


@dataclass(frozen=True, slots=True)
class Claim:
    """A GPU, any GPU (`gpu` None) or an amount of memory in a sentence, with its position."""

    start: int
    end: int
    gb: float | None = None  # `gb`, `high_gb`: memory of all GPUs together, and the end of a range
    high_gb: float | None = None
    gb_per_gpu: float | None = None
    unified_gb: float | None = None
    gpu: str | None = None
    others: tuple[str, ...] = ()  # alternatives to `gpu`
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, the spans of its clauses, and the texts that lead to it, the nearest first."""

    text: str
    clauses: tuple[tuple[int, int], ...]
    surroundings: tuple[str, ...]

    def clause_of(self, position: int) -> int:
        """Return the index of the clause at a position."""
        ends = (index for index, (_, end) in enumerate(self.clauses) if position < end)
        return next(ends, len(self.clauses) - 1)

    def clause(self, index: int) -> str:
        start, end = self.clauses[index]
        return self.text[start:end]


def sentences_of(block: Block) -> Iterator[Sentence]:
    """Yield the sentences of a block with their surroundings."""
    introduction, earlier = block.introduction, ""
    for text in _SENTENCE_END.split(block.text)[:_MOST_SENTENCES]:
        if text.strip():
            ends = [match.end() for match in _CLAUSE_END.finditer(text)]
            clauses = tuple(zip([0, *ends], [*ends, len(text) + 1], strict=True))
            yield Sentence(text, clauses, (earlier, introduction, *reversed(block.headings)))
            earlier = text
            # A question introduces its answers.
            if text.rstrip().endswith("?"):
                introduction = text


def amounts_in(text: str) -> list[MemoryAmount]:
    """Return amounts of memory in a text, in order.

    >>> [(item.gb, item.high_gb, item.count) for item in amounts_in("85-100GB, ≥3×80GB or 1T")]
    [(85.0, 100.0, 0), (80.0, None, 3), (1000.0, None, 0)]
    """
    amounts = []
    for match in _AMOUNT.finditer(text):
        factor = _FACTORS[match["unit"][0].lower()]
        low = decimal(match["low"]) * factor
        high = decimal(match["high"]) * factor if match["high"] else None
        count = int(match["count"] or match["times"] or 0)
        if 0 < low <= _MOST_GB:
            amounts.append(MemoryAmount(match.start(), match.end(), round(low, 6), high, count))
    return amounts


def decimal(digits: str) -> float:
    """Return a number with a decimal point or comma, or with commas between thousands.

    >>> decimal("9,5"), decimal("1,000"), decimal("14.7")
    (9.5, 1000.0, 14.7)
    """
    if _THOUSANDS.fullmatch(digits):
        return float(digits.replace(",", ""))
    first, *rest = digits.replace(",", ".").split(".")
    return float(f"{first}.{''.join(rest) or 0}")


def gpus_in(text: str) -> list[Claim]:
    """Return GPUs that a text names, with counts, in order.

    >>> [(item.gpu, item.count) for item in gpus_in("8xH100, H20 x 16 or a single RTX 3090")]
    [('H100', 8), ('H20', 16), ('RTX 3090', 1)]
    """
    named = list(_GPU.finditer(text))
    ends = {match.end() for match in named}
    generic = [m for m in _GENERIC.finditer(text) if not {m.start(), m.start() - 1} & ends]
    return sorted((_gpu(text, match) for match in (*named, *generic)), key=lambda gpu: gpu.start)


def _gpu(text: str, match: re.Match[str]) -> Claim:
    parts = match.groupdict()
    offset = max(match.start() - 40, 0)
    # The count is before or after the GPU.
    before = _COUNT_BEFORE.search(_MEMORY_AT_END.sub("", text[offset : match.start()]))
    behind = None if before else _COUNT_BEHIND.match(text, match.end())
    stated = before or behind
    number = next(filter(None, stated.groups())).lower() if stated else ""
    count = NUMBERS.get(number) or (int(number) if number else 0)
    is_usable = 0 < count <= _MOST_GPUS and not _MACHINE.match(text, match.end())
    return Claim(
        offset + before.start() if before else match.start(),
        behind.end() if behind else match.end(),
        gb_per_gpu=float(parts["memory"]) if parts.get("memory") else None,
        gpu=" ".join(parts["name"].split()) if parts.get("name") else None,
        count=count if is_usable else None,
    )


def claims_in(sentence: Sentence) -> list[Claim]:
    """Return GPUs and amounts of memory in a sentence, each amount with its GPU."""
    text = sentence.text
    amounts, mentions = amounts_in(text)[:_MOST_NAMED], gpus_in(text)[:_MOST_NAMED]
    used: set[int] = set()
    gpus: list[Claim] = []
    for mention in mentions:
        memory = _memory_of(mention, amounts, text)
        if memory is not None:
            used.add(memory.start)
        claim = mention if memory is None else _with_memory(mention, memory)
        is_alternative = gpus and claim.gpu and claim.count in (None, gpus[-1].count)
        if gpus and claim.gpu is None and claim.start < gpus[-1].end:
            continue  # the word "GPU" after a name that was counted with it
        if is_alternative and _ALTERNATIVE.fullmatch(text, gpus[-1].end, claim.start):
            gpus[-1] = _with_alternative(gpus[-1], claim)
        elif claim.gpu or claim.count or claim.gb_per_gpu:
            gpus.append(claim)
    free = (amount for amount in amounts if amount.start not in used)
    memory_claims = [*filter(None, (_memory_claim(amount, sentence) for amount in free))]
    if len(memory_claims) == len(gpus) == 1 and not (gpus[0].gpu or gpus[0].gb_per_gpu):
        return [replace(memory_claims[0], count=gpus[0].count)]  # "60 GB on one GPU"
    return sorted([*gpus, *memory_claims], key=lambda claim: claim.start)[:_MOST_CLAIMS]


def _memory_of(mention: Claim, amounts: Sequence[MemoryAmount], text: str) -> MemoryAmount | None:
    # "80GB GPU", "GPUs with 80GB", "A100 (80 GB)", "80G A100".
    for amount in amounts:
        if mention.start <= amount.start < amount.end <= mention.end:
            return amount
        before = _MEMORY_BEFORE.match(text, amount.end, mention.end)
        is_joined = mention.gpu is not None and text[amount.end : mention.start] in (" ", "-")
        if is_joined or (before is not None and before.end() > mention.start):
            return amount
        if amount.start >= mention.end and _MEMORY_BEHIND.match(text[mention.end : amount.start]):
            return amount
    return None


def _with_memory(gpu: Claim, memory: MemoryAmount) -> Claim:
    is_shared = _SHARING.match(gpu.gpu or "") is not None
    return replace(
        gpu,
        start=min(gpu.start, memory.start),
        end=max(gpu.end, memory.end),
        gb_per_gpu=None if is_shared else memory.gb,
        unified_gb=memory.gb if is_shared else None,
        count=gpu.count or memory.count or None,
    )


def _with_alternative(claim: Claim, other: Claim) -> Claim:
    # A GPU without a name takes the other's name; otherwise the other is an alternative.
    memory = claim.gb_per_gpu or other.gb_per_gpu
    joined = replace(claim, end=other.end, gb_per_gpu=memory)
    if claim.gpu is None:
        return replace(joined, gpu=other.gpu)
    return replace(joined, others=(*claim.others, str(other.gpu)))


def _memory_claim(amount: MemoryAmount, sentence: Sentence) -> Claim | None:
    # None for a disk's or the computer's memory.
    kind = _memory_kind(amount, sentence)
    place = Claim(amount.start, amount.end)
    if kind == "unified":
        return replace(place, unified_gb=amount.gb)
    if kind != "vram":
        return None
    if amount.count:
        return replace(place, gb_per_gpu=amount.gb, count=amount.count)
    return replace(place, gb=amount.gb, high_gb=amount.high_gb)


def _memory_kind(amount: MemoryAmount, sentence: Sentence) -> str:
    # "vram", "unified", or "" for anything else. The words after it in its clause decide, else
    # those before it, the rest of the sentence, or its surroundings, in which only memory of GPUs
    # counts. Under words of need, "RAM" or no word at all next to a precision is a GPU's too.
    start, end = sentence.clauses[sentence.clause_of(amount.start)]
    clause, before = sentence.text[start:end], sentence.text[start : amount.start]
    places = (sentence.text[amount.end : min(end, amount.end + _NOUN_CHARS)], before, sentence.text)
    nouns = (noun for place in places for cue, noun in _NOUNS.items() if says(cue, place))
    noun = next(nouns, "")
    if noun in ("memory", "host") and says("unified", sentence.text):
        return "" if "cpu" in clause.lower() else "unified"
    if noun not in ("", "host"):
        return {"disk": "", "unified": "unified"}.get(noun, "vram")
    near = " ".join(sentence.surroundings[:3])
    slugs = [item.slug or "" for item in quant_mentions(sentence.text)]
    has_precision = any(not slug.startswith(_FILE_QUANTS) for slug in slugs)
    is_under_need = says("need_heads", near) and not says("disk", near)
    if is_under_need and (has_precision or names_in(sentence.text)):
        return "vram"
    if has_precision and not noun and says("need", clause):
        return "vram"
    names_gpu = _GENERIC.search(f"{near} {sentence.text}" if is_under_need else clause)
    is_device = names_gpu or says("vram", near) or amount.count
    return "vram" if is_device and not noun else ""
