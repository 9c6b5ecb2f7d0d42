"""What a card or a machine runs: how many models of each kind, and the list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from gpusizer.fit import Verdict
from gpusizer.models_for.answer import ModelsFor
from gpusizer.ui.presenters.figures import DASH
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.marks import verdict_badge
from gpusizer.ui.presenters.words import Words
from gpusizer.workload import DEFAULT_CONTEXT

_HEAD = ("rank", "model", "size", "verdict", "headroom", "speed", "max_context")
_NUMBERS = frozenset({"size", "headroom", "speed", "max_context"})


def models_for_html(answer: ModelsFor, words: Words) -> Html:
    """The answer, largest models first; each name leads to the model's own answer."""
    data = answer.to_json(words.note)
    asked = answer.request.rig or answer.request.gpu
    rows = [_row(one, answer.request.gpu, words) for one in data["models"]]
    head = [el("th", words(f"column.{name}"), scope="col", class_=_class(name)) for name in _HEAD]
    table = el(
        "div",
        el("table", el("thead", el("tr", join(head))), el("tbody", join(rows)),
           class_="gs-ranked gs-runs"),
        class_="gs-scroll",
        tabindex=0,
    )  # fmt: skip
    return el(
        "section",
        words.heading("reverse", gpu=asked, found=data["found"], considered=data["considered"]),
        _tasks(data["by_task"], words),
        el("ul", join(el("li", note["message"]) for note in data["notes"]), class_="gs-notes")
        if data["notes"]
        else None,
        table if rows else el("p", words("reverse.nothing"), class_="gs-empty"),
        class_="gs-section",
        id="gs-reverse",
    )


def _tasks(by_task: Mapping[str, Mapping[str, Any]], words: Words) -> Html:
    """A tile for each kind of model: how many run, and the best of them."""
    tiles = [
        el(
            "article",
            el("h3", words(f"task.{task}")),
            el("p", words.whole(sum(counts.get(verdict.value, 0) for verdict in Verdict)),
               class_="gs-big"),
            el("p", words("reverse.best", model=counts["best"]), class_="gs-small"),
            class_="gs-tile",
        )
        for task, counts in by_task.items()
    ]  # fmt: skip
    return el("div", join(tiles), class_="gs-tiles")


def _row(one: Mapping[str, Any], gpu: str, words: Words) -> Html:
    context = {} if one["context"] == DEFAULT_CONTEXT else {"context": one["context"]}
    gpus = {"gpus": gpu} if gpu else {}
    link = urlencode({"model": one["repo_id"], **context, **gpus}, safe="/,")
    rate, longest = one["decode_tokens_per_second"], one["max_context"]
    how = f"{one['quant_name']} · {one['engine_name']} · {words('task.' + one['task'])}"
    cells = (
        el("a", one["repo_id"], href=f"?{link}"),
        el("small", how),
    )
    values = (
        join(cells),
        words.count(one["parameters"]),
        verdict_badge(Verdict(one["verdict"]), words),
        DASH if one["headroom_bytes"] is None else words.gib(one["headroom_bytes"]),
        DASH if rate is None else words.speed(rate["likely"]),
        DASH if longest is None else words.whole(longest),
    )
    return el(
        "tr",
        el("th", str(one["rank"]), scope="row", class_=_class("rank")),
        join(
            el("td", value, class_=_class(name), data_label=words(f"column.{name}"))
            for name, value in zip(_HEAD[1:], values, strict=True)
        ),
    )


def _class(name: str) -> str:
    return f"gs-col-{name} gs-number" if name in _NUMBERS else f"gs-col-{name}"
