"""asked_quants: the quantizations that a request and the tag behind its model's name ask for."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.request import ALL_QUANTS, NATIVE_QUANT
from gpusizer.core.validation import fail
from gpusizer.hub.model_ref import ModelRef
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.table import aliases
from gpusizer.model.profile import ModelProfile

_LATEST = "latest"
"""Ollama's tag for whatever is usual: it names no quantization."""


def asked_quants(stated: tuple[str, ...], ref: ModelRef, profile: ModelProfile) -> tuple[str, ...]:
    """Quantizations to answer for: those stated, else the one that the model's name carries.

    Of a GGUF repository the file or tag that was named is what was read, from which others that are
    stated are computed; of any other a tag names a row of the table: "org/name:Q4_K_M" is sized in
    Q4_K_M.

    Raises UnknownQuant for a tag that names none, and InvalidRequest where `stated` names others.
    """
    if profile.format == "gguf":
        named = ref.file or ref.tag
        return (NATIVE_QUANT,) if named and stated == (ALL_QUANTS,) else stated
    tag = named_tag(ref)
    if not tag:
        return stated
    slug = find_quant(tag).slug
    if not _agree(stated, tag, slug):
        raise fail("quant", ", ".join(stated), "tag_differs", tag=tag)
    return (slug,)


def refuse_tag(ref: ModelRef, profile: ModelProfile) -> None:
    """Raise InvalidRequest for a tag where no quantization is asked for; one of a GGUF repository
    names the file that was read.
    """
    if named_tag(ref) and profile.format != "gguf":
        raise fail("model", f"{ref.repo_id}:{ref.tag}", "tag_not_read", tag=ref.tag or "")


def named_tag(ref: ModelRef) -> str:
    """The quantization behind the colon, "" for none."""
    return "" if (ref.tag or _LATEST).lower() == _LATEST else ref.tag or ""


def _agree(stated: Sequence[str], tag: str, slug: str) -> bool:
    """Whether what is stated is what the tag says, or leaves it open."""
    words = {text.strip().lower() for text in stated}
    words |= {aliases().get(word, word) for word in words}
    return ALL_QUANTS in words or tag.lower() in words or slug in words
