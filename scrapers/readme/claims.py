"""GPUs and amounts of memory that a sentence of a model card names, as claims. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from scrapers.readme import words as cues
from scrapers.readme.hardware import Claim, MemoryAmount, amounts_in, gpus_in
from scrapers.readme.text import Block

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])|[。！？；\n]|;\s")
_CLAUSE_END = re.compile(
    r"[,，()—–]\s|\s[—–-]\s|[(),，、](?!\d)|而|但"
    r"|\s(?:and|but|while|whereas|although|e|mas|enquanto)\s"
)
_MOST_SENTENCES = 60
_MOST_CLAIMS = 8
_NOUN_CHARS = 24
"""Behind an amount, in which stands what it is an amount of."""
_EXAMPLE_CHARS = 60
"""Between GPUs in general and those that are named as examples."""
_MEMORY_BEFORE = re.compile(
    r"\+?[ -]?(?:of )?(?:VRAM |memory )?(?:NVIDIA |AMD )?"
    r"(?:GPUs?|cards?|graphics cards?|显卡|卡)",
    re.IGNORECASE,
)
_MEMORY_BEHIND = re.compile(
    r"s?(?: chip| card)?\s?[,(]?\s?(?:each\s)?"
    r"(?:with|of|having|has|having at least|com|de|具有|配备)?\s?"
    r"(?:at least|atleast|a minimum of|pelo menos|至少|over|≥|>=)?\s?(?:about|~)?\s?$",
    re.IGNORECASE,
)
_EXAMPLES = re.compile(r"\b(?:like|such as|e\.g\.|for example|i\.e\.|como)\b|例如|如", re.I)
_DIFFERENCE = re.compile(
    r"\b(?:by|from|de|another|additional|extra)\s?(?:about|~|up to)?\s?$", re.IGNORECASE
)
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
    """The sentences of a block, with what stands around it."""
    surroundings = (block.introduction, *reversed(block.headings))
    earlier = ""
    for text in _SENTENCE_END.split(block.text)[:_MOST_SENTENCES]:
        if text.strip():
            yield Sentence(text, tuple(_clauses(text)), (earlier, *surroundings))
            earlier = text


def claims_in(sentence: Sentence) -> list[Claim]:
    """GPUs and amounts of memory in a sentence, each amount with the GPU that it belongs to."""
    text = sentence.text
    amounts, mentions = amounts_in(text), gpus_in(text)
    used: set[int] = set()
    claims: list[Claim] = []
    for mention in mentions:
        memory = _memory_of(mention, amounts, text)
        if memory is not None:
            used.add(memory.start)
        claim = _gpu_claim(mention, memory)
        if claim.gpu is None and claims and claim.start < claims[-1].end:
            continue  # the word "GPU" behind a name that was counted with it
        if _joins_examples(claims, claim, text):
            claims[-1] = _with_example(claims[-1], claim)
        elif claim.gpu or claim.count or claim.gb_per_gpu:
            claims.append(claim)
    free = [amount for amount in amounts if amount.start not in used]
    memory_claims = [item for amount in free if (item := _memory_claim(amount, sentence))]
    return sorted(_joined(claims, memory_claims), key=lambda item: item.start)[:_MOST_CLAIMS]


def _memory_of(mention: Claim, amounts: Sequence[MemoryAmount], text: str) -> MemoryAmount | None:
    """The memory of one such GPU: "80GB GPU", "GPUs with 80GB", "A100 (80 GB)"."""
    for amount in amounts:
        between = text[amount.end : mention.end]
        if mention.start <= amount.start < mention.end and amount.end <= mention.end:
            return amount
        if amount.end <= mention.end and _MEMORY_BEFORE.fullmatch(between):
            return amount
        if amount.start >= mention.end and _MEMORY_BEHIND.fullmatch(
            text[mention.end : amount.start]
        ):
            return amount
    return None


def _gpu_claim(mention: Claim, memory: MemoryAmount | None) -> Claim:
    if memory is None:
        return mention
    start, end = min(mention.start, memory.start), max(mention.end, memory.end)
    count = mention.count or memory.count
    return replace(mention, start=start, end=end, gb_per_gpu=memory.gb, count=count)


def _joins_examples(claims: Sequence[Claim], claim: Claim, text: str) -> bool:
    """Whether a GPU is an example or an alternative of the one before it."""
    if not claims or claim.gpu is None:
        return False
    between = text[claims[-1].end : claim.start]
    if claims[-1].gpu is None:
        is_example = len(between) < _EXAMPLE_CHARS and _EXAMPLES.search(between) is not None
        is_same = claim.count in (None, claims[-1].count)
        return is_example or (is_same and _SAME.fullmatch(between) is not None)
    return claim.count is None and _OR.fullmatch(between) is not None


def _with_example(claim: Claim, example: Claim) -> Claim:
    named = claim.gpu or example.gpu
    others = (*claim.others, *([example.gpu] if claim.gpu and example.gpu else []))
    memory = claim.gb_per_gpu or example.gb_per_gpu
    return replace(claim, gpu=named, others=others, gb_per_gpu=memory, end=example.end)


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
    """What an amount measures: "vram", "unified", or "" for anything else."""
    text = sentence.text
    index = sentence.clause_of(amount.start)
    clause = sentence.clause(index)
    behind = text[amount.end : min(sentence.clauses[index][1], amount.end + _NOUN_CHARS)]
    before = text[sentence.clauses[index][0] : amount.start]
    noun = _first_noun(behind)
    if noun == "vram" or (not noun and cues.VRAM.is_in(before)):
        return "" if _DIFFERENCE.search(before) else "vram"
    if cues.UNIFIED.is_in(behind):
        return "unified"
    if noun == "host" or (not noun and cues.HOST_MEMORY.is_in(before)):
        is_unified = cues.UNIFIED.is_in(text) and not re.search("cpu", clause, re.IGNORECASE)
        return "unified" if is_unified else ""
    if noun == "disk" or cues.DISK.is_in(clause):
        return ""
    if noun == "memory":
        return "" if cues.HOST_MEMORY.is_in(before) else "vram"
    if cues.VRAM.is_in(text):
        return "vram"
    if cues.HOST_MEMORY.is_in(text) or cues.DISK.is_in(text):
        return ""
    near = " ".join(sentence.surroundings[:2])
    if cues.MEMORY.is_in(text) or (amount.count and "gpu" in text.lower()):
        return "vram"
    return "vram" if cues.VRAM.is_in(near) and not cues.HOST_MEMORY.is_in(near) else ""


def _first_noun(behind: str) -> str:
    """What the words behind an amount call it."""
    nouns: list[tuple[int, int, str]] = []
    kinds = (
        ("vram", cues.VRAM),
        ("host", cues.HOST_MEMORY),
        ("memory", cues.MEMORY),
        ("disk", cues.DISK),
    )
    for order, (kind, cue) in enumerate(kinds):
        nouns += [(start, order, kind) for start, _ in cue.spans(behind)[:1]]
    return min(nouns)[2] if nouns else ""


def _joined(gpus: list[Claim], amounts: list[Claim]) -> list[Claim]:
    """Both kinds of claims; a lone count of GPUs goes to a lone amount ("60 GB on one GPU")."""
    bare = [claim for claim in gpus if claim.gpu is None and claim.gb_per_gpu is None]
    if len(amounts) == 1 and len(bare) == 1 and len(gpus) == 1:
        return [replace(amounts[0], count=bare[0].count)]
    return [*gpus, *amounts]
