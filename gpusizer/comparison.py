"""Comparison: GPUs side by side, and how one model runs on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusizer.gpus import Gpu
from gpusizer.listing import gpu_json
from gpusizer.notes import Say
from gpusizer.profile import ModelProfile
from gpusizer.ranking import Ranked
from gpusizer.report import SCHEMA_VERSION, model_json, ranked_json
from gpusizer.workload import Workload


@dataclass(frozen=True, slots=True)
class Compared:
    """One GPU of a comparison; `ranked` when a model was named, in the order asked for."""

    gpu: Gpu
    count: int | None
    ranked: Ranked | None

    def to_json(self, say: Say) -> dict[str, Any]:
        fit = None if self.ranked is None else ranked_json(self.ranked, say)
        return {**gpu_json(self.gpu, say), "count": self.count, "fit": fit}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer to a compare request."""

    items: tuple[Compared, ...]
    profile: ModelProfile | None
    workload: Workload | None

    def to_json(self, say: Say) -> dict[str, Any]:
        """GPUs in the order asked for, each with its `fit` or null."""
        return {
            "schema_version": SCHEMA_VERSION,
            "model": None if self.profile is None else model_json(self.profile, say),
            "workload": None if self.workload is None else self.workload.to_json(),
            "gpus": [item.to_json(say) for item in self.items],
        }
