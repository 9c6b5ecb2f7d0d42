"""The models that a card or a machine runs: their number by kind, and the list."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, cast

import pandas as pd

from gpusizer.answers.models_for.models_answer import ModelsFor
from gpusizer.core.units import GIB
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.workload import DEFAULT_CONTEXT
from gpusizer.ui.presenters.addresses import question_href
from gpusizer.ui.presenters.conclusion import conclusion_html
from gpusizer.ui.presenters.grid import Column, Grid, named, shown
from gpusizer.ui.presenters.html import Html, el, join
from gpusizer.ui.presenters.marks import verdict_badge
from gpusizer.ui.presenters.number_format import DASH
from gpusizer.ui.presenters.words import Words

_BILLION = 10**9
COLUMNS = (
    Column("model", "html"),
    Column("size"),
    Column("verdict", "html"),
    Column("headroom"),
    Column("speed"),
    Column("max_context"),
    Column("released"),
    Column("downloads"),
)


def models_for_html(answer: ModelsFor, words: Words) -> Html:
    """Write the part above the list: how many models of each kind run, the order, and the notes."""
    data = answer.to_json(words.note)
    return el(
        "section",
        conclusion_html(answer.conclusion, words),
        _tasks(data["by_task"], words),
        el("p", words("reverse.order", source=_source(data["use"], words)), class_="gs-order"),
        el("ul", join(el("li", note["message"]) for note in data["notes"]), class_="gs-notes")
        if data["notes"]
        else None,
        _newcomers(data["trending"], answer.request.gpu, words),
        None if data["models"] else el("p", words("reverse.nothing"), class_="gs-empty"),
        class_="gs-section",
        id="gs-reverse",
    )


def _source(use: Mapping[str, Any], words: Words) -> str:
    """Say of which day the figures of use are, and whether the Hub gave them now."""
    if use["as_of"] is None:
        return words("reverse.order_unknown")
    return words(f"reverse.order_{'live' if use['live'] else 'embedded'}", date=use["as_of"])


def _newcomers(trending: list[Mapping[str, Any]], gpu: str, words: Words) -> Html | None:
    """Write what trends on the Hub and is not stored, each a link that sizes it."""
    if not trending:
        return None
    items = [
        el(
            "li",
            el("a", model["repo_id"], href=_address(model["repo_id"], gpu, words)),
            " ",
            el("small", " · ".join(_newcomer_facts(model, words))),
        )
        for model in trending
    ]
    return el(
        "details",
        el("summary", words("reverse.trending.title")),
        el("p", words("reverse.trending.lead"), class_="gs-small"),
        el("div", el("ul", join(items)), class_="gs-copies"),
        class_="gs-details",
        id="gs-trending",
    )


def _newcomer_facts(model: Mapping[str, Any], words: Words) -> list[str]:
    size = model["parameters"]
    facts = [
        words("reverse.trending.size_unknown")
        if size is None
        else words("reverse.trending.size", size=words.count(size))
    ]
    if model["created"] is not None:
        facts.append(model["created"][:7])
    if model["license"] is not None:
        facts.append(model["license"])
    return facts


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
    """Build the grid of families that run; each name is a link to the model's own answer."""
    models = answer.to_json(words.note)["models"]
    facts = pd.DataFrame(models, dtype=object)
    families = pd.DataFrame([model["family"] for model in models], dtype=object)
    days = [day and date.fromisoformat(day) for day in families["created"]]
    values = pd.DataFrame(
        {
            "model": facts["repo_id"],
            "size": (facts["parameters"] / _BILLION).round(3),
            "verdict": [Verdict(verdict).place for verdict in facts["verdict"]],
            "headroom": (facts["headroom_bytes"] / GIB).round(2),
            "speed": [_speed(model) for model in models],
            "max_context": facts["max_context"],
            "released": [day and day.toordinal() for day in days],
            "downloads": families["downloads"],
        }
    )
    cells = pd.DataFrame(
        {
            "model": [_model(model, answer.request.gpu, words) for model in models],
            "size": shown(facts["parameters"], words.count),
            "verdict": [verdict_badge(Verdict(name), words) for name in facts["verdict"]],
            "headroom": shown(facts["headroom_bytes"], words.gib),
            "speed": [_speed_text(model, words) for model in models],
            "max_context": shown(facts["max_context"], words.whole),
            "released": [f"{day:%Y-%m}" if day else DASH for day in days],
            "downloads": shown(families["downloads"], words.count),
        }
    )
    return Grid(values, cells)


def _speed(model: Mapping[str, Any]) -> float | None:
    """The likely tokens/s, or the most that the disk allows; None where neither is known."""
    rate, disk = model["decode_tokens_per_second"], model.get("disk")
    if disk is not None:
        return cast("float | None", disk["most_tokens_per_second"])
    return None if rate is None else cast("float", rate["likely"])


def _speed_text(model: Mapping[str, Any], words: Words) -> str:
    speed = _speed(model)
    if speed is None:
        return DASH
    return words.speed(speed) if model.get("disk") is None else f"≤ {words.speed(speed)}"


def _model(model: Mapping[str, Any], gpu: str, words: Words) -> Html:
    """Write the model's ID as a link to its answer on the same GPU, with its configuration."""
    link = el("a", model["repo_id"], href=_address(model["repo_id"], gpu, words, model["context"]))
    loss, task = model["quality"]["label"], words(f"task.{model['task']}")
    way = f"{model['quant_name']} · {loss} · {model['engine_name']} · {task}"
    copies = len(model["copies"])
    if not copies:
        return named(link, way)
    more = el(
        "a",
        words("reverse.copies", count=copies),
        href="#gs-copies",
        data_copies=model["repo_id"],
        aria_haspopup="dialog",
    )
    return named(link, join((way, " · ", more)))


def copies_html(answer: ModelsFor, words: Words) -> Html:
    """Write the part below the list: the other repositories of the families that it shows.

    They stand outside of the grid because Gradio's table takes every click on a cell for itself,
    and gives all rows one height: the page's script shows those of a row in a box at the row.
    """
    models = [model for model in answer.to_json(words.note)["models"] if model["copies"]]
    if not models:
        return join(())
    gpu = answer.request.gpu
    families = [
        el(
            "section",
            el("h3", model["repo_id"]),
            el("ul", join(_copy(copy, gpu, model["context"], words) for copy in model["copies"])),
            data_family=model["repo_id"],
        )
        for model in models
    ]
    title = words("reverse.copies.title", count=sum(len(model["copies"]) for model in models))
    listed = el("div", join(families), class_="gs-copies")
    details = el("details", el("summary", title), listed, class_="gs-details", id="gs-copies")
    return el("section", details, class_="gs-section")


def _copy(copy: Mapping[str, Any], gpu: str, context: int, words: Words) -> Html:
    """Write one repository of a family: a link to its own answer, what it is, and how it runs."""
    facts = (words(f"release.{copy['kind']}"), copy["quant_name"], words.verdict(copy["verdict"]))
    return el(
        "li",
        el("a", copy["repo_id"], href=_address(copy["repo_id"], gpu, words, context)),
        el("small", " · ".join(facts)),
    )


def _address(repo_id: str, gpu: str, words: Words, context: int = DEFAULT_CONTEXT) -> str:
    """The address of a model's own answer on the same GPU."""
    used = {} if context == DEFAULT_CONTEXT else {"context": context}
    gpus = {"gpus": gpu} if gpu else {}
    return question_href({"model": repo_id, **used, **gpus}, words.language)
