"""Training: bands hold their values, and nothing more ever needs less."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.measurements import load_profile
from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.plan import CHECKPOINTING, METHODS, OFFLOADS, SHARDINGS, TrainingPlan
from gpusizer.training.stacks import stacks
from tests.training_cases import MODELS, PLAN, of, total


def test_few_measurements_give_a_wide_band() -> None:
    decoder = of().estimate(PLAN.changed(sequence_length=131_072))
    encoder = of("google-bert/bert-large-uncased").estimate(PLAN.changed(sequence_length=512))
    assert decoder.activations.high / decoder.activations.likely == pytest.approx(1.5)
    assert not of("google-bert/bert-large-uncased").measured_kind
    assert encoder.total.high > 1.2 * encoder.total.likely


plans = st.builds(
    TrainingPlan,
    method=st.sampled_from(METHODS),
    optimizer=st.sampled_from(("adamw", "adamw_8bit", "adafactor", "muon", "galore_adamw")),
    precision=st.sampled_from(("bf16", "mixed", "master")),
    sequence_length=st.integers(1, 32768),
    micro_batch=st.integers(1, 16),
    gradient_checkpointing=st.sampled_from(CHECKPOINTING),
    gradient_accumulation=st.integers(1, 4),
    lora_rank=st.integers(1, 256),
    train_embeddings=st.sampled_from((None, True, False)),
    sharding=st.sampled_from(SHARDINGS),
    gpus=st.sampled_from((1, 2, 8)),
    offload=st.sampled_from(OFFLOADS),
    fused_loss=st.booleans(),
    flash_attention=st.booleans(),
    compiled=st.booleans(),
    packed=st.sampled_from((None, True, False)),
    framework=st.sampled_from(tuple(stacks())),
)


def need(memory: TrainingMemory) -> tuple[int, int]:
    return memory.needed.likely, memory.needed.high


def parts(plan: TrainingPlan, model: str) -> tuple[int, ...]:
    memory = of(model).estimate(plan)
    whole = memory.total
    return (*need(memory), whole.low, whole.likely, whole.high)


@settings(max_examples=120, deadline=None)
@given(plan=plans, model=st.sampled_from(MODELS), more=st.integers(1, 5000), data=st.data())
def test_more_work_never_needs_less(
    plan: TrainingPlan, model: str, more: int, data: st.DataObject
) -> None:
    name = data.draw(
        st.sampled_from(("sequence_length", "micro_batch", "lora_rank", "gradient_accumulation"))
    )
    values: dict[str, Any] = {name: getattr(plan, name) + more}
    before, after = (
        need(of(model).estimate(plan)),
        need(of(model).estimate(plan.changed(**values))),
    )
    assert all(a >= b - 4 for a, b in zip(after, before, strict=True))


def test_a_margin_of_loading_is_of_all_that_is_loaded() -> None:
    """A greater rank leaves less of what is on its way beside its states, but no less margin."""
    plan = TrainingPlan(method="qlora", framework="axolotl", sequence_length=1)
    memory = [of("openai/gpt-oss-20b").estimate(plan.changed(lora_rank=r)) for r in range(1, 256)]
    assert (memory[0].phase, memory[-1].phase) == ("loading", "backward")
    for least, most in pairwise(map(need, memory)):
        assert least[0] <= most[0] and least[1] <= most[1]


@settings(max_examples=80, deadline=None)
@given(plan=plans, model=st.sampled_from(MODELS), factor=st.integers(2, 5))
def test_a_larger_model_never_needs_less(plan: TrainingPlan, model: str, factor: int) -> None:
    """The larger model has the layers `factor` times over."""
    small, large = of(model), TrainingEstimator(load_profile(model))
    shape = small.shape
    large.shape = replace(
        shape,
        matrices=tuple(
            replace(m, copies=m.copies * factor, used=m.used * factor) for m in shape.matrices
        ),
        norm_widths=shape.norm_widths * factor,
        other=shape.other * factor,
        layers=shape.layers * factor,
    )
    assert large.estimate(plan).needed.likely >= small.estimate(plan).needed.likely - 4


@settings(max_examples=80, deadline=None)
@given(plan=plans, model=st.sampled_from(MODELS))
def test_bands_hold_their_likely_value(plan: TrainingPlan, model: str) -> None:
    memory = of(model).estimate(plan)
    assert memory.total.low <= memory.total.likely <= memory.total.high
    assert 0 <= memory.reclaimable.likely <= memory.reserve.likely
    assert memory.host >= 0


@pytest.mark.parametrize("name", ["gradient_checkpointing", "fused_loss", "flash_attention"])
def test_mitigations_save(name: str) -> None:
    better = {"gradient_checkpointing": "full", "fused_loss": True, "flash_attention": True}[name]
    worse = {"gradient_checkpointing": "none", "fused_loss": False, "flash_attention": False}[name]
    plan = TrainingPlan(sequence_length=8192, gradient_checkpointing="none")
    assert total(plan.changed(**{name: better})) < total(plan.changed(**{name: worse}))
