"""Capacity limits: the largest value fits, and the next larger one does not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpusizer.advice.capacity_limits import (
    Plan,
    SureLimits,
    largest,
    longest_context,
    most_users,
)
from gpusizer.advice.next_steps import Suggestion, advise
from gpusizer.core.byte_ranges import Amount, fitted
from gpusizer.core.units import GB, GIB
from gpusizer.fit.fit import Fit, Verdict
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference_key import preference_key
from gpusizer.fit.run_configs import configs_of
from gpusizer.fit.study import QuantOption, Study
from gpusizer.gpus import Gpu, load_catalogue
from gpusizer.gpus.own_memory import FreeMemory, with_memory
from gpusizer.memory.engines import Overhead
from gpusizer.memory.engines.abilities import Abilities, stated
from gpusizer.memory.engines.base import Engine
from gpusizer.memory.engines.llama_cpp import LlamaCppEngine
from gpusizer.memory.quants import find_quant
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.text import say_note
from gpusizer.usecases.requests.selection import every_quant
from tests.asking import size
from tests.builders import llama, llama_70b
from tests.documents import written
from tests.families import deepseek_r1, gemma3_1b, qwen3_moe
from tests.sizers import embedded_sizer, unlimited_budget

CATALOGUE = load_catalogue()
LLAMA_8B = build_profile(llama())
FAMILIES = [build_profile(m()) for m in (llama, gemma3_1b, qwen3_moe, deepseek_r1, llama_70b)]
SIZER = embedded_sizer()


NARROW_CACHES = Abilities(cache_types=("q8_0", "q4_0"))


class Fixed:
    """Takes 1 GiB beside weights and cache, 2 GiB at most."""

    def activations(self, *arguments: Any) -> Amount:
        return fitted(GIB, GIB, 2 * GIB)

    def overhead(self, *arguments: Any) -> Overhead:
        return Overhead(inside=fitted(0, 0, 0), outside=fitted(0, 0, 0))

    def with_streaming(self, *arguments: Any) -> Amount:
        return self.activations()


@dataclass(frozen=True, eq=False, kw_only=True)
class FixedEngine(Fixed, Engine):
    """Weights and cache divided evenly, the cache in steps of 256 tokens."""

    slug: str = "fixed"
    name: str = "Fixed"
    install: str = ""
    version: str = "1"
    stacks: frozenset[str] = frozenset({"CUDA"})
    kv_cell_multiple: int = 256
    abilities: Abilities = NARROW_CACHES


class FixedLlamaCpp(Fixed, LlamaCppEngine):
    """Weights and cache where llama.cpp puts them."""


FIXED = FixedEngine()


def card(memory_bytes: int, slug: str = "rtx-4090-24gb") -> Gpu:
    return replace(CATALOGUE.find(slug), memory_bytes=memory_bytes)


def plan_of(
    memory_bytes: int, profile: ModelProfile = LLAMA_8B, quant: str = "bf16", **fields: Any
) -> Plan:
    """Return a plan under the fixed engine."""
    workload = Workload(**fields)
    quants = every_quant(profile, None, also=())
    study = Study(profile, workload, quants, budget=unlimited_budget())
    return Plan(
        study, Machine.with_boards(card(memory_bytes), 1), find_quant(quant), quant == "bf16", FIXED
    )


def advice(plan: Plan) -> tuple[Suggestion, ...]:
    """Return helpful changes for the plan's best run config: whole, or with a part in memory."""
    recipe = QuantOption(plan.quant, plan.native, plan.engine)
    found = [*configs_of(plan.study, plan.machine, recipe)]
    best = min(found, key=lambda config: preference_key(plan.study, config), default=None)
    return () if best is None else advise(plan, best)


