"""Plans as programs read them."""

from __future__ import annotations

from typing import Any

from gpusizer.engines import Split
from gpusizer.fit import Fit
from gpusizer.notes import Say, note_json
from gpusizer.plans.plan import RunPlan
from gpusizer.plans.platforms import Link, setup_of


def parallelism_json(fit: Fit) -> dict[str, Any]:
    """The contract's `parallelism` object: degrees, and the machines they take.

    `interconnect` is what the GPUs talk over (null for one); `platform` null where any machine
    with the slots does. `nodes` above 1 means that they talk over a network.
    """
    setup = setup_of(fit.gpu, fit.count)
    return {
        **_degrees(fit.estimate.split),
        "nodes": setup.nodes,
        "platform": setup.platform,
        "interconnect": link_json(setup.link),
    }


def _degrees(split: Split) -> dict[str, int]:
    return {
        "tensor": split.tensor,
        "pipeline": split.pipeline,
        "data": split.data,
        "expert": split.expert,
    }


def link_json(link: Link) -> dict[str, Any] | None:
    """Kind ("fabric", "pcie", "network"), name, and bytes/s per board, both directions."""
    return None if link.kind == "none" else link.to_json()


def plan_json(plan: RunPlan, say: Say) -> dict[str, Any]:
    """One of `plans`: `kind` is a PlanKind; what depends on a fit is null where there is none."""
    fit = plan.fit
    return {
        "kind": plan.kind,
        "gpu": plan.gpu.slug,
        "count": plan.boards,
        "nodes": plan.nodes,
        "platform": plan.platform,
        "parallelism": _degrees(plan.split),
        "interconnect": link_json(plan.link),
        "verdict": plan.verdict.value,
        "quant": None if fit is None else fit.estimate.quant.slug,
        "engine": None if fit is None else fit.estimate.engine.slug,
        "headroom_bytes": None if fit is None else fit.headroom_bytes,
        "per_gpu_bytes": None if fit is None else fit.estimate.per_gpu.total.likely,
        "ram_bytes": plan.ram_bytes,
        "max_context": None if fit is None else fit.max_context,
        "decode_tokens_per_second": plan.decode.to_json() if plan.decode else None,
        "notes": [note_json(note, say) for note in plan.notes],
    }
