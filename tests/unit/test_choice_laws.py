"""Laws of what is chosen: divisions, engines, the fastest, and speeds that orders go by.

By day each is asked of fixed examples, at night of new and more ones (tests/conftest.py).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.advice.ranking import Ranked
from gpusizer.fit.division import other_splits
from gpusizer.fit.preference import best_on_boards
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines import ENGINES, Split
from gpusizer.speed.classes import SERVING
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.request import SizeRequest
from tests.asking import size
from tests.priced_day import priced_day
from tests.sizers import embedded_sizer
from tests.unit.test_laws import answer, dear_law, law

pytestmark = pytest.mark.usefixtures(priced_day.__name__)

LATENT = ("deepseek-ai/DeepSeek-R1", "moonshotai/Kimi-K2.5", "deepseek-ai/DeepSeek-V2-Lite")
DIVISIONS: tuple[dict[str, int], ...] = (
    {"tensor_parallel": 1, "expert_parallel": 8},
    {"tensor_parallel": 2, "expert_parallel": 8},
    {"tensor_parallel": 4, "expert_parallel": 8},
    {"tensor_parallel": 1, "pipeline_parallel": 8},
    {"tensor_parallel": 2, "pipeline_parallel": 4},
    {"tensor_parallel": 8, "pipeline_parallel": 1},
)
SERVERS = ("h200-sxm-141gb", "h100-sxm-80gb", "instinct-mi300x-192gb")
ROUNDING = 1.01


def report(**fields: Any) -> Report:
    return size(embedded_sizer(), fields)


def serves_all(place: dict[str, Any]) -> bool:
    turns = any(note["code"] == "users_in_turns" for note in place["reasons"])
    return place["verdict"] == "fits" and not turns


@dear_law
@given(
    model=st.sampled_from((*LATENT, "Qwen/Qwen3-30B-A3B", "zai-org/GLM-4.6")),
    gpu=st.sampled_from(SERVERS),
    context=st.sampled_from((8192, 32_768)),
    users=st.sampled_from((16, 64)),
)
def test_no_stated_division_holds_what_an_open_one_does_not(
    model: str, gpu: str, context: int, users: int
) -> None:
    """Laws of divisions: what does not hold all users as it is divided holds them in no other
    division of the same engine, and many users are given an engine made for servers."""
    asked = {"model": model, "gpu": gpu, "gpu_count": 8, "context": context, "concurrency": users}
    found = answer(**asked)
    assert found is not None
    (place,) = found["ranking"]
    if serves_all(place):
        return
    same = {"engine": place["engine"], "quant": place["quant"]}
    if ENGINES[place["engine"]].abilities.speed_family != SERVING:
        same = {"engine": "vllm"}
    for division in DIVISIONS:
        stated = answer(**asked, **same, **division)
        if stated is not None:
            assert not serves_all(stated["ranking"][0]), division


def test_attention_is_replicated_where_ranks_would_repeat_its_cache() -> None:
    """DeepSeek-R1 for 64 users of 28,672 tokens: tensor parallelism over eight H200 holds 22."""
    fields = {"gpu": "h200", "gpu_count": 8, "context": 28_672, "concurrency": 64}
    (place,) = report(model="deepseek-ai/DeepSeek-R1", **fields).ranking
    split = place.fit.estimate.split
    assert (split.tensor, split.data, split.expert) == (1, 8, 8)
    assert place.fit.verdict is Verdict.FITS
    assert (place.fit.max_concurrency or 0) >= 64
    few = report(model="deepseek-ai/DeepSeek-R1", **{**fields, "concurrency": 4}).ranking[0]
    assert few.fit.estimate.split.tensor == 8, "where the usual division holds them, it stays"


@dear_law
@given(
    model=st.sampled_from(("Qwen/Qwen3-8B", "zai-org/GLM-4.6", "Qwen/Qwen3-32B")),
    users=st.sampled_from((1, 64)),
)
def test_the_fastest_is(model: str, users: int) -> None:
    """No place of the order by speed that one can act on is faster than the alternative."""
    asked = {"model": model, "concurrency": users, "context": 2048}
    chosen = report(**asked).alternatives
    fastest = next(each.item for each in chosen if each.kind == "fastest")
    for item in report(**asked, rank_by="fastest", top=0).ranking:
        score = item.score
        possible = score.stands_beside and not score.computer and not score.not_on_offer
        sure = item.fit.verdict is Verdict.FITS and score.ended_support is None
        if possible and sure:
            mine = fastest.score.tokens_per_second or 0.0
            assert (score.tokens_per_second or 0.0) <= mine * ROUNDING, item.fit.gpu.slug


@dear_law
@given(
    model=st.sampled_from(("Qwen/Qwen2-1.5B-Instruct", "Qwen/Qwen3-8B")),
    users=st.sampled_from((8, 88)),
    min_tok_s=st.sampled_from((None, 20)),
)
def test_orders_go_by_the_speed_that_is_shown(
    model: str, users: int, min_tok_s: float | None
) -> None:
    ranking = report(model=model, concurrency=users, min_tok_s=min_tok_s, top=0).ranking
    sure = [item for item in ranking if item.fit.verdict is Verdict.FITS]
    for better, worse in pairwise(sure):
        rounded = [
            tuple(round(part, 2) for part in item.score.key[:-1]) for item in (better, worse)
        ]
        assert rounded[0] <= rounded[1]
    for item in sure:
        if item.served is not None and item.evidence is not None and min_tok_s is not None:
            each = item.served.output_tokens_per_second.likely / item.served.users
            low = each * item.evidence.low_share
            assert item.evidence.surely_enough == (low >= min_tok_s)


@law
@given(
    model=st.sampled_from(("Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-R1")),
    gpu=st.sampled_from((*SERVERS, "l40s-48gb", "h20-96gb", "rtx-4090-24gb")),
    context=st.sampled_from((2048, 5341)),
    users=st.sampled_from((29, 291)),
    sequences=st.sampled_from((None, 10)),
)
def test_speeds_are_of_those_who_are_served(
    model: str, gpu: str, context: int, users: int, sequences: int | None
) -> None:
    """Users at once are at most those that the scheduler takes; together they write no more with
    prompts read in between than without; a price says whose it is."""
    found = answer(
        model=model,
        gpu=gpu,
        engine="vllm",
        context=context,
        concurrency=users,
        max_num_seqs=sequences,
    )
    for place in found["ranking"] if found else ():
        served, basis = place.get("served"), place["speed_basis"]
        if served is None or basis is None:
            continue
        assert basis["users"] <= min(users, sequences or users)
        output = served["output_tokens_per_second"]["likely"]
        assert output <= place["decode_tokens_per_second_total"]["likely"] * ROUNDING
        assert place["price"]["usd_per_million_tokens_users"] == round(served["users"])


def test_other_divisions_use_every_device() -> None:
    """Six GPUs: attention in two, three or six parts, with all experts dealt out, then stages."""
    found = report(model="deepseek-ai/DeepSeek-R1", gpu="h200", concurrency=64)
    workload = replace(found.workload, tensor_parallel=None)
    splits = list(other_splits(ENGINES["vllm"], found.profile, workload, Split(6)))
    assert splits and all(split.gpus == 6 for split in splits)
    dealt = [(split.tensor, split.data) for split in splits if split.expert > 1]
    assert dealt == [(2, 3), (1, 6)]
    assert other_splits_of_one_user(found) == []


def other_splits_of_one_user(found: Report) -> list[Split]:
    alone = replace(found.workload, concurrency=1)
    return list(other_splits(ENGINES["vllm"], found.profile, alone, Split(8)))


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("Qwen/Qwen3-8B", {}),
        ("meta-llama/Llama-3.3-70B-Instruct", {}),
        ("deepseek-ai/DeepSeek-R1", {"concurrency": 64}),
        ("Qwen/Qwen3-30B-A3B", {"concurrency": 64}),
        ("openai/gpt-oss-20b", {"concurrency": 8, "max_loss": "none"}),
    ],
)
def test_the_first_places_are_the_same_however_many_are_asked_for(
    model: str, fields: dict[str, Any]
) -> None:
    """GPUs that are never offered to who asks are weighed only where others are too few."""
    every = report(model=model, **fields, top=0)
    for top in (1, 10):
        first = report(model=model, **fields, top=top)
        assert [place(one) for one in first.ranking] == [place(one) for one in every.ranking][:top]
        beside = {one.kind: place(one.item) for one in first.alternatives}
        assert beside == {one.kind: place(one.item) for one in every.alternatives}
        assert [note.code for note in first.notes] == [note.code for note in every.notes]


def place(item: Ranked) -> tuple[str, int, str, float | None]:
    fit = item.fit
    return fit.gpu.slug, fit.count, fit.estimate.quant.slug, item.tokens_per_second


@pytest.mark.parametrize("fields", [{}, {"concurrency": 64}, {"cpu_moe": True}])
def test_a_gpu_is_judged_alike_alone_and_after_others(fields: dict[str, Any]) -> None:
    """A study remembers what held nothing, of every GPU that it is asked about, and not what held
    none of a few quantizations."""
    request = SizeRequest.from_fields({"model": "Qwen/Qwen3-30B-A3B", **fields})
    shared = embedded_sizer().question(request).study.with_workload()
    for gpu in load_catalogue().gpus:
        best_on_boards(shared.with_quants(shared.quants[:1]), gpu)
        assert best_on_boards(shared, gpu) == best_on_boards(shared.with_workload(), gpu), gpu.slug
