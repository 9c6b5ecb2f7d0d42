"""Laws within an answer: figures, sentences and refusals.

By day each is asked of fixed examples, at night of new and more ones (tests/conftest.py).
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.fit.division import board_counts
from gpusizer.gpus import load_catalogue
from gpusizer.quality.quality import LossWord
from gpusizer.training.frozen import leaves_experts_wide
from tests.asking import models_for, size, training
from tests.sizers import embedded_sizer
from tests.unit.test_laws import FLUX, ON_GPU, SIZER, answer, dear_law, gpus, law

RATES = (
    "decode_tokens_per_second",
    "read_tokens_per_second",
    "audio_seconds_per_second",
    "picture_seconds",
)
QUANTIZED = (
    "Qwen/Qwen2-1.5B-Instruct-GPTQ-Int4",
    "TheBloke/Genz-70b-GPTQ",
    "nvidia/Qwen3-8B-NVFP4",
)


@law
@given(
    model=st.sampled_from(
        (
            "openai/whisper-large-v3",
            "BAAI/bge-large-en-v1.5",
            "Qwen/Qwen3-8B",
            FLUX,
            "Qwen/Qwen3-Embedding-8B",
        )
    ),
    gpu=gpus,
    count=st.sampled_from((1, 2)),
    users=st.sampled_from((1, 9)),
)
def test_a_known_speed_is_not_called_unknown(model: str, gpu: str, count: int, users: int) -> None:
    report = answer(model=model, gpu=gpu, gpu_count=count, concurrency=users)
    for place in report["ranking"] if report else ():
        known = any(place.get(rate) is not None for rate in RATES)
        if place["verdict"] in ON_GPU:
            assert known != ("speed unknown" in place["why"]), (place["why"], known)


@law
@given(
    model=st.sampled_from((*QUANTIZED, "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B")),
    gpu=gpus,
    engine=st.sampled_from((None, "ollama", "llama.cpp", "mlx")),
    most=st.sampled_from(("none", "very_small", "small", "noticeable")),
)
def test_what_is_said_to_lose_least_does(
    model: str, gpu: str, engine: str | None, most: str
) -> None:
    """No fitting row loses less, among all that fit or that the repository can be made into."""
    report = answer(model=model, gpu=gpu, gpu_count=1, engine=engine, max_loss=most)
    for place in report["ranking"] if report else ():
        codes = {note["code"] for note in place["reasons"]}
        said = codes & {"beyond_everything", "beyond_stored", "beyond_stored_of"}
        assert bool(said) == any(code == f"beyond_{most}" for code in codes)
        if not said:
            continue
        chosen = LossWord(place["quality"]["word"]).rank
        for row in report["estimates"] if report else ():
            made = said == {"beyond_everything"} or not row["needs_original_weights"]
            if made and row["verdict"] == "fits":
                assert LossWord(row["quality"]["word"]).rank >= chosen, row["quant"]


@law
@given(
    model=st.sampled_from(("deepseek-ai/DeepSeek-R1", "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-32B")),
    gpu=st.sampled_from(("rtx-3060-12gb", "rtx-4090-24gb")),
    ram=st.sampled_from((8, 16, 64, 512)),
)
def test_plans_keep_to_the_system_memory_that_the_machine_has(
    model: str, gpu: str, ram: int
) -> None:
    """4 GiB of it are the system's own."""
    report = answer(model=model, gpu=gpu, gpu_count=1, ram_gb=ram)
    for place in report["ranking"] if report else ():
        for plan in place["plans"]:
            if plan["verdict"] == "offload":
                assert plan["ram_bytes"] <= (ram - 4) * 2**30, plan["kind"]


@dear_law
@given(
    model=st.sampled_from(
        ("Qwen/Qwen3-0.6B", "ibm-ai-platform/Bamba-9B-v1", "meta-llama/Llama-3.1-8B-Instruct")
    ),
    gpu=st.sampled_from(("1x 3090", "2x rtx-3050-8gb", "2x a100-pcie-80gb")),
    engine=st.sampled_from((None, "vllm", "llama.cpp")),
    kv_dtype=st.sampled_from((None, "f32")),
    context=st.sampled_from((105, 8192, 48_238)),
    users=st.sampled_from((1, 3, 116)),
)
def test_the_most_that_a_named_gpu_holds_runs_when_asked_for(
    model: str, gpu: str, engine: str | None, kv_dtype: str | None, context: int, users: int
) -> None:
    asked = {"model": model, "gpu": gpu, "engine": engine, "kv_dtype": kv_dtype}
    asked |= {"quant": "native", "context": context, "concurrency": users}
    report = answer(**asked)
    for place in report["ranking"] if report else ():
        if place["verdict"] != "fits":
            continue
        changes = (
            [{"concurrency": int(place["max_concurrency"])}] if place["max_concurrency"] else []
        )
        if users == 1 and place["max_context"]:
            changes.append({"context": place["max_context"]})
        for change in changes:
            again = answer(**{**asked, "engine": place["engine"], **change})
            assert again is not None
            assert again["ranking"][0]["verdict"] == "fits", change


