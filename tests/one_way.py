"""The way to run a model on a machine, as each door tells it: they have to tell the same one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from gpusizer.cli.batch import answer_line
from gpusizer.fit.machine_parser import MOST_CARDS
from gpusizer.fit.run_config import RunConfig
from gpusizer.hub.card_statements import ModelCardStatement
from gpusizer.ui.page.answering import answer
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.server.answer_cache import AnswerCache
from gpusizer.usecases.model_card.asking import Asking
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.use_cases import USE_CASES
from tests.documents import written
from tests.sizers import unlimited_budget

Json = Mapping[str, Any]

FAMOUS = (
    "meta-llama/Llama-3.1-8B",
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3-32B",
    "Qwen/Qwen3-30B-A3B",
    "deepseek-ai/DeepSeek-R1",
    "google/gemma-3-27b-it",
    "microsoft/phi-4",
    "openai/gpt-oss-20b",
    "openai/gpt-oss-120b",
    "mistralai/Mistral-7B-v0.1",
    "meta-llama/Llama-3.3-70B-Instruct",
    "black-forest-labs/FLUX.1-dev",
)
GPUS = (
    "rtx-4060-8gb",
    "rtx-3060-12gb",
    "arc-pro-b60-24gb",
    "rtx-4090-24gb",
    "rtx-5090-32gb",
    "rtx-a6000-48gb",
    "l40s-48gb",
    "a100-sxm-80gb",
    "h100-sxm-80gb",
    "instinct-mi300x-192gb",
    "apple-m3-ultra-512gb",
    "tesla-t4-16gb",
)


class Told(NamedTuple):
    """Facts that a door states of a run config."""

    quant: str
    engine: str
    boards: int
    verdict: str
    fullest_gpu_bytes: int
    tokens_per_second: float | None


Door = Callable[[Sizer, str, str, int], Told | None]


def of_place(place: Json) -> Told:
    """Return the facts of a place of a ranking, a card, or a row of models."""
    return Told(
        place["quant"],
        place["engine"],
        place["count"],
        place["verdict"],
        place["per_gpu_bytes"],
        _likely(place),
    )


def _likely(place: Json) -> float | None:
    speed = place["decode_tokens_per_second"]
    return speed["likely"] if speed else None


def _ask(sizer: Sizer, command: str, **fields: Any) -> Json:
    return written(USE_CASES[command].ask(sizer, fields))


@cache
def places_of_ranking(sizer: Sizer, model: str, rank_by: str = "recommended") -> dict[str, Json]:
    """Return the places of a ranking of all GPUs, by GPU."""
    places = _ask(sizer, "size", model=model, top=0, card=False, rank_by=rank_by)["ranking"]
    return {place["gpu"]: place for place in places}


def ranking(sizer: Sizer, model: str, rank_by: str = "recommended") -> dict[str, Told]:
    """Every GPU of a ranking and what it tells."""
    places = places_of_ranking(sizer, model, rank_by)
    return {gpu: of_place(place) for gpu, place in places.items()}


def _named(sizer: Sizer, model: str, gpu: str, boards: int) -> Json:
    report = _ask(sizer, "size", model=model, gpu=f"{boards}x {gpu}", card=False)
    place: Json = report["ranking"][0]
    return place


def _side_by_side(sizer: Sizer, model: str, gpu: str, boards: int) -> Json:
    compared = _ask(sizer, "compare", model=model, gpus=[f"{boards}x {gpu}"])
    place: Json = compared["gpus"][0]["fit"]
    return place


def _models_for(sizer: Sizer, model: str, gpu: str, boards: int) -> Json | None:
    """Return the row of the model, or None: it is listed only if it fits."""
    found = _ask(sizer, "models-for", gpu=f"{boards}x {gpu}", models=[model])
    return {**found["models"][0], "count": found["count"]} if found["models"] else None


def _rig(sizer: Sizer, model: str, gpu: str, boards: int) -> Told | None:
    if boards > MOST_CARDS:
        return None
    machine = f"{boards}x {gpu}"  # the one GPU of the ranking, too, which has no part in the rig
    rig = _ask(sizer, "size", model=model, rig=machine, gpu=machine, card=False)["rig"]
    fullest = max(device["total_bytes"] for device in rig["devices"])
    return Told(rig["quant"], rig["engine"], boards, rig["verdict"], fullest, _likely(rig))


def _plan(sizer: Sizer, model: str, gpu: str, boards: int) -> Told | None:
    """Return the plan that divides the model as the chosen way; None for one partly in memory."""
    report = _ask(sizer, "size", model=model, gpu=f"{boards}x {gpu}", card=False)
    place = report["ranking"][0]
    if place["verdict"] == "offload":
        return None
    degrees = {name: place["parallelism"][name] for name in ("tensor", "pipeline")}
    for plan in place["plans"]:
        same = degrees.items() <= plan["parallelism"].items() and plan["count"] == boards
        if same and not plan["kind"].startswith("offload"):
            return of_place(plan)
    return None


def _batch(sizer: Sizer, model: str, gpu: str, boards: int) -> Json:
    line = json.dumps({"model": model, "gpu": gpu, "gpu_count": boards, "card": False})
    place: Json = answer_line(sizer, line)["ranking"][0]
    return place


def _cached(sizer: Sizer, model: str, gpu: str, boards: int) -> Json:
    """Return a place as `/v1`, the endpoints and MCP answer it."""
    fields = {"model": model, "gpu": gpu, "gpu_count": boards, "card": False}
    place: Json = AnswerCache(sizer).answer("size", fields).json()["ranking"][0]
    return place


def _card_statement(sizer: Sizer, model: str, gpu: str, boards: int) -> Told | None:
    """Return the verdict on an author's "runs on"; the quantization is the checkpoint's own."""
    request = SizeRequest.from_fields({"model": model, "quant": "native", "card": False})
    asking = Asking(sizer.profile(request), sizer.catalogue, request, unlimited_budget())
    statement = ModelCardStatement("gpus", 1, 1, "", gpu=gpu, count=boards)
    asked = asking.ask(statement)
    config = None if asked is None else asked.config(sizer.catalogue.find(gpu), boards)
    if config is None:
        return None
    native = _ask(sizer, "size", model=model, gpu=gpu, gpu_count=boards, quant="native", card=False)
    told = of_place(native["ranking"][0])
    assert _of_way(config)[:5] == told[:5]
    return None


def _of_way(config: RunConfig) -> tuple[object, ...]:
    estimate = config.estimate
    return (
        estimate.quant.slug,
        estimate.engine.slug,
        config.boards,
        config.verdict.value,
        config.fullest_gpu_bytes,
    )


# doors that state the facts of a ranking's place for boards of one GPU
PLACES: Mapping[str, Callable[[Sizer, str, str, int], Json | None]] = {
    "--gpu": _named,
    "compare": _side_by_side,
    "models-for": _models_for,
    "batch": _batch,
    "/v1": _cached,
}


def _told(ask: Callable[[Sizer, str, str, int], Json | None]) -> Door:
    def door(*asked: Any) -> Told | None:
        place = ask(*asked)
        return None if place is None else of_place(place)

    return door


# doors that answer about boards of one GPU; None if one states nothing of them
DOORS: Mapping[str, Door] = {
    **{name: _told(ask) for name, ask in PLACES.items()},
    "rig": _rig,
    "plan": _plan,
    "model card": _card_statement,
}


def tiers_agree(sizer: Sizer, model: str) -> None:
    """Each device that the page names for 16, 8 or 4 bits is one that asking for it confirms."""
    page = answer(sizer, PageState(model))
    for tier in page.tiers:
        for place in tier.best.values():
            fit = place.fit
            asked = _ask(
                sizer,
                "size",
                model=model,
                gpu=f"{fit.count}x {fit.gpu.slug}",
                quant=fit.estimate.quant.slug,
                card=False,
            )
            told = of_place(asked["ranking"][0])
            assert told[:5] == _of_way(fit.config), (model, tier)
