"""What a sentence of a model card says about memory and GPUs. Pure.

A claim counts as a requirement when its clause, or what leads to it, says that running the model
needs or fits what is named, and nothing nearer says that it is about training, a measurement, the
computer's own memory or a disk. docs/model_cards.md has the rules in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from gpusizer.hub.card_statements import Bound, Kind, ModelCardStatement
from scrapers.readme import words as cues
from scrapers.readme.claims import Claim, Sentence, amounts_in, claims_in, gpus_in, sentences_of
from scrapers.readme.context import tokens_in
from scrapers.readme.quants import names_in, quant_mentions
from scrapers.readme.text import Block

_MOST_PLAIN_GPUS = 64
"""More GPUs than any model is served on; whoever names more has trained on them."""
_DGX_GPUS = 8
Item = TypeVar("Item")

_IN_BRACKETS = re.compile(r"s?\s?(?:GPUs?|cards?|of \w+|VRAM|显存)?\s?\((?:in |with )?")
"""From a claim to its precision behind it: "2 x H100 (FP8)"."""
_DURATION = re.compile(
    r"(?<![A-Za-z\d])\d+(?:[.,]\d+)?\s?(?:s|ms|sec|min|h|hr|秒|分钟|小时)(?![A-Za-z])"
)
_TRAINING_ITSELF = re.compile(
    r"fine-?\s?tuning|training|微调|训练|treinamento|ajuste", re.IGNORECASE
)
"""Words that a text about running what was trained does not have: "the fine-tuned model"."""
_RELATIVE = re.compile(r"(?:which|that|whose|que)\b", re.IGNORECASE)
_NO_SUBJECT = re.compile(r"\W*(?:only\s)?(?:requires?|needs?|takes?|uses?)\b", re.IGNORECASE)


def prose_statements(block: Block) -> Iterator[ModelCardStatement]:
    """The requirements that a paragraph or an item states."""
    for sentence in sentences_of(block):
        for claim in claims_in(sentence):
            if _is_requirement(claim, sentence, block):
                yield statement_of(claim, sentence, block)


def _is_requirement(claim: Claim, sentence: Sentence, block: Block) -> bool:
    """Whether a claim is about running this model, and its text or what leads to it is of need."""
    if (claim.count or 0) > _MOST_PLAIN_GPUS or cues.PERSONAL.is_in(sentence.text):
        return False
    index = sentence.clause_of(claim.start)
    clause = sentence.clause(index)
    whole_clause = (
        sentence.clause(max(index - 1, 0)) + clause if _RELATIVE.match(clause) else clause
    )
    if cues.OTHERS.is_in(whole_clause) or _is_about_add_on(sentence, block, clause):
        return False
    is_loose, has_need = claim.gpu is not None and claim.count is None, cues.NEED.is_in(clause)
    near = sentence.text if is_loose and not has_need else clause
    if cues.SAVING.is_in(near) and (is_loose or not has_need):
        return False
    purpose = purpose_of(sentence, index, block)
    if purpose in ("training", "benchmark"):
        return False
    return _says_need(claim, sentence, is_inference=purpose == "inference")


def _is_about_add_on(sentence: Sentence, block: Block, clause: str) -> bool:
    """Whether the amount is what an adapter adds to the model's own."""
    if cues.ADD_ON.is_in(clause):
        return True
    above = (block.item_before, block.introduction.rpartition("\n")[2])
    return _NO_SUBJECT.match(sentence.text) is not None and any(map(cues.ADD_ON.is_in, above))


def purpose_of(sentence: Sentence, index: int, block: Block) -> str:
    """What a clause is about: "training", "benchmark", "inference" or "" where nothing says it.

    The clause itself says it, else those before it from near to far, those behind it, then the
    other items of the list, the sentence before, what introduces the block, and the headings from
    near to far; of these a measurement says nothing about a sentence that speaks of a need.
    """
    order = [*range(index, -1, -1), *range(index + 1, len(sentence.clauses))]
    has_own_need = cues.NEED.is_in(sentence.clause(index))
    for position in order:
        purpose = purpose_in(sentence.clause(position))
        if purpose and not (purpose == "benchmark" and position != index and has_own_need):
            return purpose
    if cues.RUNNING.is_in(sentence.text):
        return "inference"
    if cues.TRAINING.is_in(block.neighbours) and not cues.INFERENCE.is_in(block.neighbours):
        return "training"
    purposes = map(purpose_in, sentence.surroundings)
    return next((purpose for purpose in purposes if purpose not in ("", "benchmark")), "")


def purpose_in(text: str) -> str:
    """What a text says it is about, "" where it says nothing of it."""
    infers = cues.INFERENCE.is_in(text)
    if cues.TRAINING.is_in(text) and (_TRAINING_ITSELF.search(text) or not infers):
        return "training"
    if cues.BENCHMARK.is_in(text):
        return "benchmark"
    return "inference" if infers else ""


