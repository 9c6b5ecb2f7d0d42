"""A tile for each precision that people ask for: its memory, and the smallest hardware for it."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.conclusion.clauses import boards_name
from gpusizer.fit.losses import quality_at
from gpusizer.fit.ranking import Ranked
from gpusizer.ui.choices import KINDS, Tier
from gpusizer.ui.presenters.html import Html, defined, el, join
from gpusizer.ui.presenters.losses import loss_mark
from gpusizer.ui.presenters.number_format import DASH
from gpusizer.ui.presenters.words import Words


def tiers_html(tiers: Sequence[Tier], words: Words) -> Html:
    """Write the tiles."""
    return el("div", join(_tile(tier, words) for tier in tiers), class_="gs-tiles")


def _tile(tier: Tier, words: Words) -> Html:
    estimate = tier.row.estimate
    total = estimate.all_gpus.total
    native = el("span", words("as_stored"), class_="gs-chip") if estimate.native else None
    return el(
        "article",
        el("h3", words("bits", bits=words.number(estimate.quant.bits, "g")), native),
        el("p", words.amount(total.likely), class_="gs-big"),
        el(
            "p",
            words.amount_band(total),
            " · ",
            estimate.quant.name,
            " · ",
            loss_mark(quality_at(estimate), words),
            class_="gs-small",
        ),
        el("dl", join(_line(kind, tier.best.get(kind), words) for kind in KINDS)),
        class_="gs-tile",
    )


def _line(kind: str, item: Ranked | None, words: Words) -> Html:
    """Write a line for a kind of hardware: its smallest boards for a tier, with speed and price."""
    if item is None:
        return defined(words(f"kind.{kind}"), words("tile.none"))
    fit = item.fit
    facts = [fit.estimate.quant.name]
    if item.decode is not None:
        facts.append(words.rate(item.decode.likely))
    if item.rent_usd_per_hour is not None:
        facts.append(words("per_hour", price=words.usd(item.rent_usd_per_hour)))
    name = boards_name(fit.gpu, fit.count)
    return defined(words(f"kind.{kind}"), name, " · ".join(facts) or DASH)
