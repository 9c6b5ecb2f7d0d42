"""Verdicts on the author's statements: each against the need of an equal request here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gpusizer.core.errors import GpusizerError, UnknownGpu
from gpusizer.core.messages import Note
from gpusizer.core.units import GB, GIB
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.hub.card_statements import ListedQuantization, ModelCardStatement
from gpusizer.memory.engines import ENGINES
from gpusizer.usecases.model_card.asking import Asked, Asking
from gpusizer.usecases.model_card.own_terms import is_about

MOST_ASKED = 12
_SAME_SIZE = 0.02  # sizes in tables are rounded to two or three digits
_SAME_CONTEXT = 0.05  # 128k is 128,000 or 131,072 tokens


class CardVerdict(StrEnum):
    """Result of comparing a statement with an estimate."""

    AGREES = "agrees"
    NEEDS_MORE = "needs_more"
    NEEDS_LESS = "needs_less"
    NOT_COMPARABLE = "not_comparable"


@dataclass(frozen=True, slots=True)
class JudgedStatement:
    """A statement with its verdict and the reason."""

    statement: ModelCardStatement
    verdict: CardVerdict
    reason: Note


def judge(statement: ModelCardStatement, asking: Asking) -> JudgedStatement:
    """Compare one statement; one that cannot be asked is not comparable, with the reason."""
    try:
        verdict, reason = _compared(statement, asking)
    except GpusizerError as error:
        verdict, reason = _not_comparable("card_not_answered", error=error.code)
    return JudgedStatement(statement, verdict, reason)


def judged_without_asking(statement: ModelCardStatement) -> JudgedStatement:
    """Return the verdict on a statement beyond the number that one answer asks."""
    return JudgedStatement(statement, *_not_comparable("card_not_asked", count=MOST_ASKED))


Outcome = tuple[CardVerdict, Note]


def _not_comparable(code: str, **fields: str | int | float) -> Outcome:
    return CardVerdict.NOT_COMPARABLE, Note(code, **fields)


def _compared(statement: ModelCardStatement, asking: Asking) -> Outcome:
    if not is_about(statement, asking.profile.repo_id):
        return _not_comparable("card_other_model", model=statement.model or "")
    if statement.kind == "context":
        return _context(statement, asking)
    if statement.listed is not None and statement.vram_gb is None:
        return _file(statement, statement.listed, asking)
    if statement.engine is not None and statement.engine not in ENGINES:
        return _not_comparable("card_other_engine", engine=statement.engine)
    if statement.with_offload:
        return _not_comparable("card_offload")
    asked = asking.ask(statement)
    if asked is None:
        return _not_comparable("card_quant_unsaid")
    longest = asked.workload.context
    if statement.context is not None and longest < (1 - _SAME_CONTEXT) * statement.context:
        return _not_comparable("card_context", tokens=statement.context, configured=longest)
    if statement.kind == "command":
        return _command(statement, asked)
    if statement.gpu is not None:
        return _gpus(statement, asked, asking)
    return _memory(statement, asked)


def _context(statement: ModelCardStatement, asking: Asking) -> Outcome:
    # A stated length against the configuration's; the configuration states no extension.
    configured = asking.profile.max_context
    if configured is None or statement.context is None:
        return _not_comparable("card_no_context")
    stated = [statement.context, *([statement.native_context] if statement.native_context else [])]
    if any(abs(tokens - configured) <= _SAME_CONTEXT * configured for tokens in stated):
        return CardVerdict.AGREES, Note("card_context_agrees", configured=configured)
    return _not_comparable("card_context", tokens=statement.context, configured=configured)


def _file(statement: ModelCardStatement, listed: ListedQuantization, asking: Asking) -> Outcome:
    # A file's size in a table against the file list's.
    slug = statement.quant
    sizes = [
        variant.size_bytes
        for variant in asking.profile.variants
        if statement.file in {file.path.rpartition("/")[2] for file in variant.files}
        or (statement.file is None and variant.slug == slug)
    ]
    size_bytes = next(iter(sizes), None)
    if size_bytes is None or listed.size_gb is None:
        return _not_comparable("card_no_file")
    reason = Note("card_file", file_bytes=size_bytes, stated=listed.size_gb)
    if any(
        abs(listed.size_gb * unit - size_bytes) <= _SAME_SIZE * size_bytes for unit in (GB, GIB)
    ):
        return CardVerdict.AGREES, reason
    is_larger = size_bytes > listed.size_gb * GIB
    return (CardVerdict.NEEDS_MORE if is_larger else CardVerdict.NEEDS_LESS), reason


def _command(statement: ModelCardStatement, asked: Asked) -> Outcome:
    # A number of GPUs without their name: the reason states the need of each.
    count = statement.count or 1
    estimate = asked.estimate(count)
    if estimate is None:
        return _not_comparable("card_no_split", count=count)
    need_bytes = estimate.per_gpu.total.likely
    context, quant = asked.workload.context, asked.quant.name
    return _not_comparable(
        "card_command", count=count, need_bytes=need_bytes, context=context, quant=quant
    )


def _memory(statement: ModelCardStatement, asked: Asked) -> Outcome:
    # An amount of memory against the band of all GPUs together. Cards come in sizes, and a
    # recommended or sufficient amount may exceed the need: such amounts agree up to twice the need.
    # Authors' GB are 10^9 or 2^30 bytes; either may agree.
    stated_gb = statement.vram_gb or statement.unified_memory_gb
    if stated_gb is None:
        return _command(statement, asked)
    band = asked.band_bytes(statement.count or 1, short=statement.context is None)
    if band is None:
        return _not_comparable("card_no_split", count=statement.count or 1)
    low_bytes, high_bytes = band
    reason = Note(
        "card_memory",
        stated=stated_gb,
        low_bytes=low_bytes,
        high_bytes=high_bytes,
        context=asked.workload.context,
        quant=asked.quant.name,
        engine=asked.engine.name,
    )
    if (statement.vram_gb_high or stated_gb) * GIB < low_bytes:
        return CardVerdict.NEEDS_MORE, reason
    if stated_gb * GB > high_bytes * (2 if _is_ceiling(statement) else 1):
        return CardVerdict.NEEDS_LESS, reason
    return CardVerdict.AGREES, reason


def _is_ceiling(statement: ModelCardStatement) -> bool:
    # Whether an amount is the size of hardware rather than the model's need.
    of_hardware = statement.vram_gb_per_gpu is not None or statement.vram_gb is None
    return of_hardware or statement.bound in ("recommended", "sufficient")


def _gpus(statement: ModelCardStatement, asked: Asked, asking: Asking) -> Outcome:
    # Named GPUs: whether that many hold the model, and whether half of them would.
    gpu = _found(statement, asking)
    if gpu is None:
        return _not_comparable("card_unknown_gpu", gpu=statement.gpu or "")
    count = statement.count or 1
    config = asked.config(gpu, count)
    if config.verdict is Verdict.NOT_SUPPORTED:
        return _not_comparable("card_no_split", count=count)
    if not config.verdict.all_on_gpu:
        return CardVerdict.NEEDS_MORE, _gpu_note("card_gpus_short", config, asked)
    fewest = _fewest(gpu, count, asked)
    if fewest is not None:
        return CardVerdict.NEEDS_LESS, _gpu_note("card_gpus_fewer", config, asked, fewest=fewest)
    return CardVerdict.AGREES, _gpu_note("card_gpus_fit", config, asked)


def _found(statement: ModelCardStatement, asking: Asking) -> Gpu | None:
    # The catalogue's GPU, with the memory that the author names if there are several sizes.
    memory = f" {statement.vram_gb_per_gpu:g}GB" if statement.vram_gb_per_gpu else ""
    for name in (f"{statement.gpu}{memory}", str(statement.gpu)):
        try:
            return asking.catalogue.find(name)
        except UnknownGpu:
            continue
    return None


def _fewest(gpu: Gpu, count: int, asked: Asked) -> int | None:
    # The smallest half, quarter and so on of the GPUs that surely holds the model.
    fewest = None
    while count % 2 == 0:
        count //= 2
        if not asked.config(gpu, count).verdict.all_on_gpu:
            break
        fewest = count
    return fewest


def _gpu_note(code: str, config: RunConfig, asked: Asked, **fields: int) -> Note:
    return Note(
        code,
        gpu=config.gpu.name,
        count=config.boards,
        spare_bytes=abs(config.headroom_bytes),
        context=asked.workload.context,
        quant=asked.quant.name,
        **fields,
    )
