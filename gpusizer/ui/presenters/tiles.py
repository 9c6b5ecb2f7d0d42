"""Tiles: the memory that each precision takes, and the smallest boards of each kind for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gpusizer.advice.conclusion.clauses import boards_name
from gpusizer.fit.losses import quality_at
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.quality.quality import Quality
from gpusizer.ui.presenters.choices import KINDS, Tier
from gpusizer.ui.presenters.options import pace
from gpusizer.ui.presenters.pieces.glossary import Glossary
from gpusizer.ui.presenters.pieces.losses import loss_sentence
from gpusizer.ui.presenters.pieces.templates import render
from gpusizer.ui.presenters.pieces.words import Words


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile of a precision; `kinds` are hardware, boards and what is known."""

    estimate: MemoryEstimate
    bits: str
    total: str
    band: str
    quality: Quality
    kinds: tuple[tuple[str, str, str], ...]


def tiers_html(tiers: Sequence[Tier], words: Words) -> Markup:
    """Write the tiles, and below them what the losses that they name mean."""
    tiles = [_tile(tier, words) for tier in tiers]
    meanings = dict.fromkeys(loss_sentence(quality_at(it.row.estimate), words) for it in tiers)
    explained = Glossary(words)
    return render("tiles.html", words, explained=explained, tiles=tiles, meanings=list(meanings))


def _tile(tier: Tier, words: Words) -> Tile:
    estimate = tier.row.estimate
    total = estimate.all_gpus.total
    return Tile(
        estimate,
        bits=words("bits", bits=words.number(estimate.quant.bits, "g")),
        total=words.amount(total.likely),
        band=words.amount_band(total),
        quality=quality_at(estimate),
        kinds=tuple(_kind(kind, tier, words) for kind in KINDS),
    )


def _kind(kind: str, tier: Tier, words: Words) -> tuple[str, str, str]:
    """Write a kind of hardware: its smallest boards for a tier, with speed and price, and the
    quantization if it is another than the tile's."""
    name, item = words(f"kind.{kind}"), tier.best.get(kind)
    if item is None:
        return name, words("tile.none"), ""
    fit = item.fit
    rent = item.costs.rent_usd_per_hour
    price = None if rent is None else words("per_hour", price=words.usd(rent))
    quant = fit.estimate.quant
    other = None if quant == tier.row.estimate.quant else quant.name
    facts = (other, pace(item, words), price)
    return name, boards_name(fit.gpu, fit.count), " · ".join(filter(None, facts))
