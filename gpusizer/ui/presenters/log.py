"""A pasted log: measured amounts beside predicted ones, and the row to contribute."""

from __future__ import annotations

from collections.abc import Callable

from gpusizer.answers.logs.log_checks import LogCheck
from gpusizer.answers.logs.log_comparison import ComparedAmount
from gpusizer.ui.presenters.code import code_html
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.words import Words

_HEAD = ("component", "measured", "predicted", "band", "off")
_PLAIN = "max_concurrency"  # a count, not bytes
_WHOLE_BYTES = ("kv_per_token",)  # amounts that are too small for GiB


def log_html(check: LogCheck, words: Words) -> Html:
    """Write the comparison, or the notes on why there is none."""
    comparison = check.comparison
    rows = [_row(row, words) for row in comparison.rows] if comparison else []
    head = [
        el("th", words(f"column.{name}"), scope="col", class_="gs-number" if i else None)
        for i, name in enumerate(_HEAD)
    ]
    table = el(
        "table", el("thead", el("tr", join(head))), el("tbody", join(rows)), class_="gs-errors"
    )
    issue = check.issue
    contribution = None
    if issue is not None:
        contribution = el(
            "details",
            el("summary", words("log.contribute")),
            code_html(issue.title, issue.body, words),
            class_="gs-details",
        )
    return el(
        "section",
        words.heading("log"),
        el("h3", f"{check.log.engine}: {check.model or words('unknown')}"),
        words.listed(check.notes, "gs-notes"),
        el("div", table, class_="gs-scroll", tabindex=0) if rows else None,
        contribution,
        class_="gs-section",
        id="gs-log",
    )


def _row(amount: ComparedAmount, words: Words) -> Html:
    unit, write = _shown(amount.name, words)
    cells = (
        write(amount.measured),
        write(amount.predicted),
        f"{write(amount.low)}–{write(amount.high)}",
        words.deviation(amount.error, signed=True),
    )
    return el(
        "tr",
        el("th", words(f"component.{amount.name}"), unit, scope="row"),
        join(
            el("td", cell, class_="gs-number", data_label=words(f"column.{name}"))
            for name, cell in zip(_HEAD[1:], cells, strict=True)
        ),
    )


def _shown(name: str, words: Words) -> tuple[str, Callable[[float], str]]:
    """Return the unit of a component and the function that writes its amounts."""
    if name in _WHOLE_BYTES:
        return " (B)", words.whole
    if name == _PLAIN:
        return "", lambda value: words.number(value, ".2f")
    return " (GiB)", words.gib
