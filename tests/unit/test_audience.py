"""Who asks: which devices are kept back from whom, and in what precision cards serve."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.advice.ranking import Ranked
from gpusizer.fit.audience import audience_of, not_offered, precision_place, rules
from gpusizer.fit.requirements import Requirements, ServingLoad
from gpusizer.fit.study import Study
from gpusizer.gpus import load_catalogue
from gpusizer.memory.quants import find_quant
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import build_profile
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.builders import llama
from tests.priced_day import priced_day
from tests.sizers import embedded_sizer

pytestmark = pytest.mark.usefixtures(priced_day.__name__)

SMALL = build_profile(llama(layers=32, hidden=4096, heads=32, kv_heads=8, ffn=14336, vocab=128256))
LARGE = build_profile(llama(layers=80, hidden=8192, heads=64, kv_heads=8, ffn=28672, vocab=128256))
GPUS = load_catalogue()
BF16 = [(find_quant("bf16"), True)]
LENGTHS = {"prompt_tokens": 1024, "answer_tokens": 1024}


def study(profile: Any = SMALL, users: int = 1, **requirements: Any) -> Study:
    return Study(
        profile, Workload(concurrency=users), BF16, requirements=Requirements(**requirements)
    )


@pytest.mark.parametrize(
    "users, load, audience",
    [
        (1, None, "one"),
        (4, None, "one"),
        (5, None, "many"),
        (1, ServingLoad(1, None, 1024, 1024), "one"),
        (4, ServingLoad(4, None, 1024, 1024), "many"),
        (1, ServingLoad(None, 0.5, 1024, 1024), "many"),
    ],
)
def test_who_asks(users: int, load: ServingLoad | None, audience: str) -> None:
    assert audience_of(study(users=users, load=load)) == audience


@pytest.mark.parametrize(
    "profile, users, slug, boards, code",
    [
        (SMALL, 1, "rtx-3060-12gb", 1, None),
        (SMALL, 1, "rtx-4060-8gb", 1, "small"),
        (SMALL, 1, "rtx-3060-12gb", 2, "small_boards"),
        (LARGE, 1, "rtx-3060-12gb", 2, None),
        (SMALL, 1, "b200-sxm-180gb", 1, "server"),
        (LARGE, 1, "h100-sxm-80gb", 1, "server"),
        (SMALL, 1, "arc-a770-16gb", 1, "backend"),
        (SMALL, 64, "rtx-4090-24gb", 1, "gaming"),
        (SMALL, 64, "apple-m3-ultra-512gb", 1, "desktop"),
        (SMALL, 64, "rtx-pro-6000-blackwell-96gb", 1, "workstation"),
        (SMALL, 64, "a16-64gb", 1, "slow"),
        (SMALL, 64, "tesla-t4-16gb", 1, "aged"),
        (SMALL, 64, "gb200-186gb", 1, "rack"),
        (SMALL, 64, "l40s-48gb", 1, "few_recipes"),
        (SMALL, 64, "instinct-mi300x-192gb", 1, "few_recipes"),
        (SMALL, 64, "h100-sxm-80gb", 8, None),
        (SMALL, 64, "h200-sxm-141gb", 1, None),
        (SMALL, 64, "h200-sxm-141gb", 16, "cluster"),
        (SMALL, 64, "h200-nvl-141gb", 1, "few_recipes"),
    ],
)
def test_what_is_kept_back_from_whom(
    profile: Any, users: int, slug: str, boards: int, code: str | None
) -> None:
    rule = not_offered(study(profile, users), GPUS.find(slug), boards)
    assert (rule and rule.code) == code


def test_for_large_models_one_person_may_rent_a_server() -> None:
    small, large = (
        not_offered(study(one), GPUS.find("h100-sxm-80gb"), 1) for one in (SMALL, LARGE)
    )
    assert small is not None and not small.beside
    assert large is not None and large.beside


def test_every_rule_says_who_says_so() -> None:
    for rule in rules():
        assert rule.sources and all(url.startswith("http") for url in rule.sources), rule.code
        assert rule.audience in ("", "one", "many", "tuning")


@pytest.mark.parametrize(
    "slug, places",
    [
        ("b200-sxm-180gb", {"nvfp4": 0, "fp8": 1, "bf16": 2, "gptq-int4-g128": 4}),
        ("rtx-pro-6000-blackwell-96gb", {"nvfp4": 0, "fp8": 0, "bf16": 1}),
        ("h100-sxm-80gb", {"fp8": 0, "bf16": 1, "int8": 3, "awq-int4-g128": 4, "q4_k_m": 4}),
        ("a100-sxm-80gb", {"bf16": 0, "int8": 1, "fp8": 2, "awq-int4-g128": 2}),
    ],
)
def test_what_a_card_serves_in(slug: str, places: dict[str, int]) -> None:
    gpu = GPUS.find(slug)
    found = {name: precision_place(find_quant(name), gpu, native=False) for name in places}
    assert found == places
    assert precision_place(find_quant("awq-int4-g128"), gpu, native=True) == 0


def report(model: str, **fields: Any) -> Report:
    return size(embedded_sizer(), {"model": model, **fields})


def said(item: Ranked) -> tuple[str, int, str, str]:
    fit = item.fit
    return fit.gpu.slug, fit.count, fit.estimate.quant.slug, fit.estimate.engine.slug


@pytest.mark.parametrize("model", ["openai/whisper-large-v3", "BAAI/bge-large-en-v1.5"])
def test_few_recipes_keep_no_card_back_from_a_small_model(model: str) -> None:
    """Whisper for eight users was one H100."""
    first = report(model, concurrency=8).ranking[0]
    assert first.fit.gpu.slug == "l4-24gb" and first.fit.count == 1
    rare = not_offered(study(report(model).profile, 8), GPUS.find("a30-24gb"), 1)
    assert rare is not None and rare.code == "few_providers"


def test_a_checkpoint_of_eight_bits_is_served_as_it_is_on_one_node() -> None:
    """Every recipe says eight H200 in FP8; four hold it in INT4, which has yet to be made."""
    (place,) = report("deepseek-ai/DeepSeek-R1", concurrency=64, gpu="h200", **LENGTHS).ranking[:1]
    assert said(place) == ("h200-sxm-141gb", 8, "fp8", "vllm")


@pytest.mark.parametrize(
    "model", ["meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-32B", "openai/gpt-oss-120b"]
)
@pytest.mark.parametrize("users", [1, 64])
def test_nothing_is_recommended_that_is_kept_back(model: str, users: int) -> None:
    fields = {"concurrency": users, **LENGTHS} if users > 1 else {}
    asked = report(model, top=0, **fields)
    assert asked.ranking[0].suitability.kept_back is None
    offered = [item for item in asked.ranking if item.suitability.kept_back is None]
    sure = [item for item in offered if item.fit.verdict.value == "fits"]
    assert [item.rank for item in sure] == [*range(1, 1 + len(sure))]
    for alternative in asked.alternatives:
        assert alternative.item.score.stands_beside
    shown = {
        item.fit.gpu.slug for item in report(model, top=0, rank_by="cheapest", **fields).ranking
    }
    assert {item.fit.gpu.slug for item in asked.ranking} == shown, "other orders leave nothing out"


def test_the_fastest_is_not_in_sixteen_bits_where_eight_are_multiplied() -> None:
    for users in (1, 64):
        asked = report("Qwen/Qwen3-32B", concurrency=users, **(LENGTHS if users > 1 else {}))
        fastest = next(item for item in asked.alternatives if item.kind == "fastest").item
        assert fastest.fit.estimate.quant.bits < 16
        speeds = [item.score.tokens_per_second or 0.0 for item in asked.ranking]
        assert (fastest.score.tokens_per_second or 0.0) >= max(speeds) * 0.99
