"""The work of an answer: by kinds of layers and patterns of tensors, within a budget of time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from gpusizer.api.model_profile import ArchitectureInfo
from gpusizer.composition import stored
from gpusizer.core.errors import LimitsExceeded
from gpusizer.core.messages import Note
from gpusizer.core.settings import Settings
from gpusizer.core.time_budget import TimeBudget, own_budget
from gpusizer.gpus import load_catalogue
from gpusizer.hub.snapshot import Component, RepoSnapshot, Totals
from gpusizer.model.profile import build_profile
from gpusizer.usecases.sizer import Sizer
from tests.asking import compare, models_for, placing, size, training
from tests.builders import group, llama, snapshot, tiny
from tests.counting import steps_of
from tests.documents import part
from tests.gguf_snapshots import gguf_snapshot
from tests.hub_emulator.gguf_models import llama_metadata, llama_tensors
from tests.sizers import unlimited_budget

CATALOGUE = load_catalogue()
CARDS = ["4090", "8x H200"]
MODEL = {"model": "org/model"}


def alternating(layers: int, stored: int) -> RepoSnapshot:
    """Return a configuration of `layers` sliding and full layers in turn, over the stored ones.

    It has a repository of its own, so that caches do not compare one with the other.
    """
    kinds = ["full_attention" if n % 2 else "sliding_attention" for n in range(layers)]
    config = {"num_hidden_layers": layers, "layer_types": kinds, "sliding_window": 1024}
    repo = tiny(layers=stored, model_type="gemma3_text", config=config)
    return replace(repo, repo_id=f"layers/{layers}")


def patterned(patterns: int) -> RepoSnapshot:
    """Return a tiny llama with `patterns` more patterns of matrices."""
    tensors = tiny().components[0].tensors
    more = (
        group(f"model.layers.{{}}.mlp.x{n}.weight", (64, 64), range(4)) for n in range(patterns)
    )
    return snapshot([*tensors, *more], dict(tiny().components[0].config or {}))


Ask = Callable[[RepoSnapshot, Callable[[], TimeBudget]], object]


def sizer(repo: RepoSnapshot, new_budget: Callable[[], TimeBudget]) -> Sizer:
    return Sizer(lambda ref: repo, CATALOGUE, new_budget=new_budget)


ANSWERS: dict[str, Ask] = {
    "size": lambda repo, budget: size(sizer(repo, budget), MODEL),
    "compare": lambda repo, budget: compare(sizer(repo, budget), {**MODEL, "gpus": CARDS}),
    "models-for": lambda repo, budget: models_for(
        sizer(repo, budget), {"gpu": "4090", "models": ["org/model"]}
    ),
    "train": lambda repo, budget: training(sizer(repo, budget), MODEL),
    "desk": lambda repo, budget: placing(
        sizer(repo, budget), {"models": ["org/model"], "gpu": "2x 3090 + 32 GB RAM"}
    ),
}

STEPS_OF_A_LAYER = {"size": 2_000, "compare": 2_000, "models-for": 500, "train": 500, "desk": 2_000}
STEPS_OF_A_PATTERN = {
    "size": 4_000,
    "compare": 8_000,
    "models-for": 1_000,
    "train": 4_000,
    "desk": 4_000,
}


@pytest.mark.parametrize("name", ANSWERS)
def test_layers_that_are_not_stored_cost_nothing(name: str) -> None:
    answer = ANSWERS[name]
    honest, claiming = alternating(4, 4), alternating(10_000, 4)
    answer(honest, unlimited_budget)  # tables are loaded once
    answer(claiming, unlimited_budget)

    def least_steps(snapshot: RepoSnapshot) -> int:
        """Return the fewest steps of three answers: the first clears other tests' caches."""
        return min(steps_of(lambda: answer(snapshot, unlimited_budget)) for _ in range(3))

    assert least_steps(claiming) < least_steps(honest) + 1_000


@pytest.mark.parametrize("name", ANSWERS)
def test_costs_are_summed_by_kind_of_layer(name: str) -> None:
    answer = ANSWERS[name]
    few, many = alternating(100, 100), alternating(500, 500)
    answer(tiny(), unlimited_budget)
    steps = steps_of(lambda: answer(few, unlimited_budget))
    # An answer makes hundreds of estimates. Each layer is looked at for some of them, not for all.
    assert steps_of(lambda: answer(many, unlimited_budget)) - steps < 400 * STEPS_OF_A_LAYER[name]


@pytest.mark.parametrize("name", ANSWERS)
def test_costs_grow_slowly_with_patterns(name: str) -> None:
    answer = ANSWERS[name]
    few, more = patterned(50), patterned(150)
    answer(tiny(), unlimited_budget)
    steps = steps_of(lambda: answer(few, unlimited_budget))
    assert steps_of(lambda: answer(more, unlimited_budget)) - steps < 100 * STEPS_OF_A_PATTERN[name]


