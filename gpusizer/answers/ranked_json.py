"""The JSON of a place in the ranking: how a model runs on boards of a GPU, and what that costs."""

from __future__ import annotations

from gpusizer.answers.gpu_json import price_json
from gpusizer.answers.json_shapes import Json, Said, shape
from gpusizer.core.messages import Say
from gpusizer.fit.fit import Fit
from gpusizer.fit.losses import quality_at
from gpusizer.fit.parallelism.platforms import BoardLink, setup_of
from gpusizer.fit.parallelism.run_plan import RunPlan
from gpusizer.fit.ranking import Alternative, Ranked
from gpusizer.fit.speed import Speeds
from gpusizer.memory.engines import Split

_SPEEDS = {
    "decode": "decode_tokens_per_second",
    "per_user": "decode_tokens_per_second_per_user",
    "total": "decode_tokens_per_second_total",
    "prefill": "prefill_tokens_per_second",
    "first_token": "time_to_first_token_seconds",
    "serving": "serving_tokens_per_second",
}
"""Rates of `Speeds` under the report's names; where a part of the model lies in system memory or on
the disk, a place has those of one user."""


def _own_units(item: Ranked) -> Json:
    """Rates of models that nobody reads a stream of tokens from, None for others."""
    return {"read_tokens_per_second": item.read, "audio_seconds_per_second": item.heard}


def ranked_json(item: Ranked) -> Json:
    """The contract's ranking object; `largest`, `advice` and `plans` only for GPUs named in the
    request."""
    fit, speeds = item.fit, item.speeds
    several = {"served": item.served, "speculation": item.speculation}
    named_only: Json = {}
    if item.largest is not None:
        named_only = {"largest": item.largest, "advice": item.advice, "plans": item.plans}
    return {
        "rank": item.rank,
        "gpu": fit.gpu.slug,
        "gpu_name": fit.gpu.name,
        "count": fit.count,
        "quant": fit.estimate.quant.slug,
        "engine": fit.estimate.engine.slug,
        "quality": quality_at(fit.estimate),
        "verdict": fit.verdict,
        "headroom_bytes": fit.headroom_bytes,
        "per_gpu_bytes": fit.way.fullest_gpu_bytes,
        "usable_bytes": fit.gpu.device_free_bytes,
        "max_context": fit.max_context,
        "max_concurrency": fit.max_concurrency,
        **{field: getattr(speeds or item, name, None) for name, field in _SPEEDS.items()},
        "speed_basis": speeds and _basis_json(speeds),
        **{name: rate for name, rate in _own_units(item).items() if rate is not None},
        **{name: value for name, value in several.items() if value is not None},
        "parallelism": _parallelism_json(fit),
        "price": _price_json(item),
        "loading": item.load_times,
        "power_watts": item.power_watts,
        "score": item.score,
        "why": Said(item.why),
        "reasons": item.reasons,
        **named_only,
    }


def _price_json(item: Ranked) -> Json:
    """Prices of all boards together. A million tokens costs that while so many users keep the
    boards busy."""
    users = item.speeds.users if item.speeds else None
    price = {**price_json(item.costs), "usd_per_million_tokens_users": users}
    return {**price, "caveats": item.costs.notes()}


def _basis_json(speeds: Speeds) -> Json:
    """What all speeds assume; "fitted" on runs of so many sources, of this kind of engine on such
    GPUs, or "assumed" from others."""
    return {
        "decode": _stands_on(speeds.decode_runs, speeds.decode_sources),
        "prefill": _stands_on(speeds.prefill_runs, speeds.prefill_sources),
        "users": speeds.users,
        "serving_users": speeds.serving_users,
        "prompt_tokens": speeds.prompt,
        "answer_tokens": speeds.answer,
    }


def _stands_on(runs: int, sources: int) -> Json:
    provenance = "fitted" if runs else "assumed"
    return {"provenance": provenance, "measured_runs": runs, "sources": sources}


def _parallelism_json(fit: Fit) -> Json:
    """Degrees, and the machines they take.

    `interconnect` is what the GPUs talk over (null for one); `platform` null where any machine
    with the slots does. `nodes` above 1 means that they talk over a network.
    """
    setup = setup_of(fit.gpu, fit.count)
    return {
        **_degrees(fit.estimate.split),
        "nodes": setup.nodes,
        "platform": setup.platform,
        "interconnect": _link(setup.link),
    }


def _degrees(split: Split) -> Json:
    return {name: getattr(split, name) for name in ("tensor", "pipeline", "data", "expert")}


def _link(link: BoardLink) -> BoardLink | None:
    return None if link.kind == "none" else link


@shape.register
def _plan(plan: RunPlan, say: Say) -> Json:
    """One of `plans`: `kind` is a PlanKind; what depends on a fit is null where there is none."""
    fit = plan.fit
    return {
        "kind": plan.kind,
        "gpu": plan.gpu.slug,
        "count": plan.boards,
        "nodes": plan.nodes,
        "platform": plan.platform,
        "parallelism": _degrees(plan.split),
        "interconnect": _link(plan.link),
        "verdict": plan.verdict,
        "quant": fit and fit.estimate.quant.slug,
        "engine": fit and fit.estimate.engine.slug,
        "headroom_bytes": fit and fit.headroom_bytes,
        "per_gpu_bytes": fit and fit.estimate.per_gpu.total.likely,
        "ram_bytes": plan.ram_bytes,
        "max_context": fit and fit.max_context,
        "decode_tokens_per_second": plan.decode,
        "notes": plan.notes,
    }


def alternative_json(alternative: Alternative) -> Json:
    """The contract's alternative object: a kind, and an entry of the ranking."""
    return {
        "kind": alternative.kind,
        "is_first": alternative.is_first,
        **ranked_json(alternative.item),
        "why": Said(alternative.why),
        "break_even_months_of_first": alternative.break_even_months,
    }
