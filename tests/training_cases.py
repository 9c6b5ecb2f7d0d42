"""Plans of training and their memory, for tests."""

from __future__ import annotations

from functools import cache

from bench.measurements import load_profile
from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.sharding import StateShare, share_of
from gpusizer.training.stacks import find_stack
from gpusizer.training.state import State

GIB = 2**30
MODELS = (
    "meta-llama/Llama-3.1-8B",
    "openai/gpt-oss-20b",
    "microsoft/phi-2",
    "bigscience/T0_3B",
    "Qwen/Qwen-7B",
)
PLAN = TrainingPlan(method="full", framework="torchtune")


@cache
def of(model: str = MODELS[0]) -> TrainingEstimator:
    return TrainingEstimator(load_profile(model))


def share_on(plan: TrainingPlan, state: State | None = None) -> StateShare:
    state = state or of().state(plan)
    return share_of(state, of().shape, plan, find_stack(plan.framework))


def total(plan: TrainingPlan, model: str = MODELS[0]) -> int:
    return of(model).estimate(plan).needed.likely
