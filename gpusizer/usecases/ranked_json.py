"""The JSON of a place in the ranking: how a model runs on boards of a GPU, and what that costs."""

from __future__ import annotations

from gpusizer.advice.parallelism_plans import RunPlan
from gpusizer.advice.ranking import Alternative, Ranked
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Say
from gpusizer.fit.fit import Fit
from gpusizer.fit.losses import quality_at
from gpusizer.fit.platforms import BoardLink, setup_of
from gpusizer.launch.benchmark import Benchmark, benchmark
from gpusizer.launch.deployment import Deployment, cheapest_deployment
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.serving.replicas import ServingTarget
from gpusizer.serving.serving_rows import Replicas, ServingPlan
from gpusizer.speed import Speeds
from gpusizer.speed.tables import Basis
from gpusizer.usecases.gpu_json import price_json
from gpusizer.usecases.json_shapes import Json, Said, fields_of, parts, rounded, shape
from gpusizer.usecases.published_runs import runs_on
from gpusizer.usecases.quantizing import making_of

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


_OF_SOME = {
    "read": "read_tokens_per_second",
    "heard": "audio_seconds_per_second",
    "drawn": "picture_seconds",
    "served": "served",
    "speculation": "speculation",
}
"""What only some places have: models that nobody reads a stream of tokens from, several users, a
draft model."""


def ranked_json(item: Ranked) -> Json:
    """The contract's ranking object; `largest`, `advice` and `plans` only for GPUs named in the
    request."""
    fit, speeds = item.fit, item.speeds
    some = {name: getattr(item, field) for field, name in _OF_SOME.items()}
    named_only = {} if item.largest is None else parts(item, "largest", "advice", "plans")
    return {
        **parts(item, "rank", "power_watts", "score", "reasons"),
        **_fit_json(fit, item.longest_context),
        "gpu": fit.gpu.slug,
        "gpu_name": fit.gpu.name,
        "count": fit.count,
        "quality": quality_at(fit.estimate),
        "verdict": fit.verdict,
        "per_gpu_bytes": fit.way.fullest_gpu_bytes,
        "usable_bytes": fit.gpu.device_free_bytes,
        "max_concurrency": item.most_users,
        **{field: getattr(speeds or item, name, None) for name, field in _SPEEDS.items()},
        "speed_basis": speeds and _basis_json(speeds),
        **{name: value for name, value in some.items() if value is not None},
        "parallelism": _parallelism_json(fit),
        "price": _price_json(item),
        "loading": item.load_times,
        "why": Said(item.why),
        **named_only,
    }


def _fit_json(fit: Fit | None, longest_context: int | None) -> Json:
    """What of a place is null where a plan has no fit."""
    return {
        **parts(fit, "headroom_bytes"),
        "max_context": longest_context,
        "quant": fit and fit.estimate.quant.slug,
        "engine": fit and fit.estimate.engine.slug,
    }


def _price_json(item: Ranked) -> Json:
    """Prices of all boards together. A million tokens costs that while so many users keep the
    boards busy."""
    users = item.speeds.users if item.speeds else None
    if item.served is not None:
        users = max(1, round(item.served.users))
    price = {**price_json(item.costs), "usd_per_million_tokens_users": users}
    if item.drawn is not None:
        price |= parts(item.costs, "usd_per_thousand_pictures")
    return {**price, "caveats": item.costs.notes()}


def _basis_json(speeds: Speeds) -> Json:
    """Assumptions of all speeds; "fitted" on runs of some sources and cards, of this kind of
    engine on this card, its generation or its kin, or "assumed" from others."""
    return {
        **parts(speeds, "users", "serving_users"),
        "decode": _stands_on(speeds.decode_basis),
        "prefill": _stands_on(speeds.prefill_basis),
        "prompt_tokens": speeds.prompt,
        "answer_tokens": speeds.answer,
    }


def _stands_on(basis: Basis) -> Json:
    provenance = "fitted" if basis.runs else "assumed"
    counts = {"measured_runs": basis.runs, **parts(basis, "sources", "cards")}
    return {"provenance": provenance, **counts, "measured_on": basis.measured_on or None}


def _parallelism_json(fit: Fit) -> Json:
    """Degrees, and the machines they take.

    `interconnect` is what the GPUs talk over (null for one); `platform` null where any machine
    with the slots does. `nodes` above 1 means that they talk over a network.
    """
    setup = setup_of(fit.gpu, fit.count)
    degrees = parts(fit.estimate.split, *_DEGREES)
    return {**degrees, **parts(setup, "nodes", "platform"), "interconnect": _link(setup.link)}


