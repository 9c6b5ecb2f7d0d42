"""Quantizations that a GGUF repository offers, as rows like those of the table."""

from __future__ import annotations

from dataclasses import replace

from gpusizer.core.dtypes import ggml_type_named, nominal_bits
from gpusizer.hub.snapshot import Variant
from gpusizer.memory.quants.gguf import Gguf
from gpusizer.memory.quants.table import Quant, aliases, all_quants, find_quant
from gpusizer.model.profile import ModelProfile

_SOURCE = "a file of the repository"
_RANKED_BITS = range(4, 17)  # as in the table: nothing below 4 bits unasked, nor 32-bit floats


def variant_quants(profile: ModelProfile) -> tuple[Quant, ...]:
    """Return rows for the repository's files, largest first; none for other formats."""
    if profile.format != "gguf":
        return ()
    # A file that is no quantization of the model (a projector asked for by its path) is the only
    # row.
    variants = _answerable(profile)
    bits = {variant.name: _bits(variant, profile) for variant in variants}
    ranked = [name for name in bits if bits[name] in _RANKED_BITS] or list(bits)
    return tuple(
        variant_quant(variant.name, bits[variant.name], place, variant.name in ranked)
        for place, variant in enumerate(variants)
    )


def quant_read(profile: ModelProfile) -> Quant:
    """Return the row of the file that was read. For GGUF repositories only."""
    quants = variant_quants(profile)
    wanted = (profile.variant or "").lower()
    return next((quant for quant in quants if quant.slug == wanted), quants[0])


def find_variant(text: str, quants: tuple[Quant, ...]) -> Quant | None:
    """Return the row of that name or alias."""
    slug = text.strip().lower()
    for wanted in (slug, aliases().get(slug), f"ud-{slug}"):
        for quant in quants:
            if quant.slug == wanted:
                return quant
    return None


def variant_quant(name: str, bits: int, order: int, recommended: bool) -> Quant:
    """Build a row with the layout of the table's row of that name or nearest width."""
    rows = [row for row in all_quants() if isinstance(row.layout, Gguf) or row.slug == "bf16"]
    slug = name.lower()
    similar = min(rows, key=lambda row: (row.slug != slug, abs(row.bits - bits), row.order))
    return replace(
        similar,
        slug=slug,
        name=f"GGUF {name}",
        bits=float(bits),
        engines=find_quant("gguf-f16").engines,
        needs="",
        recommended=recommended,
        moe_only=False,
        order=order,
        source=_SOURCE,
    )


def is_variant(quant: Quant) -> bool:
    """Return whether this row is a file of a repository."""
    return quant.source == _SOURCE


def _answerable(profile: ModelProfile) -> tuple[Variant, ...]:
    sized_variants = tuple(
        variant
        for variant in profile.variants
        if variant.size_bytes is not None or variant.name == profile.variant
    )
    if any(variant.name == profile.variant for variant in sized_variants):
        return sized_variants
    return (Variant(profile.native_dtype, "quantization", (), None),)


def _bits(variant: Variant, profile: ModelProfile) -> int:
    kind = ggml_type_named(variant.name)
    if kind is not None:
        return nominal_bits(kind)
    size = profile.weight_bytes if variant.size_bytes is None else variant.size_bytes
    return min(max(size * 8 // max(profile.parameters, 1), 1), 32)
