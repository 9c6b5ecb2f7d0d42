"""RunPlan: one way to run a model on boards of one kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from gpusizer.engines import Split
from gpusizer.fit import Fit, Verdict
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.notes import Note
from gpusizer.plans.platforms import Link
from gpusizer.speed import Rate

PlanKind = Literal[
    "single", "tensor", "pipeline", "tensor_pipeline", "expert",
    "offload_layers", "offload_experts",
]  # fmt: skip
"""One board; each matrix divided; whole layers per board; both; routed experts dealt out whole;
layers, or routed experts alone, in system memory."""

PLAN_KINDS: tuple[PlanKind, ...] = get_args(PlanKind)


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One way to run a model.

    Attributes:
        boards: of this GPU, over all nodes.
        nodes, platform: machines it takes, and their name where the table of platforms has one.
        split: how the model is divided over the devices of the boards.
        link: what they talk over; across nodes that is the network.
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
    link: Link
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

    def to_json(self) -> dict[str, Any]:
        """JSON object; `from_json` is the inverse. Programs get the report's flatter form."""
        return {
            "kind": self.kind,
            "gpu": self.gpu.slug,
            "boards": self.boards,
            "nodes": self.nodes,
            "platform": self.platform,
            "split": asdict(self.split),
            "link": self.link.to_json(),
            "ram_bytes": self.ram_bytes,
            "fit": None if self.fit is None else self.fit.to_json(),
            "decode": None if self.decode is None else self.decode.to_json(),
            "notes": [note.to_json() for note in self.notes],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], catalogue: Catalogue) -> RunPlan:
        """Inverse of `to_json`. Raises UnknownGpu when the catalogue lacks the GPU."""
        fit, decode = data["fit"], data["decode"]
        return cls(
            **{
                **data,
                "gpu": catalogue.find(data["gpu"]),
                "split": Split(**data["split"]),
                "link": Link(**data["link"]),
                "fit": None if fit is None else Fit.from_json(fit, catalogue),
                "decode": None if decode is None else Rate(**decode),
                "notes": tuple(Note.from_json(note) for note in data["notes"]),
            }
        )
