"""How old the data is that the page's answers stand on."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.data_ages import DataAge
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.words import Words


def data_ages_html(ages: Sequence[DataAge], words: Words) -> Html:
    """Write a list of dates, one line for each kind of data."""
    return el(
        "section",
        el("h3", words("ages.title")),
        el("ul", join(el("li", _line(age, words)) for age in ages)),
        class_="gs-section gs-small",
        id="gs-ages",
    )


def _line(age: DataAge, words: Words) -> str:
    """Name the kind of data, and the day or the days between which it was read."""
    dates = age.newest
    if age.oldest != age.newest:
        dates = words("ages.between", oldest=age.oldest, newest=age.newest)
    return words(f"ages.{age.kind}", dates=dates)
