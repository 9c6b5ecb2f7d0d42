"""The memory of one GPU as a bar: what a model takes of it, what stays free, what is missing."""

from __future__ import annotations

from gpusizer.fit.fit import Fit
from gpusizer.ui.presenters.bars import segments
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.number_format import percent
from gpusizer.ui.presenters.words import Words


def bar_bytes(fit: Fit) -> int:
    """How far the bar of one GPU reaches: to its capacity, or to what a model needs beyond it."""
    return max(fit.gpu.device_free_bytes, fit.estimate.per_gpu.total.likely)


def capacity_bar(fit: Fit, scale_bytes: int, words: Words) -> Html:
    """Draw the use of one GPU's memory, as long as its share of the scale that bars beside it have
    too; use beyond it is drawn past the line of its capacity."""
    capacity, memory, reach = fit.gpu.device_free_bytes, fit.estimate.per_gpu, bar_bytes(fit)
    used, free = memory.total.likely, max(0, fit.headroom_bytes or 0)
    unused = {"free": free, "reserve": max(0, capacity - used - free)}
    rest = [
        el(
            "span",
            class_=f"gs-{name}",
            style=f"width:{percent(amount, reach)}",
            title=f"{words(f'part.{name}')}: {words.amount(amount)}",
        )
        for name, amount in unused.items()
    ]
    limit = None
    if used > capacity:
        limit = el("b", style=f"left:{percent(capacity, reach)}", title=words.amount(capacity))
    return el(
        "div",
        join(segments(memory, reach, words)),
        join(rest),
        limit,
        class_="gs-bar gs-bar-over" if limit else "gs-bar",
        style=f"width:{percent(reach, scale_bytes)}",
    )
