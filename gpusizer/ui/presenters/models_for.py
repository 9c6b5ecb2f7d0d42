"""The models that a card or a machine runs: their number by kind, and the list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import pandas as pd

from gpusizer.answers.models_for.models_answer import ModelsFor
from gpusizer.core.units import GIB
from gpusizer.fit.fit import Verdict
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.ui.presenters.grid import Column, Grid, named, shown
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.marks import verdict_badge
from gpusizer.ui.presenters.words import Words

_BILLION = 10**9
COLUMNS = (
    Column("model", "html"),
    Column("size"),
    Column("verdict", "html"),
    Column("headroom"),
    Column("speed"),
    Column("max_context"),
)


def models_for_html(answer: ModelsFor, words: Words) -> Html:
    """Write the part above the list: how many models of each kind run, and the notes."""
    data = answer.to_json(words.note)
    hardware = answer.request.rig or answer.request.gpu
    return el(
        "section",
        words.heading("reverse", gpu=hardware, found=data["found"], considered=data["considered"]),
        _tasks(data["by_task"], words),
        el("ul", join(el("li", note["message"]) for note in data["notes"]), class_="gs-notes")
        if data["notes"]
        else None,
        None if data["models"] else el("p", words("reverse.nothing"), class_="gs-empty"),
        class_="gs-section",
        id="gs-reverse",
    )


def _tasks(by_task: Mapping[str, Mapping[str, Any]], words: Words) -> Html:
    """Write a tile for each kind of model: how many run, and the best of them."""
    tiles = [
        el(
            "article",
            el("h3", words(f"task.{task}")),
            el(
                "p",
                words.whole(sum(counts.get(verdict.value, 0) for verdict in Verdict)),
                class_="gs-big",
            ),
            el("p", words("reverse.best", model=counts["best"]), class_="gs-small"),
            class_="gs-tile",
        )
        for task, counts in by_task.items()
    ]
    return el("div", join(tiles), class_="gs-tiles")


def models_grid(answer: ModelsFor, words: Words) -> Grid:
    """Build the grid of models that run; each name is a link to the model's own answer."""
    models = answer.to_json(words.note)["models"]
    facts = pd.DataFrame(models, dtype=object)
    values = pd.DataFrame(
        {
            "model": facts["repo_id"],
            "size": (facts["parameters"] / _BILLION).round(3),
            "verdict": [Verdict(verdict).place for verdict in facts["verdict"]],
            "headroom": (facts["headroom_bytes"] / GIB).round(2),
            "speed": [rate and rate["likely"] for rate in facts["decode_tokens_per_second"]],
            "max_context": facts["max_context"],
        }
    )
    cells = pd.DataFrame(
        {
            "model": [_model(model, answer.request.gpu, words) for model in models],
            "size": shown(facts["parameters"], words.count),
            "verdict": [verdict_badge(Verdict(name), words) for name in facts["verdict"]],
            "headroom": shown(facts["headroom_bytes"], words.gib),
            "speed": shown(values["speed"], words.speed),
            "max_context": shown(facts["max_context"], words.whole),
        }
    )
    return Grid(values, cells)


def _model(model: Mapping[str, Any], gpu: str, words: Words) -> Html:
    """Write the model's ID as a link to its answer on the same GPU, with its configuration."""
    context = {} if model["context"] == DEFAULT_CONTEXT else {"context": model["context"]}
    gpus = {"gpus": gpu} if gpu else {}
    query = urlencode({"model": model["repo_id"], **context, **gpus}, safe="/,", errors="replace")
    way = f"{model['quant_name']} · {model['engine_name']} · {words('task.' + model['task'])}"
    return named(el("a", model["repo_id"], href=f"?{query}"), way)
