"""Laws that hold for every answer, whatever the model, the cards and the workload.

By day each is asked of fixed examples, at night of new and more ones (tests/conftest.py).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.memory.engines import ENGINES
from gpusizer.training.plan import OFFLOADS
from tests.asking import Fields, models_for, size, training
from tests.documents import written
from tests.nightly import NIGHTLY
from tests.sizers import embedded_sizer

Json = Mapping[str, Any]

SIZER = embedded_sizer()
FLUX = "black-forest-labs/FLUX.1-dev"
VERDICTS = ("fits", "tight", "offload", "from_disk", "does_not_fit", "not_supported")
ON_GPU = VERDICTS[:2]
TOTALS = ("low_bytes", "total_bytes", "high_bytes")

models = st.sampled_from(
    (
        "Qwen/Qwen3-8B",
        "Qwen/Qwen3-30B-A3B",
        "openai/gpt-oss-20b",
        "google/gemma-4-31B-it",
        "mistralai/Mixtral-8x7B-v0.1",
        "nvidia/Qwen3-8B-NVFP4",
        "deepseek-ai/DeepSeek-R1",
        "TheBloke/Genz-70b-GPTQ",
        "allenai/OLMo-2-0425-1B",
        FLUX,
    )
)
gpus = st.sampled_from(
    (
        "gtx-1050-ti-4gb",
        "rtx-3060-12gb",
        "titan-v-12gb",
        "rtx-4090-24gb",
        "radeon-pro-w7900-48gb",
        "arc-pro-b60-24gb",
        "h100-sxm-80gb",
        "instinct-mi300x-192gb",
        "apple-m4-pro-48gb",
        "jetson-agx-orin-64gb",
        "metax-c500-64gb",
    )
)
counts = st.sampled_from((None, 1, 2, 4, 8))
workloads = st.fixed_dictionaries(
    {
        "concurrency": st.sampled_from((1, 3, 11, 64, 384)),
        "context": st.sampled_from((None, 87, 2048, 40_000, 131_072)),
        "kv_dtype": st.sampled_from((None, "q8_0", "q4_0", "fp8")),
        "engine": st.sampled_from((None, None, *ENGINES)),
        "quant": st.sampled_from(("all", "native", "q4_k_m", "fp8", "nvfp4")),
        "tensor_parallel": st.sampled_from((None, None, 2, 3)),
        "gpu_layers": st.sampled_from((None, None, 23)),
        "cpu_moe": st.sampled_from((None, True)),
        "ram_gb": st.sampled_from((None, 16, 64)),
    }
)
law: Callable[..., Any] = settings(max_examples=300 if NIGHTLY else 40, deadline=None)

# its examples are several answers each
dear_law: Callable[..., Any] = settings(max_examples=300 if NIGHTLY else 15, deadline=None)


def stated(fields: Fields) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


def answer(**fields: Any) -> Json | None:
    """Return the JSON of an answer, None where the request is refused with a word."""
    try:
        return written(size(SIZER, stated(fields)))
    except GpusizerError:
        return None


def judged(report: Json | None) -> Iterator[Json]:
    """Yield rows of quantizations and places of the ranking that have a verdict."""
    if report is not None:
        yield from (row for row in report["estimates"] if "verdict" in row)
        yield from report["ranking"]


@law
@given(model=models, gpu=gpus, count=counts, workload=workloads)
def test_verdicts_agree_with_what_is_to_spare(
    model: str, gpu: str, count: int | None, workload: Fields
) -> None:
    """Verdicts agree with the headroom: what fits has some, what does not is short.

    Without an engine for the model memory is not mentioned; a card is judged no worse than its own
    row of the quantization.
    """
    report = answer(model=model, gpu=gpu, gpu_count=count, **workload)
    for row in judged(report):
        spare = row["headroom_bytes"]
        if row["verdict"] == "not_supported":
            assert spare is None, row
        elif row["verdict"] in ON_GPU:
            assert spare >= 0, row
        elif row["verdict"] == "does_not_fit":
            assert spare < 0, row
    for place in report["ranking"] if report else ():
        of_quant = [row for row in judged(report) if row["quant"] == place["quant"]]
        best = min(VERDICTS.index(row["verdict"]) for row in of_quant)
        assert VERDICTS.index(place["verdict"]) == best
        link = place["parallelism"]["interconnect"]
        assert link is None or link["kind"] == "pcie" or "PCIe alone" not in place["why"]


@law
@given(model=models, gpu=gpus, workload=workloads)
def test_the_most_users_really_run(model: str, gpu: str, workload: Fields) -> None:
    report = answer(model=model, gpu=gpu, gpu_count=1, **workload)
    for place in report["ranking"] if report else ():
        users = place["largest"]["users_at_context"]
        if not users:
            continue
        fixed = {"quant": place["quant"], "engine": place["engine"], "concurrency": users}
        context = report["workload"]["context"] if report else None
        again = answer(
            model=model, gpu=gpu, gpu_count=1, **{**workload, **fixed, "context": context}
        )
        assert again is not None
        assert again["ranking"][0]["verdict"] == "fits"


@law
@given(model=models, gpu=gpus, workload=workloads)
def test_memory_never_falls_without_flash_attention(model: str, gpu: str, workload: Fields) -> None:
    with_it = answer(model=model, gpu=gpu, gpu_count=1, **workload)
    without = answer(model=model, gpu=gpu, gpu_count=1, flash_attention=False, **workload)
    if with_it is None or without is None:
        return
    rows = {(row["quant"], row["engine"]): row for row in with_it["estimates"]}
    for row in without["estimates"]:
        same = rows.get((row["quant"], row["engine"]))
        assert same is None or all(row[total] >= same[total] for total in TOTALS)


@law
@given(model=models, gpu=gpus, workload=workloads)
def test_what_is_left_in_system_memory_has_room_there(
    model: str, gpu: str, workload: Fields
) -> None:
    """4 GiB are the system's own. A machine that states no memory, or shares one, is not asked."""
    report = answer(model=model, gpu=gpu, gpu_count=1, **{**workload, "ram_gb": 16})
    kept = workload["gpu_layers"] is not None or workload["cpu_moe"]
    for row in report["estimates"] if report and kept else ():
        assert row["verdict"] not in ON_GPU or row["host_bytes"] <= 16 * 10**9, row


