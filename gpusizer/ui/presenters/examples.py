"""Links to examples, with which an empty tab opens, and the example of an answer."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.ui.answering import PageAnswer
from gpusizer.ui.choices import KINDS, Tier
from gpusizer.ui.presenters.addresses import question_href
from gpusizer.ui.presenters.conclusion import first_sentence
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.words import Words
from gpusizer.ui.tab_examples import TabExample


def links_html(examples: Sequence[TabExample], words: Words) -> Html:
    """Write links that answer an example."""
    links = [
        el("a", example.name, href=question_href(example.query, words.language), class_="gs-try")
        for example in examples
    ]
    return el("div", el("span", words("try"), class_="gs-small"), join(links), class_="gs-chips")


def tab_html(name: str, examples: Sequence[TabExample], words: Words) -> Html:
    """Write what an empty tab shows: what it answers, and examples."""
    return el(
        "section",
        el("div", el("p", words(f"{name}.empty")), links_html(examples, words), class_="gs-empty"),
        class_="gs-section",
    )


def sample_html(answer: PageAnswer, words: Words) -> Html:
    """Write an answer in short: its headline, a line for each precision, a button for the rest."""
    model = answer.report.profile.repo_id
    return el(
        "section",
        el("p", words("sample.title", model=model), class_="gs-eyebrow"),
        el("h2", first_sentence(answer.report.conclusion, words)),
        el("dl", join(_precision(tier, words) for tier in answer.tiers)),
        el("button", words("sample.open"), type="button", class_="gs-button", data_model=model),
        class_="gs-section gs-sample",
        id="gs-sample",
    )


def _precision(tier: Tier, words: Words) -> Html:
    """Write the memory of a precision with its band, and the first hardware that holds it."""
    estimate, total = tier.row.estimate, tier.row.estimate.all_gpus.total
    item = next((tier.best[kind] for kind in KINDS if kind in tier.best), None)
    facts = [words("tile.band", low=words.amount(total.low), high=words.amount(total.high))]
    if item is not None:
        count = f"{item.fit.count} × " if item.fit.count > 1 else ""
        facts.append(f"{count}{item.fit.gpu.name}")
        if item.decode is not None:
            facts.append(words("tokens_per_second", speed=words.speed(item.decode.likely)))
    return el(
        "div",
        el("dt", words("bits", bits=words.number(estimate.quant.bits, "g"))),
        el("dd", words.amount(total.likely), el("small", " · ".join(facts))),
    )
