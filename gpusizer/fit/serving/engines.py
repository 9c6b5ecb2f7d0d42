"""Schedulers: what an engine takes into a step, in which order, and how many sequences at once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.memory.engines.base import Placement
from gpusizer.memory.engines.vllm.engine import VllmEngine
from gpusizer.memory.engines.vllm.eras import era_of
from gpusizer.memory.engines.vllm.version_defaults import limits_of
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

SCHEDULER_TABLE = DATA_DIR / "serving_schedulers.csv"
Order = Literal["mixed", "prompts_first"]
Holds = Literal["middle", "whole"]

_ORDERS, _HOLDS = ("mixed", "prompts_first"), ("middle", "whole")
_USUAL_STEP_TOKENS = 512  # llama.cpp's ubatch


@dataclass(frozen=True, slots=True)
class Scheduler:
    """How an engine batches.

    Attributes:
        order: "mixed" steps hold every running sequence and pieces of prompts beside them;
            "prompts_first" reads waiting prompts in steps of their own, and answers wait.
        holds: what an admitted sequence occupies of the pool: "whole" reserves its answer,
            "middle" takes blocks as the answer grows.
        step_tokens: most tokens of one step.
        max_sequences: most sequences of one rank.
    """

    order: Order
    holds: Holds
    step_tokens: int
    max_sequences: int


def scheduler_of(profile: ModelProfile, workload: Workload, estimate: MemoryEstimate) -> Scheduler:
    """The scheduler of an estimate's engine at the request's version and limits."""
    engine, slug = estimate.engine, estimate.engine.slug
    alone = replace(workload, concurrency=1)
    placement = Placement(profile, alone, estimate.split, estimate.device_class)
    if isinstance(engine, VllmEngine):
        era = era_of(workload.engine_version)
        limits = limits_of(placement, era)
        order, holds, _ = _schedulers()[f"{slug}-v0" if era.profiles_whole_prompts else slug]
        return Scheduler(order, holds, limits.tokens, limits.sequences)
    order, holds, most = _schedulers()[slug]
    tokens = engine.step_tokens(placement) or _USUAL_STEP_TOKENS
    return Scheduler(order, holds, tokens, workload.max_num_seqs or most)


@cache
def _schedulers() -> dict[str, tuple[Order, Holds, int]]:
    return dict(read_table(SCHEDULER_TABLE, _row))


def _row(row: TableRow) -> tuple[str, tuple[Order, Holds, int]]:
    order: Order = "mixed" if row.one_of("order", _ORDERS) == "mixed" else "prompts_first"
    holds: Holds = "whole" if row.one_of("holds", _HOLDS) == "whole" else "middle"
    return row.text("engine"), (order, holds, row.optional("max_sequences", int) or 0)
