"""Reinforcement learning: the peak of a rollout engine and that of the update."""

from __future__ import annotations

import pytest

from gpusizer.cli.details import details_text
from gpusizer.core.errors import InvalidRequest
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.rollout import Rollout, rollout_of
from gpusizer.training.stacks import find_stack
from tests.training_cases import GIB, of
from tests.unit.test_training_report import answer, as_json

PARAMETERS = 8_030_261_248
CARD = 80 * GIB


def rollout(**settings: object) -> Rollout:
    plan = TrainingPlan(rollout_share=0.3, packed=True).changed(**settings)
    stack = find_stack(plan.framework, plan.framework_version)
    found = rollout_of(of().estimate(plan), plan, stack, PARAMETERS, CARD)
    assert found is not None
    return found


def test_an_engine_that_stays_awake_is_beside_both_peaks() -> None:
    """0.3 of 80 GiB: beside 16-bit weights, adapters' states and CUDA, then beside the update."""
    peaks, memory = rollout(), of().estimate(TrainingPlan(packed=True))
    engine = round(0.3 * CARD)
    assert peaks.engine_bytes == engine == peaks.beside_update_bytes
    kept = memory.weights.likely + memory.optimizer.likely + int(0.6 * GIB)
    assert peaks.generation.likely == kept + engine
    assert peaks.update.likely == memory.needed.likely + engine
    assert peaks.need == peaks.update
    assert peaks.update.high - peaks.update.likely == memory.needed.high - memory.needed.likely
    assert peaks.weights_bytes == 2 * PARAMETERS and peaks.loads


def test_an_engine_that_sleeps_leaves_two_peaks_of_which_the_larger_counts() -> None:
    short, long = rollout(rollout_sleeps=True), rollout(rollout_sleeps=True, sequence_length=65_536)
    assert short.need == short.generation
    assert long.need == long.update and long.beside_update_bytes == 0
    assert long.generation == short.generation
    alone = of().estimate(TrainingPlan(packed=True, sequence_length=65_536))
    assert long.update.likely == alone.needed.likely


def test_unsloth_holds_one_set_of_weights_for_both() -> None:
    """Its engine's share has them; the update needs the rest beside it."""
    changes = {"framework": "unsloth", "method": "qlora"}
    peaks = rollout(**changes)
    memory = of().estimate(TrainingPlan(packed=True).changed(**changes))
    assert peaks.weights_bytes == memory.weights.likely
    rest = memory.needed.likely - memory.weights.likely
    assert peaks.update.likely == round(0.3 * CARD) + rest
    before = rollout(**changes, framework_version="2024.10")
    assert before.beside_update_bytes == round(0.3 * CARD)


def test_without_a_share_there_is_no_engine_on_the_card() -> None:
    plan = TrainingPlan()
    assert rollout_of(of().estimate(plan), plan, find_stack("trl"), PARAMETERS, CARD) is None


@pytest.mark.parametrize(
    "share, sleeps, verdict", [(0.3, False, "fits"), (0.9, False, "does_not_fit")]
)
def test_a_card_holds_both_or_not(share: float, sleeps: bool, verdict: str) -> None:
    report = answer(gpu="h100 sxm", gpu_count=1, rollout_share=share, rollout_sleeps=sleeps)
    (place,) = report.ranking
    assert place.fit.verdict.value == verdict
    data = as_json(report)
    shown = data["ranking"][0]["rollout"]
    assert shown["engine_bytes"] == round(share * place.fit.gpu.device_memory_bytes)
    assert data["answer"]["facts"]["need_bytes"] == shown["update_bytes"]
    assert place.fit.headroom_bytes == place.fit.gpu.device_free_bytes - shown["update_bytes"]
    assert "training_rollout" in {note.code for note in place.reasons}
    assert "rollout" in details_text(data)
    alone = answer(gpu="h100 sxm", gpu_count=1)
    assert "rollout" not in as_json(alone)["ranking"][0]
    assert place.largest is not None and alone.ranking[0].largest is not None
    assert place.largest.sequence_length < alone.ranking[0].largest.sequence_length


def test_a_share_that_does_not_hold_the_model_does_not_run() -> None:
    """16.1 GB of weights in a fifth of 24 GB."""
    report = answer(gpu="rtx 4090", gpu_count=1, method="qlora", rollout_share=0.2)
    (place,) = report.ranking
    assert place.fit.verdict.value == "does_not_fit" and place.fit.headroom_bytes > 0
    assert "training_rollout_too_small" in {note.code for note in place.reasons}


def test_a_share_smaller_than_the_shared_weights_takes_nothing_beside_them() -> None:
    """16.1 GB of weights that Unsloth holds once, in a hundredth of 80 GiB: 0.86 GB."""
    peaks = rollout(framework="unsloth", rollout_share=0.01)
    memory = of().estimate(TrainingPlan(packed=True, framework="unsloth"))
    assert peaks.engine_bytes == round(0.01 * CARD) < peaks.weights_bytes
    assert not peaks.loads and peaks.beside_update_bytes == 0
    assert peaks.update == memory.needed
    report = answer(gpu="h100 sxm", gpu_count=1, framework="unsloth", rollout_share=0.01)
    assert report.ranking[0].fit.verdict.value == "does_not_fit"
    assert as_json(report)["ranking"][0]["rollout"]["engine_bytes"] > 0


@pytest.mark.parametrize("share", [0, 1, -0.2])
def test_a_share_is_between_nothing_and_all(share: float) -> None:
    with pytest.raises(InvalidRequest):
        answer(rollout_share=share)
