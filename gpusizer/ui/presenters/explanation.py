"""Text below a verdict: its quantization explained, and the facts that were weighed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from gpusizer.core.messages import Note
from gpusizer.fit.losses import quality_at
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.model.profile import ModelProfile
from gpusizer.quality.quality import WORDS
from gpusizer.ui.presenters.conclusion import unbroken
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.verdict import whole_bits

_FULL_BITS = 16
_LOSSES = frozenset(f"weighed_{word}" for word in WORDS)
_SHOWN = ("answer_memory_", "answer_or_", "answer_cache_")
"""Beginnings of codes that figures, options and views show, or that one user has no use for."""
_CHANGES = frozenset(
    f"answer_{kind}_change" for kind in ("one", "either", "supported", "sure", "fitting")
)


def quantization_text(profile: ModelProfile, estimate: MemoryEstimate, words: Words) -> str:
    """Write in one sentence what the bits of the weights mean, for who never saw any."""
    quant, size = estimate.quant, estimate.sizes.total
    quality, bits = quality_at(estimate), whole_bits(estimate.quant)
    stored = profile.quantization
    as_wide = stored is not None and stored.bits == int(quant.bits) and quality.word == WORDS[0]
    lost = words(f"loss.{quality.word}")
    as_published = estimate.native or as_wide
    if as_published and quant.bits < _FULL_BITS:
        kept = quality.word == WORDS[0]
        return words(
            "explain.published" if kept else "explain.published_lossy", bits=bits, lost=lost
        )
    if not as_published and quant.bits < _FULL_BITS and size >= profile.weight_bytes:
        return words("explain.remade", bits=bits, lost=lost)
    if as_published or size >= profile.weight_bytes:
        return words("explain.full")
    return words(
        "explain.rounded",
        bits=bits,
        size=words.amount(size),
        full=words.amount(profile.weight_bytes),
        lost=lost,
    )


def weighed_texts(
    notes: Iterable[Note], words: Words, elsewhere: Collection[Note] = ()
) -> list[str]:
    """Write what was weighed, without what figures and the lines below these show."""
    return [plain(note, words) for note in _told(notes) if note not in elsewhere]


def plain(note: Note, words: Words) -> str:
    """Write a note in the words of a page, which a newcomer understands, where it has such."""
    said = words.optional(f"why.{note.code}", **note.fields)
    return unbroken(said or words.note(note))


def _told(notes: Iterable[Note]) -> Iterator[Note]:
    """Yield notes up to the changes that would help, which have a heading of their own."""
    for note in notes:
        if note.code in _CHANGES:
            return
        if note.code not in _LOSSES and not note.code.startswith(_SHOWN):
            yield note