def _says_need(claim: Claim, sentence: Sentence, *, is_inference: bool) -> bool:
    """Whether the sentence, its label or what leads to it speaks of a need.

    An amount of a device's memory is one whatever the verb. A GPU is one by a word of need in its
    clause, one before it or one that names no hardware. Unless the sentence tells a time, both are
    one beside a precision or a context, and so are several GPUs in a text about inference.
    """
    text, own = sentence.text, sentence.clause_of(claim.start)
    is_amount = claim.gpu is None and (claim.gb or claim.gb_per_gpu or claim.unified_gb)
    if is_amount and any(cue.is_in(text) for cue in (cues.VRAM, cues.NEED, cues.AMOUNT_NEED)):
        return True
    if not (is_amount or claim.gpu) and (claim.count or 0) < 2:
        return False
    for index, clause in enumerate(map(sentence.clause, range(len(sentence.clauses)))):
        if cues.NEED.is_in(clause) and (index <= own or not _hardware_in(clause)):
            return True
    if not (is_amount or claim.gpu):
        return False
    if (is_amount or claim.count) and not _DURATION.search(text):
        is_several = (claim.count or 0) > 1 or bool(claim.gpu and claim.gb_per_gpu)
        is_served = is_inference and is_several
        if is_served or tokens_in(text) or quant_mentions(text) or (is_amount and names_in(text)):
            return True
    label = text.partition(":")[0] if ":" in text else ""
    return cues.MEMORY.is_in(label) or any(map(cues.NEED_HEADS.is_in, sentence.surroundings[1:3]))


def _hardware_in(text: str) -> bool:
    return bool(amounts_in(text)) or any(gpu.gpu or gpu.count for gpu in gpus_in(text))


def statement_of(claim: Claim, sentence: Sentence, block: Block) -> ModelCardStatement:
    """The statement of a claim, with the model, quantization and context that it is tied to."""
    index = sentence.clause_of(claim.start)
    bound = bound_of(sentence.clause(index), sentence.text)
    names = names_in(sentence.text)
    quant, bits = quant_of(claim, sentence)
    count, gpu = claim.count, claim.gpu
    if claim.is_machine and (count or 1) < _DGX_GPUS:
        count = _DGX_GPUS * (count or 1) if "dgx" in sentence.text.lower() else None
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
        is_quantized=cues.QUANTIZED.is_in(sentence.text),
        with_offload=cues.OFFLOAD.is_in(sentence.text),
        context=_context_of(claim, sentence),
        engine=engine_in(" ".join((sentence.text, *block.headings[-1:]))),
    )


def kind_of(gpu: str | None, bound: Bound) -> Kind:
    """The kind of a requirement."""
    if gpu is not None:
        return "gpus"
    return "recommended_vram" if bound == "recommended" else "min_vram"


def bound_of(clause: str, sentence: str = "") -> Bound:
    """How firm a requirement is, by its own clause first."""
    for text in (clause, sentence):
        if cues.RECOMMENDED.is_in(text):
            return "recommended"
        if cues.APPROXIMATE.is_in(text):
            return "approximate"
        if cues.MINIMUM.is_in(text):
            return "minimum"
    return "sufficient"


def quant_of(claim: Claim, sentence: Sentence) -> tuple[str | None, float | None]:
    """The quantization or the bits nearest to a claim, in its own clause if there is one."""
    mentions = quant_mentions(sentence.text)
    earlier = sentence.surroundings[0]
    if not mentions and not (amounts_in(earlier) or gpus_in(earlier)):
        mentions = [replace(item, start=-1) for item in quant_mentions(earlier)]
    placed = [(item.start, item) for item in mentions]
    behind = [
        pair
        for pair in placed
        if _IN_BRACKETS.fullmatch(sentence.text[claim.end : max(pair[0], 0)])
    ]
    inside = behind or _in_clause(claim, sentence, placed)
    named = _nearest(claim, [pair for pair in inside if pair[1].slug])
    sized = _nearest(claim, [pair for pair in inside if pair[1].bits])
    if named is None and sized is None:
        named = sized = _nearest(claim, placed)
    return named.slug if named else None, sized.bits if sized else None


def _in_clause(
    claim: Claim, sentence: Sentence, items: Sequence[tuple[int, Item]]
) -> list[tuple[int, Item]]:
    """Those of some items, by their positions, that stand in a claim's clause."""
    start, end = sentence.clauses[sentence.clause_of(claim.start)]
    return [pair for pair in items if start <= pair[0] < end]


def _nearest(claim: Claim, items: Sequence[tuple[int, Item]]) -> Item | None:
    """The last of what stands before a claim, else the first behind it."""
    before = [item for start, item in items if start < claim.start]
    after = [item for start, item in items if start >= claim.end]
    return next(iter((*before[-1:], *after[:1])), None)


def _context_of(claim: Claim, sentence: Sentence) -> int | None:
    """Tokens that a requirement is tied to, said in its clause, in the sentence or just above."""
    clause = sentence.clause(sentence.clause_of(claim.start))
    for text in (clause, sentence.text, *sentence.surroundings[:2]):
        lengths = tokens_in(text)
        if lengths:
            return lengths[0].tokens
    return None


def engine_in(text: str) -> str | None:
    """The engine that a text names first."""
    small = text.lower()
    named = [(small.index(word), slug) for word, slug in cues.ENGINES.items() if word in small]
    return min(named)[1] if named else None
