"""A pasted log: measured amounts beside predicted ones, and the row to contribute."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from gpusizer.logs.log_checks import LogCheck
from gpusizer.logs.log_comparison import ComparedAmount
from gpusizer.ui.presenters.pieces.templates import Columns, render
from gpusizer.ui.presenters.pieces.words import Words

_PLAIN = "max_concurrency"  # a count, not bytes
_WHOLE_BYTES = ("kv_per_token",)  # amounts that are too small for GiB


def log_html(check: LogCheck, words: Words) -> Markup:
    """Write the comparison, or the notes on its absence."""
    rows = check.comparison.rows if check.comparison else ()
    return render("log.html", words, check=check, rows=rows, columns=_columns(words))


def _columns(words: Words) -> Columns[ComparedAmount]:
    def write(amount: ComparedAmount, *values: float) -> str:
        return "–".join(map(_shown(amount.name, words)[1], values))

    def name(amount: ComparedAmount) -> str:
        return words(f"component.{amount.name}") + _shown(amount.name, words)[0]

    return {
        "component": name,
        "measured": lambda amount: write(amount, amount.measured),
        "predicted": lambda amount: write(amount, amount.predicted),
        "band": lambda amount: write(amount, amount.low, amount.high),
        "off": lambda amount: words.deviation(amount.error, signed=True),
    }


def _shown(name: str, words: Words) -> tuple[str, Callable[[float], str]]:
    """Return the unit of a component and the function that writes its amounts."""
    if name in _WHOLE_BYTES:
        return " (B)", words.whole
    if name == _PLAIN:
        return "", lambda value: words.number(value, ".2f")
    return " (GiB)", words.gib