def test_the_longest_context_by_hand() -> None:
    """24 GiB less 16,060,522,496 of weights and 2 GiB leave 7,561,797,632 bytes.

    At 131,072 bytes a token that is 57,691 tokens: 225 cells of 256. Four users get 14,422 each:
    56 cells. Of 8192 tokens (1 GiB) there is room for 7.
    """
    plan = plan_of(24 * GIB)
    assert longest_context(plan) == 225 * 256
    assert longest_context(plan.with_workload(concurrency=4)) == 56 * 256
    assert most_users(plan) == 7
    assert most_users(plan.with_workload(context=57_601)) == 0


def test_the_longest_context_ends_where_the_model_does() -> None:
    assert longest_context(plan_of(80 * GIB)) == 131_072
    assert longest_context(plan_of(16 * GIB)) == 0


def test_models_without_a_cache_have_no_limits() -> None:
    report = size(SIZER, {"model": "BAAI/bge-large-en-v1.5", "gpu": "3070"})
    limits = report.ranking[0].largest
    assert limits is not None
    assert (limits.context_at_users, limits.users_at_context) == (None, None)


def test_suggestions_by_hand() -> None:
    """22 GiB leave 5,414,313,984 bytes: 41,307 tokens of the 65,536 asked for, in steps of 8192.

    That is also room for two sequences of 16,384 tokens (2 GiB each), not for three.
    """
    suggestions = {s.note.code: s for s in advice(plan_of(22 * GIB, context=65_536))}
    assert suggestions["try_context"].change == {"context": 40_960}
    assert suggestions["try_context"].saving_bytes == (65_536 - 40_960) * 131_072
    assert "try_concurrency" not in suggestions
    four = {s.note.code: s for s in advice(plan_of(22 * GIB, context=16_384, concurrency=4))}
    assert four["try_concurrency"].change == {"concurrency": 2}


def test_narrower_caches_by_hand() -> None:
    """22 GiB leave 5,414,313,984 bytes; 65,536 tokens take 69,632 each in q8_0."""
    suggestions = [
        s for s in advice(plan_of(22 * GIB, context=65_536)) if s.note.code == "try_kv_cache"
    ]
    assert [s.change["kv_dtype"] for s in suggestions] == ["q8_0", "q4_0"]
    assert suggestions[0].saving_bytes == 65_536 * (131_072 - 69_632)
    # likely: 22 GiB less weights, 1 GiB and the cache
    assert suggestions[0].headroom_bytes == 21 * GIB - 16_060_522_496 - 65_536 * 69_632


def test_offload_keeps_the_layers_that_fit() -> None:
    """Q8_0 on 6 GiB, 2 of them for buffers: 4 GiB for the output and the layers.

    A layer is 218,103,808 weights at 34 bytes for 32, two norms of 16 KiB and 32 MiB of cache:
    265,322,496 bytes. The output is 558,186,496. That leaves room for 14 layers.
    """
    plan = plan_of(6 * GIB, quant="q8_0")
    engine = FixedLlamaCpp(**stated("llama.cpp"))
    suggestions = {s.note.code: s for s in advice(replace(plan, engine=engine))}
    assert suggestions["try_offload"].change == {"gpu_layers": 15}
    assert suggestions["try_offload"].note.fields == {
        "layers": 15,
        "all": 33,
        "ram_bytes": 18 * 265_322_496 + 558_170_112,
    }
    assert suggestions["try_offload"].verdict is Verdict.OFFLOAD
    assert suggestions["try_offload"].headroom_bytes == 5 * GIB - 558_186_496 - 14 * 265_322_496


def test_partial_savings_where_no_single_change_suffices() -> None:
    """16 bits, 131,072 tokens each for 4 on 8 GiB: weights and cache are 76 GB too many.

    The shortest context leaves 1024 x 4 tokens of cache; one user instead of 4 a quarter of it;
    Q4_0, the narrowest layout people use here, 4.5 bits. Each alone is not enough.
    """
    plan = plan_of(8 * GIB, context=131_072, concurrency=4)
    suggestions = {s.note.code: s for s in advice(plan)}
    assert not any(suggestion.enough for suggestion in suggestions.values())
    assert suggestions["try_context"].change == {"context": 1024}
    assert suggestions["try_context"].saving_bytes == 4 * (131_072 - 1024) * 131_072
    assert suggestions["try_concurrency"].change == {"concurrency": 1}
    assert suggestions["try_concurrency"].saving_bytes == 3 * 131_072 * 131_072
    assert suggestions["try_more_gpus"].change["gpu_count"] == 8
    assert [suggestion.pain for suggestion in advice(plan)] == sorted(
        suggestion.pain for suggestion in advice(plan)
    )
    assert all(
        suggestion.saving_bytes > 0 and suggestion.headroom_bytes < 0
        for suggestion in suggestions.values()
    )


