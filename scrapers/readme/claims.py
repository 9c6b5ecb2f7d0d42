"""GPUs and amounts of memory that a sentence of a model card names, as claims. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scrapers.readme import words as cues
from scrapers.readme.quants import quant_mentions
from scrapers.readme.text import Block
from scrapers.readme.words import GPU_NAMES, NUMBERS

_MOST_GPUS = 100_000
_MOST_GB = 1e6

_GPU = re.compile(
    rf"(?:(?<![A-Za-z0-9.,])|(?<=\d[xX×]))(?P<name>{'|'.join(GPU_NAMES)})"
    r"(?:[- ]?(?:SXM\d?|PCI-?[eE]|NVL))?"
    r"(?:[- ]?\(?(?P<memory>\d{1,3}) ?[Gg](?:i?[Bb])?\)?)?s?(?![A-Za-z0-9])"
)
GENERIC = re.compile(
    r"(?<![A-Za-z])(?:GPUs?|(?:graphics |video |(?<!model )(?<!data ))cards?|accelerators?"
    r"|placas?(?: de vídeo)?)(?![A-Za-z]|\s(?:memory|mem|V?RAM)\b)"
    r"|显卡|加速卡|(?<=[张块])卡|(?<=单)卡",
    re.IGNORECASE,
)
"""A GPU without a name; a model's card is none."""
_VENDOR = r"(?:NVIDIA|AMD|Intel|Apple|Tesla|GeForce|consumer|multi-?|high-end|modern|datacenter|-)"
_NUMBER = "|".join(sorted(map(re.escape, NUMBERS), key=len, reverse=True))
_COUNT_BEFORE = re.compile(
    rf"(?:(?<![\w.,-])|(?<=[\u4e00-\u9fff(~≥>=]))(?P<count>\d{{1,6}}|{_NUMBER})"
    rf"\s?(?:[x×*]|张|块|卡|台|个|片)?\s*(?:{_VENDOR}\s*)*$",
    re.IGNORECASE,
)
_COUNT_AFTER = re.compile(
    r"\s?(?:GPUs?\s?)?(?:\(?\s?[x×*]\s?(?P<count>\d{1,4})(?![\d.,]|\s?GB)"
    r"|(?P<pieces>\d{1,3})\s?[张块卡])",
    re.IGNORECASE,
)
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


@dataclass(frozen=True, slots=True)
class MemoryAmount:
    """Memory, with the number of parts that are as large ("4 x 80GB", "48G x2"), 0 for none."""

    start: int
    end: int
    gb: float
    high_gb: float | None = None
    count: int = 0


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
    for match in GENERIC.finditer(text):
        if not any(end <= match.start() <= end + 1 for _, end in named_spans):
            mentions.append(_mention(text, match, None, None))
    return sorted(mentions, key=lambda item: item.start)


def _mention(text: str, match: re.Match[str], name: str | None, memory_gb: float | None) -> Claim:
    """A GPU with its count, which stands before it or behind it."""
    offset = max(match.start() - 40, 0)
    head = _AMOUNT_AT_END.sub("", text[offset : match.start()])
    before, after = _COUNT_BEFORE.search(head), _COUNT_AFTER.match(text, match.end())
    stated = before or after
    number = next(filter(None, stated.groups())) if stated is not None else ""
    count = NUMBERS.get(number.lower()) or (int(number) if number else None)
    usable = count if count is not None and 0 < count <= _MOST_GPUS else None
    end = after.end() if after and not before else match.end()
    start = offset + before.start() if before else match.start()
    machine = _MACHINE.match(text, match.end())
    return Claim(
        start, end, gb_per_gpu=memory_gb, gpu=name, count=usable, is_machine=machine is not None
    )


_AMOUNT_AT_END = re.compile(
    r"\d{1,4}(?:[.,]\d)?[ -]?G(?:i?B)?(?:\s(?:of )?VRAM)?\+?\s?的?\s?$", re.IGNORECASE
)
_MACHINE = re.compile(
    r"\s(?:DGX\s?)?(?:host|node|server|machine|system|DGX)s?(?![A-Za-z])", re.IGNORECASE
)


