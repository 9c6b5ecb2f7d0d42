"""Requirements of memory and GPUs in a sentence of a model card. Pure.

A claim counts as a requirement if its clause, or the text that leads to it, says that running the
model needs or fits it, and nothing nearer is about training, a measurement, the computer's own
memory or a disk. docs/model_cards.md has the rules in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TypeVar

from gpusizer.hub.card_statements import Bound, Kind, ModelCardStatement
from scrapers.readme.claims import Claim, Sentence, amounts_in, claims_in, gpus_in, sentences_of
from scrapers.readme.context import tokens_in
from scrapers.readme.quants import names_in, quant_mentions
from scrapers.readme.text import Block
from scrapers.readme.words import ENGINES, says

# More GPUs than any model is served on: they have trained it.
_MOST_PLAIN_GPUS = 64
Item = TypeVar("Item")

_DURATION = re.compile(
    r"(?<![A-Za-z\d])\d+(?:[.,]\d+)?\s?(?:s|ms|sec|min|h|hr|秒|分钟|小时)(?![A-Za-z])"
)
_NO_SUBJECT = re.compile(r"\W*(?:only\s)?(?:requires?|needs?|takes?|uses?)\b", re.IGNORECASE)


def prose_statements(block: Block) -> Iterator[ModelCardStatement]:
    """Yield the requirements that a paragraph or an item states."""
    for sentence in sentences_of(block):
        for claim in claims_in(sentence):
            if _is_requirement(claim, sentence, block):
                yield statement_of(claim, sentence, block)


def _is_requirement(claim: Claim, sentence: Sentence, block: Block) -> bool:
    # The claim is about running this model, and its text or the text that leads to it about a need.
    if (claim.count or 0) > _MOST_PLAIN_GPUS or says("personal", sentence.text):
        return False
    index = sentence.clause_of(claim.start)
    clause = sentence.clause(index)
    if says("others", clause) or _is_about_add_on(sentence, block, clause):
        return False
    if says("saving", clause) and (not says("need", clause) or _is_loose(claim)):
        return False
    purpose = purpose_of(sentence, index)
    if purpose in ("training", "benchmark"):
        return False
    return _says_need(claim, sentence, is_inference=purpose == "inference")


def _is_loose(claim: Claim) -> bool:
    return claim.gpu is not None and claim.count is None


def _is_about_add_on(sentence: Sentence, block: Block, clause: str) -> bool:
    # The amount is an adapter's addition to the model's own.
    is_told_above = _NO_SUBJECT.match(sentence.text) and says("add_on", block.item_before)
    return bool(is_told_above) or says("add_on", clause)


def purpose_of(sentence: Sentence, index: int) -> str:
    """Return the subject of a clause: "training", "benchmark", "inference" or "" if unknown."""
    # The clause itself decides, else those before it from near to far, those after it, then the
    # sentence before, the introduction of the block, and the headings from near to far. A
    # measurement among these does not count for a sentence with a need.
    has_own_need = says("need", sentence.clause(index))
    for position in (*range(index, -1, -1), *range(index + 1, len(sentence.clauses))):
        purpose = purpose_in(sentence.clause(position))
        if purpose and not (purpose == "benchmark" and position != index and has_own_need):
            return purpose
    purposes = map(purpose_in, sentence.surroundings)
    return next((purpose for purpose in purposes if purpose not in ("", "benchmark")), "")


def purpose_in(text: str) -> str:
    """Return the subject of a text, "" if unknown."""
    if says("training", text):
        return "training"
    if says("benchmark", text):
        return "benchmark"
    return "inference" if says("inference", text) else ""


def _says_need(claim: Claim, sentence: Sentence, *, is_inference: bool) -> bool:
    # An amount of a device's memory is a need whatever the verb. A GPU is one by a word of need in
    # its clause, one before it or one that names no hardware. Unless the sentence has a duration,
    # both are one next to a precision or a context, and so are several GPUs in a text about
    # inference.
    text, own = sentence.text, sentence.clause_of(claim.start)
    is_amount = claim.gpu is None and bool(claim.gb or claim.gb_per_gpu or claim.unified_gb)
    if is_amount and any(says(cue, text) for cue in ("vram", "need", "amount_need")):
        return True
    if not (is_amount or claim.gpu) and (claim.count or 0) < 2:
        return False
    for index, clause in enumerate(map(sentence.clause, range(len(sentence.clauses)))):
        if says("need", clause) and (index <= own or not (amounts_in(clause) or gpus_in(clause))):
            return True
    if not _is_loose(claim) and not _DURATION.search(text):
        is_several = (claim.count or 0) > 1 or bool(claim.gpu and claim.gb_per_gpu)
        is_served = is_inference and is_several
        if is_served or tokens_in(text) or quant_mentions(text) or (is_amount and names_in(text)):
            return True
    return any(says("need_heads", text) for text in sentence.surroundings[1:3])


def statement_of(claim: Claim, sentence: Sentence, block: Block) -> ModelCardStatement:
    """Return the statement of a claim, with its model, quantization and context."""
    index = sentence.clause_of(claim.start)
    bound = bound_of(sentence.clause(index), sentence.text)
    names = names_in(sentence.text)
    quant, bits = quant_of(claim, sentence)
    count, gpu = claim.count, claim.gpu
    total = claim.gb
    if claim.gb_per_gpu is not None and gpu is None:
        total = round(claim.gb_per_gpu * (count or 1), 3)
    return ModelCardStatement(
        kind_of(gpu, bound),
        block.line,
        block.last_line,
        sentence.text,
        is_requirement=True,
        bound=bound,
        model=_nearest(claim, _in_clause(claim, sentence, names) or names),
        vram_gb=total,
        vram_gb_high=claim.high_gb,
        vram_gb_per_gpu=claim.gb_per_gpu,
        unified_memory_gb=claim.unified_gb,
        gpu=gpu,
        gpus=(gpu, *claim.others) if gpu and claim.others else (),
        count=count,
        quant=quant,
        bits=bits,
        is_quantized=says("quantized", sentence.text),
        with_offload=says("offload", sentence.text),
        context=_context_of(claim, sentence),
        engine=engine_in(" ".join((sentence.text, *block.headings[-1:]))),
    )


def kind_of(gpu: str | None, bound: Bound) -> Kind:
    """Return the kind of a requirement."""
    if gpu is not None:
        return "gpus"
    return "recommended_vram" if bound == "recommended" else "min_vram"


def bound_of(clause: str, sentence: str = "") -> Bound:
    """Return how firm a requirement is, by its own clause first."""
    for text in (clause, sentence):
        if says("recommended", text):
            return "recommended"
        if says("approximate", text):
            return "approximate"
        if says("minimum", text):
            return "minimum"
    return "sufficient"


def quant_of(claim: Claim, sentence: Sentence) -> tuple[str | None, float | None]:
    """Return the quantization and the bits nearest to a claim, preferably in its clause."""
    mentions = [(item.start, item) for item in quant_mentions(sentence.text)]
    near = _in_clause(claim, sentence, mentions) or mentions
    named = _nearest(claim, [pair for pair in near if pair[1].slug])
    sized = _nearest(claim, [pair for pair in near if pair[1].bits])
    return named.slug if named else None, sized.bits if sized else None


def _in_clause(
    claim: Claim, sentence: Sentence, items: Sequence[tuple[int, Item]]
) -> list[tuple[int, Item]]:
    start, end = sentence.clauses[sentence.clause_of(claim.start)]
    return [pair for pair in items if start <= pair[0] < end]


def _nearest(claim: Claim, items: Sequence[tuple[int, Item]]) -> Item | None:
    # The last item before a claim, else the first after it.
    before = [item for start, item in items if start < claim.start]
    after = [item for start, item in items if start >= claim.end]
    return next(iter((*before[-1:], *after[:1])), None)


def _context_of(claim: Claim, sentence: Sentence) -> int | None:
    # Tokens in the clause, in the sentence or just above.
    clause = sentence.clause(sentence.clause_of(claim.start))
    for text in (clause, sentence.text, *sentence.surroundings[:2]):
        lengths = tokens_in(text)
        if lengths:
            return lengths[0].tokens
    return None


def engine_in(text: str) -> str | None:
    """Return the engine that a text names first."""
    small = text.lower()
    named = [(small.index(word), slug) for word, slug in ENGINES.items() if word in small]
    return min(named)[1] if named else None