@dear_law
@given(
    model=models,
    gpu=gpus,
    rate=st.sampled_from((0.1, 1, 5, 40, 169)),
    prompt=st.sampled_from((128, 1000, 6000)),
    tokens=st.sampled_from((64, 500)),
)
def test_a_replica_of_a_plan_holds_its_users(
    model: str, gpu: str, rate: float, prompt: int, tokens: int
) -> None:
    """Asked for as many users at once, the same cards have the verdict that the plan states; twice
    the requests never take fewer GPUs."""
    load = {"prompt_tokens": prompt, "answer_tokens": tokens}
    plan = answer(model=model, gpu=gpu, requests_per_second=rate, **load)
    for row in plan["serving_plan"]["rows"] if plan else ():
        again = answer(
            model=model,
            gpu=gpu,
            quant=row["quant"],
            engine=row["engine"],
            context=prompt + tokens,
            concurrency=row["most_users_per_replica"],
            tensor_parallel=row["tensor_parallel"],
            pipeline_parallel=row["pipeline_parallel"],
        )
        assert again is not None
        assert again["ranking"][0]["verdict"] == row["verdict"]
        assert row["users_per_replica"] <= row["most_users_per_replica"]
        twice = answer(model=model, gpu=gpu, requests_per_second=2 * rate, **load)
        assert twice is not None
        assert twice["serving_plan"]["rows"][0]["gpus"]["likely"] >= row["gpus"]["likely"]