_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|[。！？\n]")
_CLAUSE_END = re.compile(
    r"[,，;()—–]\s|\s[—–-]\s|[(),，、](?!\d)|而|但"
    r"|\s(?:and|but|while|whereas|although|e|mas|enquanto)\s"
)
_MOST_SENTENCES = 60
_MOST_CLAIMS = 8
_MOST_NAMED = 16
"""Amounts in a sentence, and GPUs, of which claims are made."""
_NOUN_CHARS = 24
"""Behind an amount, in which stands what it is an amount of."""
_EXAMPLE_CHARS = 60
"""Between GPUs in general and those that are named as examples."""
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
_EXAMPLES = re.compile(r"\b(?:like|such as|e\.g\.|for example|i\.e\.|como)\b|例如|如", re.I)
_DIFFERENCE = re.compile(
    r"\b(?:by|from|another|additional|extra)\s?(?:about|~|up to)?\s?$", re.IGNORECASE
)
_NOUNS = (
    ("unified", cues.UNIFIED_MEMORY),
    ("vram", cues.VRAM),
    ("host", cues.HOST_MEMORY),
    ("disk", cues.DISK),
    ("memory", cues.MEMORY),
    ("unified", cues.UNIFIED),
)
"""Words for what an amount measures; the first kind counts that a text has."""
_FILE_QUANTS = ("q", "iq", "tq")
"""Beginnings of llama.cpp's quantizations, which run in a computer's own memory too."""
_SHARING = re.compile(r"Apple|M\d ", re.IGNORECASE)
"""Beginnings of chips whose memory is the computer's."""
_SAME = re.compile(r"\s?\(?\s?(?:NVIDIA|AMD|Tesla)?\s?", re.IGNORECASE)
_OR = re.compile(
    r"\s?(?:/|or|ou|或|或者)\s?(?:an?\s|one\s|um\s)?(?:NVIDIA\s|AMD\s)?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, its clauses as spans, and what leads to it, the nearest first."""

    text: str
    clauses: tuple[tuple[int, int], ...]
    surroundings: tuple[str, ...]

    def clause_of(self, position: int) -> int:
        """Index of the clause at a position."""
        for index, (_, end) in enumerate(self.clauses):
            if position < end:
                return index
        return len(self.clauses) - 1

    def clause(self, index: int) -> str:
        start, end = self.clauses[index]
        return self.text[start:end]


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _CLAUSE_END.finditer(text):
        yield start, match.end()
        start = match.end()
    yield start, len(text) + 1


def sentences_of(block: Block) -> Iterator[Sentence]:
    """The sentences of a block, with what stands around it; a question introduces its answers."""
    introduction, earlier = block.introduction, ""
    for text in _SENTENCE_END.split(_paired(block.text))[:_MOST_SENTENCES]:
        if text.strip():
            surroundings = (earlier, introduction, *reversed(block.headings))
            yield Sentence(text, tuple(_clauses(text)), surroundings)
            earlier = text
            if text.rstrip().endswith("?"):
                introduction = text


def _paired(text: str) -> str:
    """A line of several labels and as many values with each label beside its value.

    >>> _paired("GPU / VRAM: RTX 3090 / 24 GB")
    'GPU: RTX 3090, VRAM: 24 GB'
    """
    labels, _, values = (part.split(" / ") for part in text.partition(": "))
    if len(labels) < 2 or len(labels) != len(values):
        return text
    return ", ".join(map(": ".join, zip(labels, values, strict=True)))


def claims_in(sentence: Sentence) -> list[Claim]:
    """GPUs and amounts of memory in a sentence, each amount with the GPU that it belongs to."""
    text = sentence.text
    amounts, mentions = amounts_in(text)[:_MOST_NAMED], gpus_in(text)[:_MOST_NAMED]
    used: set[int] = set()
    claims: list[Claim] = []
    for mention in mentions:
        memory = _memory_of(mention, amounts, text)
        if memory is not None:
            used.add(memory.start)
        claim = mention if memory is None else _gpu_claim(mention, memory)
        if claim.gpu is None and claims and claim.start < claims[-1].end:
            continue  # the word "GPU" behind a name that was counted with it
        joined = _with_example(claims[-1], claim, text) if claims else None
        if joined is not None:
            claims[-1] = joined
        elif claim.gpu or claim.count or claim.gb_per_gpu:
            claims.append(claim)
    free = [amount for amount in amounts if amount.start not in used]
    memory_claims = [item for amount in free if (item := _memory_claim(amount, sentence))]
    return sorted(_joined(claims, memory_claims), key=lambda item: item.start)[:_MOST_CLAIMS]


def _memory_of(mention: Claim, amounts: Sequence[MemoryAmount], text: str) -> MemoryAmount | None:
    """The memory of one such GPU: "80GB GPU", "GPUs with 80GB", "A100 (80 GB)", "80G A100"."""
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


def _gpu_claim(mention: Claim, memory: MemoryAmount) -> Claim:
    start, end = min(mention.start, memory.start), max(mention.end, memory.end)
    count = mention.count or memory.count or None
    shared = memory.gb if _SHARING.match(mention.gpu or "") else None
    own = None if shared else memory.gb
    return replace(mention, start=start, end=end, gb_per_gpu=own, unified_gb=shared, count=count)


def _with_example(claim: Claim, example: Claim, text: str) -> Claim | None:
    """A claim with the GPU behind it, which is its example or alternative; None where it is not."""
    between = text[claim.end : example.start]
    if example.gpu is None:
        return None
    if claim.gpu is None:
        is_example = len(between) < _EXAMPLE_CHARS and _EXAMPLES.search(between)
        is_same = example.count in (None, claim.count) and _SAME.fullmatch(between)
        joined = replace(claim, gpu=example.gpu) if is_example or is_same else None
    else:
        is_other = example.count is None and _OR.fullmatch(between)
        joined = replace(claim, others=(*claim.others, example.gpu)) if is_other else None
    return joined and replace(
        joined, gb_per_gpu=claim.gb_per_gpu or example.gb_per_gpu, end=example.end
    )


def _memory_claim(amount: MemoryAmount, sentence: Sentence) -> Claim | None:
    """An amount that is no GPU's own; None for a disk's or the computer's memory."""
    kind = memory_kind(amount, sentence)
    place = Claim(amount.start, amount.end)
    if kind == "unified":
        return replace(place, unified_gb=amount.gb)
    if kind != "vram":
        return None
    if amount.count:
        return replace(place, gb_per_gpu=amount.gb, count=amount.count)
    return replace(place, gb=amount.gb, high_gb=amount.high_gb)


def memory_kind(amount: MemoryAmount, sentence: Sentence) -> str:
    """What an amount measures: "vram", "unified", or "" for anything else.

    The words behind it in its clause say it, else those before it, the rest of the sentence, a GPU
    in its clause, or what leads to it, where only memory of GPUs counts. Under words of need, "RAM"
    or no word at all beside a precision is a GPU's too.
    """
    start, end = sentence.clauses[sentence.clause_of(amount.start)]
    before = sentence.text[start : amount.start]
    places = (sentence.text[amount.end : min(end, amount.end + _NOUN_CHARS)], before, sentence.text)
    noun = next((noun for place in places for noun, cue in _NOUNS if cue.is_in(place)), "")
    if noun == "disk" or (noun in ("vram", "memory") and _DIFFERENCE.search(before)):
        return ""
    if noun in ("memory", "host") and cues.UNIFIED.is_in(sentence.text):
        return "" if "cpu" in sentence.text[start:end].lower() else "unified"
    if noun in ("", "host"):
        return "vram" if _is_device_memory(amount, sentence, noun) else ""
    return "unified" if noun == "unified" else "vram"


def _is_device_memory(amount: MemoryAmount, sentence: Sentence, noun: str) -> bool:
    """Whether what leads to an amount makes it a GPU's, which its own sentence does not."""
    near = " ".join(sentence.surroundings[:3])
    has_precision = any(
        not (item.slug or "").startswith(_FILE_QUANTS) for item in quant_mentions(sentence.text)
    )
    is_need = cues.NEED_HEADS.is_in(near) and not cues.DISK.is_in(near)
    clause = sentence.clause(sentence.clause_of(amount.start))
    if is_need and has_precision and "cpu" not in sentence.text.lower():
        return True
    if noun or cues.HOST_MEMORY.is_in(near):
        return False
    if has_precision and cues.NEED.is_in(clause):
        return True
    text = f"{near} {sentence.text}" if is_need else sentence.text if has_precision else clause
    names_gpu = GENERIC.search(text)
    return bool(names_gpu or cues.VRAM.is_in(near) or amount.count)


def _joined(gpus: list[Claim], amounts: list[Claim]) -> list[Claim]:
    """Both kinds of claims; a lone count of GPUs goes to a lone amount ("60 GB on one GPU") or to a
    lone name ("on L40S it takes 4 GPUs").
    """
    bare = [claim for claim in gpus if claim.gpu is None and claim.gb_per_gpu is None]
    if len(amounts) == 1 and len(bare) == 1 and len(gpus) == 1:
        return [replace(amounts[0], count=bare[0].count)]
    named = [claim for claim in gpus if claim.gpu and claim.count is None]
    if len(gpus) == 2 and len(bare) == len(named) == 1:
        gpus = [replace(named[0], count=bare[0].count)]
    return [*gpus, *amounts]
