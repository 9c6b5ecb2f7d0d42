"""Expert parallelism: whole experts per GPU, computed by hand, and valid requests."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.advice.capacity_limits import Plan
from gpusizer.advice.remedies import RULES
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.units import MIB
from gpusizer.fit.division import asked_split, refused_degrees, resolve_experts
from gpusizer.fit.machine import Machine
from gpusizer.fit.study import Study
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines import ENGINES, Placement, Split
from gpusizer.memory.engines.vllm.releases import vllm_release
from gpusizer.memory.engines.vllm.version_defaults import limits_of
from gpusizer.memory.engines.vllm.weights import held, plan_of
from gpusizer.memory.quants import find_quant
from gpusizer.memory.weight_sizes import weight_sizes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import build_profile
from gpusizer.model.tensor_roles import is_expert
from gpusizer.usecases.requests.resolution import resolve_workload
from tests.asking import size
from tests.builders import llama
from tests.families import qwen3_moe
from tests.sizers import embedded_sizer

MOE = build_profile(qwen3_moe())


def expert_bytes(split: Split) -> int:
    """Bytes of routed experts on one GPU, before the allocator rounds."""
    sizes = weight_sizes(MOE, find_quant("bf16"), native=True)
    only = [
        amount if is_expert(group.pattern) else 0
        for amount, group in zip(sizes.by_group, MOE.groups, strict=True)
    ]
    plan = plan_of(MOE)
    return round(held(plan, only, split, plan.stages(1))[0])


def test_experts_are_dealt_out_whole() -> None:
    """128 experts of 48 layers: three matrices of 2048 x 768 in 16 bits each.

    3 x 2048 x 768 x 2 = 9,437,184 bytes an expert. 8 ranks hold 16 each; of 3 ranks the
    fullest holds 43 (43 + 43 + 42), where dividing matrices would leave 42 2/3;
    PyTorch rounds its 64.5 x 2 MiB of down-projections up.
    """
    one_expert_bytes = 3 * 2048 * 768 * 2
    assert MOE.architecture is not None
    assert (MOE.architecture.experts, MOE.architecture.layers) == (128, 48)
    eight = expert_bytes(Split(tensor=8, expert=8))
    assert eight == 48 * 16 * one_expert_bytes
    assert eight == expert_bytes(Split(tensor=8))
    assert expert_bytes(Split(tensor=3, expert=3)) == 48 * (43 * one_expert_bytes + MIB)
    assert expert_bytes(Split(tensor=1, data=3, expert=3)) == expert_bytes(Split(3, 1, 1, 3))


def test_data_ranks_repeat_all_but_the_experts() -> None:
    """DeepSeek-R1 in FP8: 16 ranks of 8-way tensor parallelism hold the 256 experts 16 each."""

    def per_gpu(**fields: Any) -> tuple[float, float]:
        base_fields = {"model": "deepseek-ai/DeepSeek-R1", "quant": "native", "gpu": "h200 sxm"}
        fit = size(embedded_sizer(), {**base_fields, "engine": "vllm", **fields}).ranking[0].fit
        return fit.estimate.per_gpu.weights.likely / 1e9, fit.estimate.split.gpus

    eight, sixteen = per_gpu(tensor_parallel=8), per_gpu(expert_parallel=16)
    assert (eight[1], sixteen[1]) == (8, 16)
    # 58 layers x 256 experts x 3 x 7168 x 2048 bytes = 653.9 GB: 40.9 GB less on each GPU
    experts = 58 * 256 * 3 * 7168 * 2048 / 1e9
    assert eight[0] - sixteen[0] == pytest.approx(experts / 8 - experts / 16, rel=0.005)


@pytest.mark.parametrize(
    "degrees, split",
    [
        ({"expert_parallel": 8}, Split(8, 1, 1, 8)),
        ({"expert_parallel": 16}, Split(8, 1, 2, 16)),
        ({"expert_parallel": 6}, Split(2, 1, 3, 6)),  # 32 heads do not divide by 6 or 3
        ({"expert_parallel": 4, "tensor_parallel": 1}, Split(1, 1, 4, 4)),
        ({"expert_parallel": 2, "pipeline_parallel": 2}, Split(2, 2, 1, 2)),
        ({"expert_parallel": 1}, None),
    ],
)
def test_degrees(degrees: dict[str, Any], split: Split | None) -> None:
    workload, notes = resolve_experts(Workload(**degrees), MOE)
    assert asked_split(workload) == split
    assert notes == ()
    assert workload.engine == ("vllm" if split else None)


def test_impossible_degrees() -> None:
    with pytest.raises(InvalidRequest) as refused:
        resolve_experts(Workload(expert_parallel=4, tensor_parallel=8), MOE)
    assert refused.value.fields["reason"] == "expert_ranks"
    with pytest.raises(InvalidRequest) as refused:
        resolve_experts(Workload(expert_parallel=256), MOE)
    assert refused.value.fields["reason"] == "more_than_experts"


def test_an_expert_degree_without_effect_leaves_a_note() -> None:
    _, dense = resolve_experts(Workload(expert_parallel=8), build_profile(llama()))
    _, notes = resolve_experts(Workload(expert_parallel=8, engine="llama.cpp"), MOE)
    assert [note.code for note in (*dense, *notes)] == ["no_routed_experts", "not_modelled"]


def test_a_refused_degree_leaves_a_note() -> None:
    """32 heads do not divide by 3; llama.cpp, which deals out layers, does not mind."""
    dense = build_profile(llama())
    vllm = ENGINES["vllm"]
    refused = refused_degrees(vllm, Workload(tensor_parallel=3), dense)
    assert [note.code for note in refused] == ["heads_not_divisible", "width_not_divisible"]
    assert refused_degrees(ENGINES["llama.cpp"], Workload(tensor_parallel=3), dense) == ()
    assert refused_degrees(vllm, Workload(tensor_parallel=4), dense) == ()


@pytest.mark.parametrize(
    "tensor, pipeline, allowed",
    [(1024, 1, True), (8, 128, True), (1000, 1024, False), (2, 1024, False)],
)
def test_degrees_take_no_more_gpus_than_one_may_ask_for(
    tensor: int, pipeline: int, allowed: bool
) -> None:
    """A million devices on each of 300 cards took 40 seconds of a processor."""
    asked = Workload(tensor_parallel=tensor, pipeline_parallel=pipeline)
    if allowed:
        assert asked_split(resolve_workload(asked, build_profile(llama()))[0]) == asked_split(asked)
        return
    with pytest.raises(InvalidRequest) as refused:
        resolve_workload(asked, build_profile(llama()))
    assert refused.value.fields["field"] == "pipeline_parallel"
    assert refused.value.fields["reason"] == "cannot_be_split"


def test_users_are_shared_among_data_ranks() -> None:
    """Two copies of the attention: of 3 sequences one GPU keeps the cache of 2."""
    sizer = embedded_sizer()
    fields = {"model": "Qwen/Qwen3-30B-A3B", "quant": "bf16", "gpu": "h100 sxm", "engine": "vllm"}
    single_rank, three = (
        size(sizer, {**fields, "expert_parallel": 2, "tensor_parallel": 1, "concurrency": n})
        .ranking[0]
        .fit.estimate.per_gpu.kv_cache.likely
        for n in (1, 3)
    )
    assert three == 2 * single_rank


def test_buffers_hold_the_users_of_one_rank() -> None:
    """SGLang on two data-parallel ranks: 1,024 users are 512 on each.

    3.5 copies x 4 bytes x 512 sequences x a vocabulary of 151,936, and 0.2 GiB.
    """
    assert MOE.architecture is not None and MOE.architecture.vocab_size == 151_936
    placement = Placement(MOE, Workload(concurrency=1024), Split(1, 1, 2, 2))
    sampler = round(3.5 * 4 * 512 * 151_936 + 0.2 * 1024**3)
    assert ENGINES["sglang"].activations(placement).likely == sampler
    more = replace(placement, workload=Workload(concurrency=1025))
    assert limits_of(more, vllm_release(None)).sequences == 513
    assert [Split(data=2).users_each(n) for n in (1, 2, 3, 1025)] == [1, 1, 2, 513]


def test_limits_that_are_suggested_leave_room_for_the_users_of_one_rank() -> None:
    """600 users on two ranks need 300 each: 512 is the only smaller limit that keeps them."""
    quant = find_quant("bf16")
    split = {"expert_parallel": 2, "tensor_parallel": 1, "engine": "vllm"}
    study = Study(MOE, Workload(**split, concurrency=600), [(quant, True)])
    gpu = load_catalogue().find("a100-sxm-80gb")
    plan = Plan(study, Machine.with_boards(gpu, 2), quant, True, ENGINES["vllm"])
    changes = [change.fields for rule in RULES for change in rule(plan)]
    assert {"max_num_seqs": 512} in changes
