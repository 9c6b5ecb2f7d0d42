"""The JSON of a family that runs: its figures of use, and its copies."""

from __future__ import annotations

from typing import Any

from gpusizer.answers.models_for.model_use import Uses
from gpusizer.answers.models_for.ordering import Family, use_of
from gpusizer.answers.models_for.search import Runs
from gpusizer.memory.estimate import MemoryEstimate


def family_json(family: Family, uses: Uses) -> dict[str, Any]:
    """What a row says beside its own model: how much that is used, the family, and its copies."""
    member = family.head.candidate.member
    created = family.use.created
    return {
        "kind": member.kind,
        **use_of(member.repo_id, uses).to_json(),
        "family": {
            "name": family.name,
            "repositories": len(family.members),
            "created": None if created is None else created.isoformat(),
            "downloads": family.use.downloads,
            "likes": family.use.likes,
            "trending_place": family.use.trending_place,
        },
        "copies": [_copy_json(runs, uses) for runs in family.copies],
    }


def model_json(runs: Runs) -> dict[str, Any]:
    """The model itself, and whether it runs."""
    profile = runs.profile
    return {
        "repo_id": profile.repo_id,
        "task": runs.task,
        "pipeline_tag": profile.pipeline_tag,
        "parameters": profile.parameters,
        "active_parameters": profile.active_parameters,
        "license": profile.license,
        "gated": profile.gated,
        "verdict": runs.verdict.value,
        "how": runs.how,
    }


def way_json(estimate: MemoryEstimate) -> dict[str, Any]:
    """The quantization and the engine that a model runs with."""
    return {
        "quant": estimate.quant.slug,
        "quant_name": estimate.quant.name,
        "native": estimate.native,
        "engine": estimate.engine.slug,
        "engine_name": estimate.engine.name,
    }


def _copy_json(runs: Runs, uses: Uses) -> dict[str, Any]:
    member = runs.candidate.member
    return {
        **model_json(runs),
        "kind": member.kind,
        **way_json(runs.way.estimate),
        **use_of(member.repo_id, uses).to_json(),
    }
