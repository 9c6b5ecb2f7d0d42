"""The quantizations gpusizer knows: one row of data/quants.csv each."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain

from gpusizer.core.errors import UnknownQuant
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.memory.quants import layouts
from gpusizer.memory.quants.dynamic import PUBLISHER, DynamicMix, mixes
from gpusizer.memory.quants.gguf import Gguf
from gpusizer.memory.quants.layouts import Layout
from gpusizer.memory.quants.publishers import choices_of, file_overrides, publishers
from gpusizer.memory.quants.recipes import RECIPES


@dataclass(frozen=True, slots=True)
class Quant:
    """One quantization level."""

    slug: str  # stable name in the API, such as "q4_k_m"
    name: str  # its usual name
    bits: float  # nominal bits per quantized weight
    layout: Layout
    engines: tuple[str, ...]  # engines that run it, the usual one first
    # Hardware it needs tensor support for: "fp8", "fp4", "int8", "int4", "awq"; "cuda" if its
    # kernels are built for nothing else; or "".
    needs: str
    # Whether rankings may pick it by default: not below 4 bits, not the slow bitsandbytes kernels.
    recommended: bool
    moe_only: bool  # whether it differs from another row only for mixture-of-experts models
    shown: bool  # whether "all" lists it; others are found by name alone
    order: int  # 0 for the most faithful of the table
    source: str  # where the layout is defined


_LayoutMaker = Callable[[str, float, int], Layout]

_LAYOUTS: dict[str, _LayoutMaker] = {
    "plain": lambda slug, bits, group: layouts.Plain(int(bits)),
    "per_channel": lambda slug, bits, group: layouts.per_channel(int(bits), scale_bytes=2),
    "bnb_int8": lambda slug, bits, group: layouts.per_channel(int(bits), scale_bytes=4),
    "gptq": lambda slug, bits, group: layouts.gptq(int(bits), group),
    "awq": lambda slug, bits, group: layouts.awq(int(bits), group),
    "bnb_nf4": lambda slug, bits, group: layouts.bnb_nf4(group, double_quant=False),
    "bnb_nf4_dq": lambda slug, bits, group: layouts.bnb_nf4(group, double_quant=True),
    "mxfp4": lambda slug, bits, group: layouts.mxfp4(group),
    "nvfp4": lambda slug, bits, group: layouts.nvfp4(group),
    "gguf": lambda slug, bits, group: Gguf(RECIPES[slug]),
    "exl": lambda slug, bits, group: layouts.Exl(bits),
    "affine": lambda slug, bits, group: layouts.Mlx(int(bits), group),
}

_TABLE = DATA_DIR / "quants.csv"
_EXL = re.compile(r"(exl[23])-(\d(?:\.\d{1,2})?)$")


@cache
def all_quants() -> tuple[Quant, ...]:
    """Return every row of the table, from most to least faithful."""
    quants = read_table(_TABLE, _quant)
    return tuple(replace(quant, order=order) for order, quant in enumerate(quants))


@cache
def aliases() -> Mapping[str, str]:
    """Return other spellings people use, with the slug that each means."""
    spellings = read_table(
        _TABLE, lambda row: [(alias, row.text("slug")) for alias in row.parts("aliases")]
    )
    return dict(chain.from_iterable(spellings))


def find_quant(text: str) -> Quant:
    """Return the quantization with this slug or alias.

    EXL2 and EXL3 take any width: `exl2-4.25`; a GGUF recipe takes a publisher whose files have
    types of their own: `q4_k_m@unsloth`; mixes of Unsloth have names of their own: `ud-q4_k_xl`.
    Raise UnknownQuant with close spellings, or with the publishers that are known.
    """
    slug = text.strip().lower()[:40]
    slug = aliases().get(slug, slug)
    by_slug = {quant.slug: quant for quant in all_quants()}
    if slug in by_slug:
        return by_slug[slug]
    if slug in mixes():
        return _dynamic(mixes()[slug], by_slug)
    match = _EXL.fullmatch(slug)
    if match and 1.0 <= float(match[2]) <= 8.0:
        return _exl(match[1], float(match[2]))
    recipe, _, publisher = slug.partition("@")
    recipe = aliases().get(recipe, recipe)
    if publisher and recipe in RECIPES and publisher in publishers():
        return replace(
            as_published(by_slug[recipe], publisher),
            slug=f"{recipe}@{publisher}",
            name=f"{by_slug[recipe].name} by {publisher}",
        )
    raise UnknownQuant(value=text[:40], suggestions=_suggestions(slug))


def _suggestions(slug: str) -> list[str]:
    recipe, separator, publisher = slug.partition("@")
    recipe = aliases().get(recipe, recipe)
    # For a recipe by an unknown publisher, the known publishers and the recipe alone.
    if separator and recipe in RECIPES:
        known_publishers = sorted(publishers())
        close = difflib.get_close_matches(publisher, known_publishers, n=len(known_publishers))
        further = [name for name in known_publishers if name not in close]
        return [*(f"{recipe}@{name}" for name in (*close, *further)), recipe]
    names = [quant.slug for quant in all_quants()]
    if publisher and publisher in publishers():
        recipes = difflib.get_close_matches(recipe, RECIPES, n=5)
        return [f"{name}@{publisher}" for name in recipes]
    return difflib.get_close_matches(slug, [*names, *aliases(), *mixes()], n=5)


def as_published(quant: Quant, publisher: str) -> Quant:
    """Return the row with this publisher's types; most publishers change nothing."""
    if quant.slug not in RECIPES:
        return quant
    publisher = publisher.lower()
    recipe = RECIPES[quant.slug]
    choices = choices_of(publisher, quant.slug, recipe)
    return replace(quant, layout=Gguf(recipe, choices, file_overrides(publisher)))


def _dynamic(mix: DynamicMix, by_slug: Mapping[str, Quant]) -> Quant:
    # The row has the order of the plain recipe that it is a share of.
    plain = as_published(by_slug[mix.recipe], PUBLISHER)
    assert isinstance(plain.layout, Gguf)
    return replace(
        plain,
        slug=mix.slug,
        name=mix.name,
        bits=mix.bits,
        layout=replace(plain.layout, share=mix.share),
        recommended=mix.bits >= 4,
        shown=False,
    )


def _exl(family: str, bits: float) -> Quant:
    rows = [quant for quant in all_quants() if quant.slug.startswith(family)]
    # The row has the order of the next narrower row of the table.
    nearest = next((quant for quant in rows if quant.bits <= bits), rows[-1])
    return replace(
        nearest,
        slug=f"{family}-{bits:g}",
        name=f"{family.upper()} {bits:g} bpw",
        bits=bits,
        layout=layouts.Exl(bits),
        recommended=bits >= 4,
        shown=True,
    )


def _quant(row: TableRow) -> Quant:
    slug, bits = row.text("slug"), row.number("bits")
    make = _LAYOUTS[row.one_of("layout", tuple(_LAYOUTS))]
    return Quant(
        slug=slug,
        name=row.text("name"),
        bits=bits,
        layout=make(slug, bits, row.optional("group_size", int) or 0),
        engines=row.parts("engines"),
        needs=row.text("needs"),
        recommended=row.flag("recommended"),
        moe_only=row.text("models") == "moe",
        shown=row.flag("shown"),
        order=0,
        source=row.text("source"),
    )