@pytest.mark.parametrize(("claimed", "layers"), [(4, 4), (10_000, 4), (5, 4)])
def test_layers_are_at_most_those_stored(claimed: int, layers: int) -> None:
    profile = build_profile(alternating(claimed, 4))
    assert profile.architecture is not None
    assert profile.architecture.layers == layers
    assert sum(run.count for run in profile.architecture.layer_plan) == layers
    notes = [note for note in profile.caveats if note.code == "layers_not_stored"]
    expected = [Note("layers_not_stored", claimed=claimed, layers=layers)]
    assert notes == (expected if claimed > layers else [])
    assert ("claimed_layers" in part(ArchitectureInfo, profile.architecture)) is (claimed > layers)


def test_draft_layers_count_as_stored() -> None:
    tensors = [
        *tiny().components[0].tensors,
        group("mtp.layers.{}.self_attn.q_proj.weight", (256, 256), [0]),
    ]
    config = dict(tiny().components[0].config or {})
    for claimed in (4, 5):
        arch = build_profile(
            snapshot(tensors, {**config, "num_hidden_layers": claimed})
        ).architecture
        assert arch is not None
        assert (arch.layers, arch.claimed_layers) == (claimed, None)


def test_layers_that_share_their_weights_are_as_many_as_claimed() -> None:
    """ALBERT stores one layer and runs it twelve times."""
    tensors = [
        group("albert.embeddings.word_embeddings.weight", (1000, 128)),
        group(
            "albert.encoder.albert_layer_groups.{}.albert_layers.{}.ffn.weight", (9, 9), [0], [0]
        ),
    ]
    config = {"model_type": "albert", "num_hidden_layers": 12, "num_hidden_groups": 1}
    arch = build_profile(snapshot(tensors, config)).architecture
    assert arch is not None
    assert arch.layers == 12


def test_layers_of_gguf_files_are_at_most_those_stored() -> None:
    metadata = {**llama_metadata(), "llama.block_count": 900}
    honest = build_profile(gguf_snapshot(llama_metadata(), llama_tensors())).architecture
    arch = build_profile(gguf_snapshot(metadata, llama_tensors())).architecture
    assert arch is not None and honest is not None
    assert (arch.layers, arch.claimed_layers) == (honest.layers, 900)


@pytest.mark.parametrize(("layers", "known"), [(1_000, True), (1_001, False)])
def test_a_thousand_layers_are_the_most(layers: int, known: bool) -> None:
    totals = Totals({"BF16": 10**9}, 2 * 10**9, "files")
    part = Component("model", alternating(layers, 4).components[0].config, (), (), totals)
    profile = build_profile(snapshot((), format="pickle", components=(part,)))
    assert (profile.architecture is not None) is known
    assert ("architecture_unknown" in [note.code for note in profile.caveats]) is not known


def test_a_number_for_each_of_too_many_layers_is_no_number() -> None:
    for repeated, kv_heads in ((1_000, 2), (1_001, 4)):
        config = {"num_key_value_heads": [2] * repeated}
        bare = [g for g in tiny().components[0].tensors if "_proj" not in g.pattern]
        arch = build_profile(snapshot(bare, {**dict(tiny().components[0].config or {}), **config}))
        assert arch.architecture is not None
        assert arch.architecture.kv_heads == kv_heads


def ticking() -> TimeBudget:
    """Return a budget of ten seconds whose clock moves on by one whenever it is looked at."""
    seconds = count()
    return TimeBudget(10.0, lambda: float(next(seconds)))


@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "models-for"])
def test_an_answer_that_takes_too_long_ends_in_an_error(name: str) -> None:
    with pytest.raises(LimitsExceeded) as caught:
        ANSWERS[name](llama(), ticking)
    assert caught.value.fields["repo_id"] == "org/model"
    assert caught.value.fields["limit"] == "answer_seconds"
    assert caught.value.fields["allowed"] == 10.0


def test_models_that_take_too_long_together_end_in_an_error() -> None:
    fields: dict[str, Any] = {"gpu": "4090", "models": [f"org/model-{n}" for n in range(20)]}
    with pytest.raises(LimitsExceeded, match="answer_seconds"):
        models_for(sizer(llama(), ticking), fields)


def test_reading_does_not_count() -> None:
    now = [0.0]
    budget = TimeBudget(4.0, lambda: now[0])
    with budget.paused():
        now[0] += 100.0
    budget.check("org/model")
    now[0] += 4.5
    with pytest.raises(LimitsExceeded):
        budget.check("org/model")


def test_a_command_on_ones_own_machine_has_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """A visitor of a server has four seconds."""
    settings = Settings.from_environment({"HF_HUB_OFFLINE": "1"})
    assert stored.make_sizer(settings, None).new_budget is own_budget
    for budget, seconds in ((own_budget(), 60), (TimeBudget(), 4)):
        monkeypatch.setattr(budget, "_unspent_until", -math.inf)
        monkeypatch.setattr(budget, "_clock", lambda end=budget._end: end + 0.1)
        with pytest.raises(LimitsExceeded) as caught:
            budget.check("org/model")
        assert caught.value.fields["allowed"] == seconds
