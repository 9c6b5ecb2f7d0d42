"""The derivation of each estimate: formulas with the model's numbers, in folded tables."""

from __future__ import annotations

from markupsafe import Markup

from gpusizer.ui.presenters.pieces.html import el, fold, join
from gpusizer.ui.presenters.pieces.marks import provenance_legend, provenance_mark
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.derivation import DerivationStep, derivation
from gpusizer.usecases.report import EstimateRow


def derivation_html(rows: list[EstimateRow], words: Words) -> Markup:
    """Write a folded table for each of the rows, whose lines add up to its total."""
    return fold(
        words("derivation"),
        join(_sum(row, words) for row in rows),
        provenance_legend(words),
        id="gs-derivation",
    )


def _sum(row: EstimateRow, words: Words) -> Markup:
    estimate = row.estimate
    total = estimate.all_gpus.total
    name = f"{estimate.quant.name} · {estimate.engine.name} · {words.amount(total.likely)}"
    steps = derivation(row)
    total_row = el(
        "tr",
        el("th", words("column.total"), scope="row"),
        el("td", words.amount_band(total)),
        el("td", words.gib(total.likely), class_="gs-number"),
    )
    body = el("tbody", join(_step(step, row, words) for step in steps), total_row)
    return fold(
        name,
        el("div", el("table", body, class_="gs-steps"), class_="gs-scroll", tabindex=0),
        class_="gs-sum",
    )


def _step(step: DerivationStep, row: EstimateRow, words: Words) -> Markup:
    provenance = step.amount.provenance.value
    sign = "−" if step.correction < 0 else ""
    return el(
        "tr",
        el("th", words(f"part.{step.part}"), provenance_mark(provenance, words), scope="row"),
        el(
            "td",
            el("code", words.written(step.formula)) if step.formula else None,
            el("small", _rule(step, row, words)),
        ),
        el("td", f"{sign}{words.gib(step.amount.likely)}", class_="gs-number"),
    )


def _rule(step: DerivationStep, row: EstimateRow, words: Words) -> str:
    """Say what the formula counts, with its band where there is one."""
    key = f"engine.{step.part}" if step.rule == "engine" else step.rule
    rule = words(f"derivation.{key}", engine=row.estimate.engine.name)
    amount = step.amount
    if amount.low == amount.high:
        return rule
    band = words.amount_band(amount)
    return f"{rule} {band}"