def random_plan(data: st.DataObject) -> Plan:
    profile = data.draw(st.sampled_from(FAMILIES))
    gpu = data.draw(st.sampled_from(CATALOGUE.gpus))
    workload = Workload(
        context=data.draw(st.integers(64, profile.max_context or 8192)),
        concurrency=data.draw(st.integers(1, 64)),
        flash_attention=data.draw(st.booleans()),
        kv_dtype=data.draw(st.sampled_from(["auto", "fp8", "q8_0"])),
        memory_utilization=data.draw(st.sampled_from([None, 0.5, 0.9])),
    )
    quants = every_quant(profile, None, also=())
    study = Study(profile, workload, quants, budget=unlimited_budget())
    boards = data.draw(st.sampled_from([1, 2, 8]))
    pairs = [pair for pair in study.quants if study.engines(pair[0])]
    quant, native = data.draw(st.sampled_from(pairs))
    engine = data.draw(st.sampled_from(study.engines(quant)))
    plan = Plan(study, Machine.with_boards(gpu, boards), quant, native, engine)
    assume(plan.config() is not None)
    return plan


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_the_largest_holds_and_the_next_does_not(data: st.DataObject) -> None:
    plan = random_plan(data)
    config = plan.config()
    assert config is not None
    limits = largest(plan, SureLimits(plan.study, Fit.from_config(plan.study, config)))
    context, users = limits.context_at_users, limits.users_at_context
    if context:
        assert plan.with_workload(context=context).surely_fits()
    if context is not None and context < (plan.study.profile.max_context or 0):
        assert not plan.with_workload(context=context + 1).surely_fits()
    if users:
        assert plan.with_workload(concurrency=users).surely_fits()
    if users is not None:
        assert not plan.with_workload(concurrency=users + 1).surely_fits()
    if plan.surely_fits():
        assert users is None or users >= plan.workload.concurrency
        assert context is None or context >= plan.workload.context


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_more_users_never_get_longer_contexts(data: st.DataObject) -> None:
    plan = random_plan(data)
    busier = plan.with_workload(concurrency=plan.workload.concurrency + 1)
    assert (longest_context(busier) or 0) <= (longest_context(plan) or 0)
    gpu = replace(plan.machine.gpu, memory_bytes=plan.machine.gpu.memory_bytes + GIB)
    roomier = replace(plan, machine=Machine.with_boards(gpu, plan.machine.boards))
    small, big = plan.engine.device_classes[0], plan.engine.device_classes[-1]
    crosses = plan.machine.gpu.device_memory_bytes < big <= roomier.machine.gpu.device_memory_bytes
    assume(small == big or not crosses)  # a larger class of cards takes larger steps
    assert (longest_context(roomier) or 0) >= (longest_context(plan) or 0)
    assert (most_users(roomier) or 0) >= (most_users(plan) or 0)


