"""A report as Markdown for issues, chats and notes: a heading, then short tables."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from gpusizer.advice.conclusion.clauses import boards_name
from gpusizer.advice.ranking import Ranked
from gpusizer.core.printable import printable
from gpusizer.fit.losses import quality_at
from gpusizer.ui.presenters.model_card import statement_lines
from gpusizer.ui.presenters.pieces.losses import loss_label, loss_sentence, loss_text
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.prices import price_text, rent_terms
from gpusizer.usecases.report import EstimateRow, Report

_RANKED = 10
_SPECIAL = re.compile(r"([\\`*_\[\]()#+!|~>-])")
_ESTIMATE_HEAD = ("quant", "quality", "weights", "kv_cache", "total", "band", "engine")
_CARD_HEAD = ("statement", "verdict", "reason")
_RANKING_HEAD = ("rank", "gpu", "quant", "quality", "verdict", "headroom", "speed", "buy", "rent")


def markdown(report: Report, words: Words, address: str) -> str:
    """Write the conclusion, the recommended quantizations, the ranking's first places and the
    author's statements.

    `address` is the page with the same answer, "" for none.
    """
    profile = report.profile
    parameters = f"{words('fact.parameters')}: {words.whole(profile.parameters)}"
    estimates = [row for row in report.estimates if row.estimate.quant.recommended]
    conclusion = report.conclusion
    first = f"**{plain(conclusion.sentence(words.note))}**"
    weighed = [plain(words.note(note)) for note in conclusion.weighed]
    if report.ranking:
        weighed.append(plain(loss_sentence(quality_at(report.ranking[0].fit.estimate), words)))
    lines = [
        f"## {plain(profile.repo_id)}",
        first,
        "\n".join(f"- {sentence}" for sentence in weighed),
        parameters,
        _table(_ESTIMATE_HEAD, (_estimate(row, words) for row in estimates), words),
        _table(_RANKING_HEAD, (_place(item, words) for item in report.ranking[:_RANKED]), words),
    ]
    statements = [tuple(map(plain, item)) for item in statement_lines(report.model_card, words)]
    if statements:
        lines.append(f"### {words('card.title')}")
        lines.append(_table(_CARD_HEAD, statements, words))
    if address:
        lines.append(f"<{address}>")
    return "\n\n".join(lines) + "\n"


def plain(text: str) -> str:
    """Any text as Markdown that shows what is printable of it and does nothing else.

    >>> plain("[x](y) <b>")
    '\\\\[x\\\\]\\\\(y\\\\) &lt;b&gt;'
    """
    return _SPECIAL.sub(r"\\\1", html.escape(printable(" ".join(text.split())), quote=False))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], words: Words) -> str:
    headings = [words(f"column.{name}") for name in head]
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _estimate(row: EstimateRow, words: Words) -> Sequence[str]:
    memory = row.estimate.all_gpus
    return (
        plain(row.estimate.quant.name),
        plain(loss_text(quality_at(row.estimate), words)),
        words.gib(memory.weights.likely),
        words.gib(memory.kv_cache.likely),
        words.gib(memory.total.likely),
        words.gib_band(memory.total),
        plain(row.estimate.engine.name),
    )


def _place(item: Ranked, words: Words) -> Sequence[str]:
    fit, rent = item.fit, item.costs.rent_usd_per_hour
    return (
        str(item.rank),
        plain(boards_name(fit.gpu, fit.count)),
        plain(fit.estimate.quant.name),
        plain(loss_label(quality_at(fit.estimate), words)),
        words.verdict(fit.verdict.value),
        DASH if fit.headroom_bytes is None else words.gib(fit.headroom_bytes),
        DASH if item.decode is None else words.band(item.decode),
        price_text(item.costs, words),
        DASH if rent is None else f"{words.usd(rent)} ({rent_terms(item.costs, words)})",
    )
