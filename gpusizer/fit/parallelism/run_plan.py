"""RunPlan: one way to run a model on boards of one kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpusizer.core.messages import Note
from gpusizer.fit.fit import Fit
from gpusizer.fit.parallelism.platforms import BoardLink
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