@dear_law
@given(
    model=st.sampled_from(
        ("Qwen/Qwen3-30B-A3B", "mistralai/Mixtral-8x7B-v0.1", "Qwen/Qwen3-8B", "openai/gpt-oss-20b")
    ),
    method=st.sampled_from(("lora", "qlora", "full", "dora")),
    framework=st.sampled_from((None, "torchtune", "axolotl", "unsloth")),
)
def test_experts_that_four_bits_do_not_reach_are_told_wherever_they_are_counted(
    model: str, method: str, framework: str | None
) -> None:
    asked = {"model": model, "method": method, "framework": framework}
    report = training(SIZER, {name: value for name, value in asked.items() if value is not None})
    wide = any(leaves_experts_wide(report.profile, row.plan) for row in report.estimates)
    assert wide == ("training_of_experts" in {note.code for note in report.notes})
    taken = {row.plan.method: row.memory.total.likely for row in report.estimates}
    assert wide or taken["qlora"] <= taken["lora"]


@dear_law
@given(
    gpu=st.sampled_from(("rtx-3060-12gb", "rtx-4090-24gb", "h100-sxm-80gb")),
    rate=st.sampled_from((0.1, 1, 20)),
    prompt=st.sampled_from((1, 128, 4000)),
    tokens=st.sampled_from((1, 2, 300)),
)
def test_a_late_first_token_is_no_earlier_than_the_mean(
    gpu: str, rate: float, prompt: int, tokens: int
) -> None:
    report = answer(
        model="Qwen/Qwen3-8B",
        gpu=gpu,
        requests_per_second=rate,
        prompt_tokens=prompt,
        answer_tokens=tokens,
    )
    for row in report["serving_plan"]["rows"] if report else ():
        wait = row["time_to_first_token_seconds"]
        assert wait["low"] <= wait["likely"] <= wait["at_percentile"]


@law
@given(
    model=st.sampled_from((FLUX, "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V2-Lite")),
    rig=st.sampled_from(("3090 + 64gb ram", "rtx 3060 12gb + 64 GB ram", "4090 + 128gb ram")),
)
def test_a_rig_that_leaves_a_part_in_memory_says_how_much(model: str, rig: str) -> None:
    report = answer(model=model, rig=rig, quant="native")
    placed = report["rig"] if report else {"verdict": ""}
    if placed["verdict"] != "offload":
        return
    assert placed["ram"]["weights_bytes"] > 0
    assert placed["ram"]["headroom_bytes"] >= 0
    for device in placed["devices"]:
        assert device["total_bytes"] <= device["free_bytes"]
        assert device["headroom_bytes"] == device["free_bytes"] - device["total_bytes"]


@pytest.mark.parametrize(("license", "noted"), [("banana", True), ("apache-2.0", False)])
def test_a_licence_that_no_model_has_is_told(license: str, noted: bool) -> None:
    asked = {"gpu": "4090", "models": "Qwen/Qwen3-0.6B", "license": license}
    codes = {note.code for note in models_for(SIZER, asked).notes}
    assert ("license_of_none" in codes) == noted


@pytest.mark.parametrize(("file", "noted"), [("banana", True), ("model.safetensors", False)])
def test_a_file_that_a_snapshot_does_not_know_is_told(file: str, noted: bool) -> None:
    report = size(embedded_sizer(), {"model": "Qwen/Qwen3-0.6B", "file": file})
    codes = {note.code for note in report.profile.caveats}
    assert ("file_not_looked_at" in codes) == noted


@law
@given(
    model=st.sampled_from(("Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B")),
    users=st.sampled_from((2, 16, 300)),
)
def test_percentiles_are_of_times_of_the_first_place(model: str, users: int) -> None:
    report = answer(model=model, concurrency=users, top=3)
    for place in report["ranking"] if report else ():
        for name, spread in (place["served"] or {}).items():
            if not isinstance(spread, dict):
                continue
            is_time = name.endswith("_seconds")
            assert is_time or spread["p95"] is None, name
            assert place["rank"] == 1 or (spread["p50"], spread["p95"]) == (None, None), name


@dear_law
@given(
    model=st.sampled_from(
        ("zai-org/GLM-4.5-Air", "Qwen/Qwen3-32B", "Qwen/Qwen3-8B", "openai/gpt-oss-120b")
    ),
    gpu=st.sampled_from(("rtx-a6000-48gb", "rtx-5090-32gb", "l40s-48gb", "rtx-3060-12gb")),
    engine=st.sampled_from((None, "vllm", "llama.cpp")),
    users=st.sampled_from((1, 40)),
)
def test_an_open_number_of_boards_is_the_smallest_that_runs_it(
    model: str, gpu: str, engine: str | None, users: int
) -> None:
    """Among planned numbers none runs it if the answer says so.

    A number below the chosen one runs it in part at most.
    """
    planned = board_counts(load_catalogue().find(gpu))
    asked = {"model": model, "gpu": gpu, "engine": engine, "concurrency": users}
    report = answer(**asked)
    for place in report["ranking"] if report else ():
        fails = place["verdict"] == "does_not_fit"
        for count in (n for n in planned if (n <= 8 if fails else n < place["count"])):
            stated = answer(**{**asked, "gpu_count": count})
            assert stated is not None
            other = stated["ranking"][0]
            lossier = any(note["code"].startswith("beyond_") for note in other["reasons"])
            turns = any(note["code"] == "users_in_turns" for note in other["reasons"])
            otherwise = lossier or turns or other["engine"] != place["engine"]
            if users > 4:  # what a card serves in comes before the number of boards
                otherwise = otherwise or other["quant"] != place["quant"]
            assert otherwise or other["verdict"] not in ON_GPU, count
