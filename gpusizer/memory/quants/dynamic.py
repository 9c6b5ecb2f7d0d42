"""Mixes of types under Unsloth's own names (UD-Q4_K_XL), which follow no rule by tensor.

`data/gguf_dynamic.csv` has their published files as a share of a plain recipe's,
`data/gguf_dynamic_files.csv` the bytes of single files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from gpusizer.core.byte_ranges import Amount, Provenance
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.memory.quants.gguf import Gguf, header_bytes
from gpusizer.memory.quants.layouts import QUANTIZED_PARTS, ModelShape
from gpusizer.model.profile import ModelProfile

PUBLISHER = "unsloth"
PREFIX = "ud-"
_FILE, _TENSORS = "file", "tensors"


@dataclass(frozen=True, slots=True)
class DynamicMix:
    """One row of the table."""

    slug: str  # such as "ud-q4_k_xl"
    models: frozenset[str]  # values of `model_type` it holds for; empty for every other model
    recipe: str  # slug of the plain recipe that it is a share of, as the publisher makes that
    bits: float  # nominal bits per quantized weight
    share: float  # median over published files of several models; `low` and `high` are the ends
    low: float
    high: float

    @property
    def name(self) -> str:
        """Name in file names, such as "GGUF UD-Q4_K_XL"."""
        return f"GGUF {self.slug.upper()}"


@cache
def all_mixes() -> tuple[DynamicMix, ...]:
    """Return every row of the table."""
    return read_table(DATA_DIR / "gguf_dynamic.csv", _mix)


@cache
def mixes() -> Mapping[str, DynamicMix]:
    """Return the row for every model of each slug."""
    return {mix.slug: mix for mix in all_mixes() if not mix.models}


def mix_of(slug: str, model_type: str) -> DynamicMix | None:
    """Return the row of a slug for a kind of model; None for other quantizations."""
    own = (mix for mix in all_mixes() if mix.slug == slug and model_type in mix.models)
    return next(own, mixes().get(slug))


@cache
def _published() -> Mapping[tuple[str, str], tuple[int, bool]]:
    """Return bytes of published files by lower-case model and slug, and if a header counts."""
    return dict(read_table(DATA_DIR / "gguf_dynamic_files.csv", _file))


def is_own_mix(slug: str) -> bool:
    """Return whether a publisher mixes the types, so llama-quantize alone cannot make it."""
    return "@" in slug or slug.startswith(PREFIX)


def sized_as_published(layout: Gguf, slug: str, profile: ModelProfile, model: ModelShape) -> Gguf:
    """Return the layout of a mix with the size of this model's published file.

    Else it has the share of the mix for its kind of model. Other layouts are returned unchanged.
    """
    mix, tensors = mix_of(slug, model.model_type), _published_bytes(slug, profile)
    if mix is None or tensors is None:
        return layout if mix is None else replace(layout, share=mix.share)
    plain = replace(layout, share=1.0)
    of_text = (group for group in profile.groups if group.part in QUANTIZED_PARTS)
    whole = sum(plain.group_bytes(group, model) for group in of_text)
    return replace(layout, share=tensors / (whole or 1))


def banded(amount: Amount, slug: str, profile: ModelProfile) -> Amount:
    """Return a mix's weights with the ends of files published of other models.

    Other amounts, and those of a model whose own file is published, are returned unchanged.
    """
    arch = profile.architecture
    mix = mix_of(slug, arch.model_type if arch else "")
    if mix is None or _published_bytes(slug, profile) is not None:
        return amount
    low, high = (round(amount.likely * end / mix.share) for end in (mix.low, mix.high))
    return Amount(low, amount.likely, high, Provenance.FITTED)


def _published_bytes(slug: str, profile: ModelProfile) -> int | None:
    known = _published().get((profile.repo_id.lower(), slug))
    if known is None:
        return None
    file_bytes, has_header = known
    return file_bytes - (header_bytes(profile.architecture) if has_header else 0)


def _mix(row: TableRow) -> DynamicMix:
    numbers = {name: row.number(name) for name in ("bits", "share", "low", "high")}
    if not 0 < numbers["low"] <= numbers["share"] <= numbers["high"]:
        raise row.malformed("share", "not between its ends")
    models = frozenset(row.parts("models"))
    return DynamicMix(row.text("slug"), models, row.text("recipe"), **numbers)


def _file(row: TableRow) -> tuple[tuple[str, str], tuple[int, bool]]:
    counts = row.one_of("counts", (_FILE, _TENSORS))
    return (row.text("model").lower(), row.text("slug")), (row.integer("bytes"), counts == _FILE)
