"""RunPlan: one way to run a model on boards of one kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gpusizer.core.messages import Note, Say, note_json
from gpusizer.fit.fit import Fit
from gpusizer.fit.parallelism.platforms import BoardLink, setup_of
from gpusizer.fit.speed import Rate
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Split

PlanKind = Literal[
    "single",
    "tensor",
    "pipeline",
    "tensor_pipeline",
    "expert",
    "offload_layers",
    "offload_experts",
]
"""In order: one board; each matrix divided; whole layers per board; both; routed experts spread
whole over boards; layers, or routed experts alone, in system memory."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One way to run a model.

    Attributes:
        boards: of this GPU, over all nodes.
        nodes, platform: machines it takes, and their name where the table of platforms has one.
        split: how the model is divided over the devices of the boards.
        link: what joins the boards; the network where there are several nodes.
        ram_bytes: system memory that weights and cache stay in; not what loading takes.
        fit: how each device's share fits it, None where the model cannot be divided like this.
            Memory is never pooled: the fullest device decides.
        decode: tokens/s of one user, None when it does not fit or nobody knows.
        notes: why degrees were passed over, and what the one taken costs.
    """

    kind: PlanKind
    gpu: Gpu
    boards: int
    nodes: int
    platform: str | None
    split: Split
    link: BoardLink
    ram_bytes: int
    fit: Fit | None
    decode: Rate | None
    notes: tuple[Note, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether it runs; OFFLOAD where it does with part of it in system memory."""
        if self.fit is None:
            return Verdict.DOES_NOT_FIT
        runs = self.fit.verdict.all_on_gpu
        if self.kind.startswith("offload"):
            return Verdict.OFFLOAD if runs else Verdict.DOES_NOT_FIT
        return self.fit.verdict


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


def link_json(link: BoardLink) -> dict[str, Any] | None:
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