_DEGREES = ("tensor", "pipeline", "data", "expert")


def _link(link: BoardLink) -> BoardLink | None:
    return None if link.kind == "none" else link


@shape.register
def _plan(plan: RunPlan, say: Say) -> Json:
    """One of `plans`: `kind` is a PlanKind; what depends on a fit is null where there is none."""
    return {
        **parts(plan, "kind", "nodes", "platform", "verdict", "ram_bytes", "notes"),
        **_fit_json(plan.fit, plan.longest_context),
        "gpu": plan.gpu.slug,
        "count": plan.boards,
        "parallelism": parts(plan.split, *_DEGREES),
        "interconnect": _link(plan.link),
        "per_gpu_bytes": plan.fit and plan.fit.estimate.per_gpu.total.likely,
        "decode_tokens_per_second": plan.decode,
    }


def alternative_json(alternative: Alternative) -> Json:
    """The contract's alternative object: a kind, and an entry of the ranking."""
    return {
        **parts(alternative, "kind", "is_first"),
        **ranked_json(alternative.item),
        "why": Said(alternative.why),
        "break_even_months_of_first": alternative.break_even_months,
    }


def evidence_json(profile: ModelProfile, item: Ranked, workload: Workload) -> Json:
    """The contract's `measured` of a place; `benchmark` and `quantizing` only for GPUs named in the
    request."""
    evidence: Json = {"measured": runs_on(profile, item.fit)}
    if item.largest is not None:
        evidence["benchmark"] = benchmark_of(profile, item, workload)
        evidence["quantizing"] = making_of(profile, item.fit.estimate, item.fit.gpu)
    return evidence


def benchmark_of(profile: ModelProfile, item: Ranked, workload: Workload) -> Benchmark | None:
    """The command that measures a place; None also for names that the Hub cannot have."""
    try:
        return benchmark(profile, item, workload)
    except InvalidRequest:
        return None


def serving_plan_json(plan: ServingPlan, profile: ModelProfile) -> Json:
    """The contract's `serving_plan` object; `deploy` is about its first row."""
    deployment = cheapest_deployment(plan, profile)
    return {
        "target": plan.target,
        "rows": list(map(_row_json, plan.rows)),
        "deploy": deployment and _deploy_json(deployment),
        "notes": plan.notes,
    }


def _deploy_json(deployment: Deployment) -> Json:
    replica = deployment.replica
    return {
        "command": replica.text or None,
        "compose": deployment.compose or None,
        "kubernetes": deployment.kubernetes or None,
        "notes": (*replica.notes, *deployment.notes),
    }


def _row_json(row: Replicas) -> Json:
    likely, low, high = row.ttft_seconds
    costs, split = row.costs, row.estimate.split
    high_count = None if row.high_replicas is None else row.high_replicas * row.boards
    return {
        **parts(row, "replicas", "machines_per_replica", "risky"),
        **parts(costs, "buy_usd", "rent_usd_per_hour", "usd_per_million_tokens"),
        "gpu": row.gpu.slug,
        "gpu_name": row.gpu.name,
        "gpus": {
            "low": row.low_replicas * row.boards,
            "likely": row.total_boards,
            "high": high_count,
        },
        "gpus_per_replica": row.boards,
        "tensor_parallel": split.tensor,
        "pipeline_parallel": split.pipeline,
        "quant": row.estimate.quant.slug,
        "engine": row.estimate.engine.slug,
        "quality": quality_at(row.estimate),
        "verdict": "tight" if row.tight else "fits",
        "users_per_replica": row.users,
        "most_users_per_replica": row.most_users,
        "time_to_first_token_seconds": {
            "low": low,
            "likely": likely,
            "high": high,
            "at_percentile": row.ttft_late_seconds,
        },
        "tokens_per_second_per_user": row.user_tokens_per_second,
        "buy_is_own": None if costs.buy is None else costs.buy_is_own,
        "rent_is_own": costs.rent and costs.rent.own,
        "owned_usd_per_hour": rounded(costs.owned_usd_per_hour),
        "usd_per_million_tokens_owned": costs.usd_per_million_tokens_owned,
        "token_prices": row.tokens,
        "provenance": "fitted",
    }


@shape.register
def _target(target: ServingTarget, say: Say) -> Json:
    """The request's fields."""
    fields, ttft = fields_of(target), target.ttft_seconds
    del fields["ttft_seconds"]
    return {**fields, "ttft_ms": None if ttft is None else ttft * 1000}
