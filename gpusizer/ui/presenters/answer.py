"""The answer in one sentence, then a tile for each precision with its memory and its GPUs."""

from __future__ import annotations

from gpusizer.fit.fit import Fit
from gpusizer.fit.ranking import Ranked
from gpusizer.ui.answering import PageAnswer
from gpusizer.ui.choices import KINDS, Tier, headline, smallest
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.number_format import DASH
from gpusizer.ui.presenters.share import share_html
from gpusizer.ui.presenters.words import Words


def answer_html(answer: PageAnswer, words: Words) -> Html:
    """Write the headline and one tile for each precision."""
    return el(
        "section",
        el("p", answer.report.profile.repo_id, class_="gs-eyebrow"),
        el("h2", headline_text(answer, words), class_="gs-answer"),
        el("p", _details(answer, words), class_="gs-lead"),
        words.listed(answer.report.notes, "gs-notes"),
        el("div", join(_tile(tier, words) for tier in answer.tiers), class_="gs-tiles"),
        share_html(words),
        class_="gs-section",
        id="gs-answer",
    )


def gpus_in_words(fit: Fit, words: Words) -> str:
    """Name boards in a sentence: 'one RTX 4090', '2 × RTX 4090'."""
    key = "one_gpu" if fit.count == 1 else "several_gpus"
    return words(key, count=fit.count, gpu=fit.gpu.name)


def headline_text(answer: PageAnswer, words: Words) -> str:
    """Say in one sentence which hardware runs the model."""
    name = answer.report.profile.repo_id.rsplit("/", maxsplit=1)[-1]
    offer = headline(answer.tiers)
    if offer is None:
        return words("headline.nothing", model=name)
    tier, item = offer
    key = "headline.native" if tier.row.estimate.native else "headline.quantized"
    quant = tier.row.estimate.quant if tier.row.estimate.native else item.fit.estimate.quant
    return words(key, model=name, gpus=gpus_in_words(item.fit, words), quant=quant.name)


def _details(answer: PageAnswer, words: Words) -> str:
    """Write the smallest configuration, the need at 16 bits, and the workload of both."""
    workload = answer.report.workload
    sentences = []
    least = smallest(answer.tiers)
    if least is not None and least != headline(answer.tiers):
        fit = least[1].fit
        sentences.append(
            words("smallest", gpus=gpus_in_words(fit, words), quant=fit.estimate.quant.name)
        )
    first_estimate = answer.tiers[0].row.estimate if answer.tiers else None
    if first_estimate is not None:
        sentences.append(
            words(
                "needs",
                quant=first_estimate.quant.name,
                total=words.amount(first_estimate.all_gpus.total.likely),
            )
        )
    sentences.append(
        words(
            "planned",
            context=words.whole(workload.context),
            concurrency=words.whole(workload.concurrency),
        )
    )
    return words("between_sentences").join(sentences)


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
            words("tile.band", low=words.amount(total.low), high=words.amount(total.high)),
            " · ",
            estimate.quant.name,
            class_="gs-small",
        ),
        el("dl", join(_line(kind, tier.best.get(kind), words) for kind in KINDS)),
        class_="gs-tile",
    )


def _line(kind: str, item: Ranked | None, words: Words) -> Html:
    """Write a line for a kind of hardware: its smallest boards for a tier, with speed and price."""
    if item is None:
        return el("div", el("dt", words(f"kind.{kind}")), el("dd", words("tile.none")))
    fit = item.fit
    facts = [fit.estimate.quant.name]
    if item.decode is not None:
        facts.append(words("tokens_per_second", speed=words.speed(item.decode.likely)))
    if item.rent_usd_per_hour is not None:
        facts.append(words("per_hour", price=words.usd(item.rent_usd_per_hour)))
    count = f"{fit.count} × " if fit.count > 1 else ""
    return el(
        "div",
        el("dt", words(f"kind.{kind}")),
        el("dd", f"{count}{fit.gpu.name}", el("small", " · ".join(facts) or DASH)),
    )