@law
@given(
    model=models.filter(lambda model: model != FLUX),
    count=st.sampled_from((1, 2, 8)),
    method=st.sampled_from(("lora", "qlora", "full")),
    stages=st.sampled_from((1, 2, 7)),
    framework=st.sampled_from((None, "torchtune", "axolotl", "unsloth")),
    offload=st.sampled_from(OFFLOADS[1:]),
)
def test_training_with_offload_never_takes_more(
    model: str, count: int, method: str, stages: int, framework: str | None, offload: str
) -> None:
    plan = stated(
        {
            "model": model,
            "gpu": "h100-sxm-80gb",
            "gpu_count": count,
            "method": method,
            "sharding": "fsdp",
            "pipeline_parallel": stages,
            "framework": framework,
        }
    )
    try:
        kept, moved = (training(SIZER, {**plan, "offload": how}) for how in ("none", offload))
    except GpusizerError:
        return
    assert _asked(written(moved)) <= _asked(written(kept))


def _asked(report: Json) -> int:
    total: int = next(row["total_bytes"] for row in report["estimates"] if row["asked"])
    return total


def test_what_runs_on_a_card_has_the_numbers_that_sizing_it_there_has() -> None:
    asked = ("rtx-3060-12gb", "apple-m4-pro-48gb", "instinct-mi300x-192gb")
    for gpu in asked:
        report = written(models_for(SIZER, {"gpu": gpu}))
        for row in report["models"][:: 1 if NIGHTLY else 5]:
            sized = answer(model=row["repo_id"], gpu=gpu, gpu_count=1, context=row["context"])
            assert sized is not None
            place = sized["ranking"][0]
            for name in ("quant", "engine", "verdict", "headroom_bytes", "per_gpu_bytes"):
                assert place[name] == row[name], (gpu, row["repo_id"], name)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        *(
            ({"engine": slug, "kv_dtype": dtype}, "kv_dtype")
            for slug in ("vllm", "sglang", "tensorrt-llm", "tgi", "transformers", "exllama", "mlx")
            for dtype in sorted({"q5_0", "iq4_nl"} - {*ENGINES[slug].abilities.cache_types})
        ),
        ({"engine": "vllm", "engine_version": "banana"}, "engine_version"),
        ({"engine": "diffusers"}, "engine"),
    ],
    ids=str,
)
def test_what_an_engine_does_not_know_is_refused(fields: Fields, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        size(SIZER, {"model": "Qwen/Qwen3-8B", **fields})
    assert refused.value.fields["field"] == field


def test_an_engine_of_other_models_does_not_run_a_picture_model() -> None:
    for slug, engine in ENGINES.items():
        runs = answer(model=FLUX, engine=slug) is not None
        assert runs == ("pipeline" in engine.abilities.kinds), slug


@pytest.mark.parametrize(
    "fields",
    [
        {"max_usd": 1},
        {"engine": "vllm", "tensor_parallel": 7},
        {"min_tok_s": 1e6, "vendor": "NVIDIA"},
    ],
    ids=str,
)
def test_an_empty_ranking_says_why_in_words_of_numbers(fields: Fields) -> None:
    report = answer(model="Qwen/Qwen3-8B", **fields)
    assert report is not None
    assert report["notes"]
    assert not any(place["decode_tokens_per_second"] for place in report["ranking"])
    assert not re.search(r"\de\+\d", json.dumps(report["notes"]))


def test_a_refused_split_does_not_fit() -> None:
    report = answer(
        model="Qwen/Qwen3-8B", gpu="h100-sxm-80gb", engine="vllm", tensor_parallel=3, gpu_count=3
    )
    assert report is not None
    assert {row["verdict"] for row in judged(report)} == {"not_supported"}


def test_more_system_memory_never_gives_less() -> None:
    """W5 and W8: with memory beside the card, what fits on it alone stays as it is."""
    for model in ("Qwen/Qwen3-8B", "openai/gpt-oss-20b"):
        alone, beside = (
            answer(model=model, gpu="rtx-4090-24gb", gpu_count=1, ram_gb=ram) for ram in (None, 64)
        )
        assert alone is not None
        assert beside is not None
        assert beside["ranking"][0] == alone["ranking"][0]
