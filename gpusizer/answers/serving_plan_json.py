"""The JSON of a serving plan."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from gpusizer.answers.launch.deployment import Deployment, cheapest_deployment
from gpusizer.fit.losses import quality_at
from gpusizer.fit.serving.target import ServingTarget
from gpusizer.fit.serving_plan import Replicas, ServingPlan
from gpusizer.model.profile import ModelProfile


def serving_plan_json(plan: ServingPlan, profile: ModelProfile) -> dict[str, Any]:
    """The contract's `serving_plan` object; `deploy` is about its first row."""
    deployment = cheapest_deployment(plan, profile)
    return {
        "target": _target_json(plan.target),
        "rows": list(map(_row_json, plan.rows)),
        "deploy": deployment and _deploy_json(deployment),
        "notes": plan.notes,
    }


def _deploy_json(deployment: Deployment) -> dict[str, Any]:
    replica = deployment.replica
    return {
        "command": replica.text or None,
        "compose": deployment.compose or None,
        "kubernetes": deployment.kubernetes or None,
        "notes": (*replica.notes, *deployment.notes),
    }


def _row_json(row: Replicas) -> dict[str, Any]:
    likely, low, high = row.ttft_seconds
    costs, split = row.costs, row.estimate.split
    high_count = None if row.high_replicas is None else row.high_replicas * row.boards
    return {
        "gpu": row.gpu.slug,
        "gpu_name": row.gpu.name,
        "gpus": {
            "low": row.low_replicas * row.boards,
            "likely": row.total_boards,
            "high": high_count,
        },
        "replicas": row.replicas,
        "gpus_per_replica": row.boards,
        "machines_per_replica": row.machines_per_replica,
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
        "buy_usd": costs.buy_usd,
        "buy_is_own": None if costs.buy is None else costs.buy_is_own,
        "rent_usd_per_hour": costs.rent_usd_per_hour,
        "rent_is_own": None if costs.rent is None else costs.rent.own,
        "owned_usd_per_hour": None
        if costs.owned_usd_per_hour is None
        else round(costs.owned_usd_per_hour, 4),
        "usd_per_million_tokens": costs.usd_per_million_tokens,
        "usd_per_million_tokens_owned": costs.usd_per_million_tokens_owned,
        "token_prices": row.tokens and asdict(row.tokens),
        "provenance": "fitted",
    }


def _target_json(target: ServingTarget) -> dict[str, Any]:
    """The request's fields."""
    ttft = target.ttft_seconds
    return {
        "requests_per_second": target.requests_per_second,
        "prompt_tokens": target.prompt_tokens,
        "answer_tokens": target.answer_tokens,
        "ttft_ms": None if ttft is None else ttft * 1000,
        "ttft_percentile": target.ttft_percentile,
        "shared_prefix_tokens": target.shared_prefix_tokens,
        "peak_to_mean": target.peak_to_mean,
        "api_usd_per_million": target.api_usd_per_million,
    }
