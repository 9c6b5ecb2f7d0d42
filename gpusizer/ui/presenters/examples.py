"""Links to examples, with which an empty tab opens, and the example of an answer."""

from __future__ import annotations

from gpusizer.advice.conclusion.clauses import boards_name
from gpusizer.ui.presenters.choices import KINDS, PageAnswer, Tier
from gpusizer.ui.presenters.conclusion import first_sentence
from gpusizer.ui.presenters.pieces.addresses import question_href
from gpusizer.ui.presenters.pieces.html import Html, button, defined, el, join, section
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.tab_examples import Examples


def links_html(examples: Examples, words: Words) -> Html:
    """Write links that answer an example."""
    links = [
        el("a", name, href=question_href(query, words.language), class_="gs-try")
        for name, query in examples.items()
    ]
    return el("div", el("span", words("try"), class_="gs-small"), join(links), class_="gs-chips")


def tab_html(name: str, examples: Examples, words: Words) -> Html:
    """Write what an empty tab shows: what it answers, and examples."""
    return el(
        "section",
        el("div", el("p", words(f"{name}.empty")), links_html(examples, words), class_="gs-empty"),
        class_="gs-section",
    )


def sample_html(answer: PageAnswer, words: Words) -> Html:
    """Write an answer in short: its headline, a line for each precision, a button for the rest."""
    model = answer.report.profile.repo_id
    return section(
        "sample",
        el("p", words("sample.title", model=model), class_="gs-eyebrow"),
        el("h2", first_sentence(answer.report.conclusion, words)),
        el("dl", join(_precision(tier, words) for tier in answer.tiers)),
        button(words("sample.open"), data_model=model),
        class_="gs-section gs-sample",
    )


def _precision(tier: Tier, words: Words) -> Html:
    """Write the memory of a precision with its band, and the first hardware that holds it."""
    estimate, total = tier.row.estimate, tier.row.estimate.all_gpus.total
    item = next((tier.best[kind] for kind in KINDS if kind in tier.best), None)
    facts = [words.amount_band(total)]
    if item is not None:
        facts.append(boards_name(item.fit.gpu, item.fit.count))
        if item.decode is not None:
            facts.append(words.rate(item.decode.likely))
    bits = words("bits", bits=words.number(estimate.quant.bits, "g"))
    return defined(bits, words.amount(total.likely), " · ".join(facts))
