"""The pictures of one answer, folded, so that the answer itself stays first."""

from __future__ import annotations

from gpusizer.figures.pictures import Pictures
from gpusizer.ui.presenters.charts.curves import context_picture, users_pictures
from gpusizer.ui.presenters.charts.scatter import price_picture
from gpusizer.ui.presenters.charts.stacked import memory_picture
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.words import Words


def pictures_html(pictures: Pictures, words: Words) -> Html:
    """Memory by quantization and along the context, prices against speed; empty without any."""
    context, users = pictures.context, pictures.concurrency
    levels = pictures.capacities
    drawn = [
        memory_picture(pictures.stacks, levels, words.whole(context), words.whole(users), words),
        context_picture(pictures.curves, levels, context, users, words),
        users_pictures(pictures.users, words),
        *(price_picture(prices, words) for prices in pictures.prices),
    ]
    if not any(drawn):
        return join(())
    return el(
        "section",
        el(
            "details",
            el("summary", words("pictures.summary")),
            el("div", join(drawn), class_="gs-figures"),
            class_="gs-details gs-pictures",
        ),
        class_="gs-section",
        id="gs-pictures",
    )