def after(plan: Plan, suggestion: Suggestion) -> Plan:
    """Return the plan with a suggestion's request fields, put together another way."""
    fields = dict(suggestion.change)
    boards = fields.pop("gpu_count", plan.machine.boards)
    gpu = plan.machine.gpu
    if "usable_gb" in fields:
        gpu = with_memory(gpu, FreeMemory(free_bytes=round(fields.pop("usable_gb") * GB)))
    plan = replace(plan, machine=Machine.with_boards(gpu, boards))
    if "quant" in fields:
        slug, engine = fields.pop("quant"), fields.pop("engine")
        quant, native = next(p for p in plan.study.quants if p[0].slug == slug)
        engine = next(e for e in plan.study.engines(quant) if e.slug == engine)
        plan = replace(plan, quant=quant, native=native, engine=engine)
    return plan.with_workload(**fields)


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_every_suggestion_really_fits(data: st.DataObject) -> None:
    plan = random_plan(data)
    before, suggestions = plan.config(), advice(plan)
    assert before is not None
    assert all(a.pain <= b.pain for a, b in pairwise(suggestions))
    if before.verdict is Verdict.FITS:
        assert suggestions == ()
    for suggestion in suggestions:
        assert say_note(suggestion.note)
        if "gpu_layers" in suggestion.change:
            # llama.cpp counts the output as one layer more, which may stay in system memory.
            assert 0 < suggestion.change["gpu_layers"] <= plan.study.profile.architecture.layers
            continue
        then = after(plan, suggestion).config()
        assert then is not None
        assert (then.verdict, then.headroom_bytes) == (
            suggestion.verdict,
            suggestion.headroom_bytes,
        )
        assert suggestion.enough is (suggestion.verdict is Verdict.FITS)
        assert suggestion.enough or suggestion.saving_bytes > 0
        assert suggestion.saving_bytes == then.headroom_bytes - before.headroom_bytes


@pytest.mark.parametrize(
    "arguments",
    [
        {"model": "meta-llama/Llama-3.1-8B-Instruct", "quant": "bf16", "context": 98304},
        {"model": "meta-llama/Llama-3.1-8B-Instruct", "quant": "q8_0", "concurrency": 32},
        {"model": "Qwen/Qwen3-32B", "quant": "q5_k_m", "context": 32768},
        {"model": "deepseek-ai/DeepSeek-V2-Lite", "quant": "bf16", "concurrency": 8},
        {"model": "meta-llama/Llama-3.3-70B-Instruct", "quant": "awq-int4-g128"},
    ],
)
def test_asking_again_with_the_change_gives_the_promised_answer(arguments: dict[str, Any]) -> None:
    fields = {**arguments, "gpu": "rtx-4090-24gb", "gpu_count": 1}
    row = written(size(SIZER, fields))["ranking"][0]
    assert row["verdict"] != "fits"
    assert row["advice"]
    for suggestion in row["advice"]:
        if suggestion["code"] == "try_offload":
            continue
        place_after = written(size(SIZER, {**fields, **suggestion["change"]}))["ranking"][0]
        assert (place_after["verdict"], place_after["headroom_bytes"]) == (
            "fits",
            suggestion["headroom_bytes"],
        )
    limits = row["largest"]
    if limits["quant"]:
        best = {**fields, "quant": limits["quant"], "engine": limits["engine"]}
        assert size(SIZER, best).ranking[0].fit.verdict is Verdict.FITS


def test_suggestions_of_more_gpus_drop_the_expert_degree() -> None:
    """A suggestion that joins experts is computed without their degree, and so is its request."""
    fields = {
        "model": "mistralai/Mixtral-8x7B-Instruct-v0.1",
        "quant": "bf16",
        "engine": "vllm",
        "gpu": "rtx 3090",
        "gpu_count": 2,
        "expert_parallel": 2,
    }
    row = written(size(SIZER, fields))["ranking"][0]
    suggestion = next(a for a in row["advice"] if "gpu_count" in a["change"])
    place_after = written(size(SIZER, {**fields, **suggestion["change"]}))["ranking"][0]
    promised_fit = (suggestion["verdict"], suggestion["headroom_bytes"])
    assert (place_after["verdict"], place_after["headroom_bytes"]) == promised_fit


def test_mixed_caches_have_narrower_ones() -> None:
    """Keys of 8.5 bits and values of 16 are 12.25 bits, wider than either type there is."""
    suggestions = {
        s.note.code: s for s in advice(plan_of(20 * GIB, context=65_536, kv_dtype="q8_0/f16"))
    }
    assert suggestions["try_kv_cache"].change["kv_dtype"] in ("q8_0", "q4_0")
