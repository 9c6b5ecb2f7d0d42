"""Checks of an estimate: published runs of exactly it, and a command."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.advice.ranking import Ranked
from gpusizer.launch.benchmark import Benchmark, benchmark_of
from gpusizer.usecases.published_runs import (
    PublishedRun,
    build_index,
    find_runs,
)
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.sizers import embedded_sizer

MODEL = "Qwen/Qwen3-8B"
RUN: dict[str, Any] = {
    "kind": "throughput",
    "id": "speed-1",
    "dup_group": "speed-1",
    "source_group": "somebody",
    "source_url": "https://example.org/run",
    "date": "2026-03-01",
    "repo": MODEL,
    "profile": MODEL,
    "profile_basis": "id",
    "engine": "llama.cpp",
    "quant": "q4_k_m",
    "gpu": "RTX 4090",
    "gpu_slug": "rtx-4090-24gb",
    "gpu_count": 1,
    "context": 4096,
    "measured": {"decode_tokens_per_second": 120.0},
}


def report(gpu: str = "4090", model: str = MODEL, **fields: Any) -> Report:
    asked = {"model": model, "gpu": gpu, "quant": "q4_k_m", "engine": "llama.cpp"}
    return size(embedded_sizer(), {**asked, **fields})


def place(gpu: str = "4090", **fields: Any) -> Ranked:
    return report(gpu, **fields).ranking[0]


def command(gpu: str = "4090", **fields: Any) -> Benchmark:
    answer = report(gpu, **fields)
    measuring = benchmark_of(answer.profile, answer.ranking[0], answer.workload)
    assert measuring is not None
    return measuring


def matching(*rows: dict[str, Any], unfitted: frozenset[str] = frozenset()) -> list[PublishedRun]:
    answer = report()
    index = build_index(rows, embedded_sizer().catalogue, unfitted)
    return list(find_runs(index, answer.profile, answer.ranking[0].fit))


def test_a_run_of_exactly_this_stands_beside_the_estimate() -> None:
    (run,) = matching(RUN)
    assert run.measured == {"decode_tokens_per_second": 120.0}
    assert (run.source_url, run.date, run.gpu) == (RUN["source_url"], "2026-03-01", "RTX 4090")
    assert run.settings == {"context": 4096}


@pytest.mark.parametrize(
    "change",
    [
        {"profile": "Qwen/Qwen3-4B"},
        {"profile_basis": "same_shapes", "repo": "somebody/a-fine-tune"},
        {"quant": "q8_0"},
        {"quant": None},
        {"gpu_slug": "rtx-4090d-24gb"},
        {"gpu_count": 2},
        {"engine": "vllm"},
        {"measured": {}},
    ],
)
def test_nothing_else_does(change: dict[str, Any]) -> None:
    assert matching({**RUN, **change}) == []


def test_repeats_of_a_configuration_are_one_run_and_the_newest_comes_first() -> None:
    older = {**RUN, "id": "speed-2", "dup_group": "speed-2", "date": "2025-01"}
    assert [run.date for run in matching(older, RUN, {**RUN, "id": "speed-3"})] == [
        "2026-03-01",
        "2025-01",
    ]


def test_speeds_come_before_memory() -> None:
    memory = {"kind": "llama_cpp", "offload": "all", "measured": {"total_used_bytes": 6 * 2**30}}
    undated = {name: value for name, value in RUN.items() if name != "date"}
    measured = [list(run.measured) for run in matching({**RUN, **memory}, undated)]
    assert measured == [["decode_tokens_per_second"], ["total_used_bytes"]]


def test_a_run_says_whether_constants_may_rest_on_it() -> None:
    (run,) = matching(RUN)
    assert run.used_in_fit is True
    (blind,) = matching(RUN, unfitted=frozenset({"speed-1"}))
    assert blind.used_in_fit is False
    memory = {"kind": "llama_cpp", "offload": "all", "measured": {"total_used_bytes": 6 * 2**30}}
    (unknown,) = matching({**RUN, **memory})
    assert unknown.used_in_fit is None
    assert matching({**RUN, **memory, "offload": "partial"}) == []


def test_cards_of_logs_are_found_by_name() -> None:
    row = {key: value for key, value in RUN.items() if not key.startswith("gpu")}
    name = "NVIDIA GeForce RTX 4090"
    assert matching({**row, "gpus": [name]})
    assert not matching({**row, "gpus": [name, "NVIDIA GeForce RTX 3090"]})
    assert not matching({**row, "gpus": ["24 GB-class GPU"]})


def test_files_of_a_quantized_repository_have_the_runs_of_their_model() -> None:
    answer = report()
    made = replace(answer.profile, repo_id="org/Qwen3-8B-GGUF", format="gguf", base_models=(MODEL,))
    index = build_index([RUN], embedded_sizer().catalogue, frozenset())
    assert len(find_runs(index, made, answer.ranking[0].fit)) == 1
    tuned = replace(made, format="safetensors", base_relation="finetune")
    assert find_runs(index, tuned, answer.ranking[0].fit) == ()


def test_llama_bench_reads_the_prompt_and_answers_behind_a_full_cache() -> None:
    measuring = command(context=8192)
    *made, prompt, answer = measuring.text.replace(" \\\n ", "").splitlines()
    assert len(made) == 4 and made[3].startswith("llama-quantize ")
    assert prompt == "llama-bench -m Qwen3-8B-Q4_K_M.gguf -p 6144 -n 0 -ngl 99 -fa 1"
    assert answer == "llama-bench -m Qwen3-8B-Q4_K_M.gguf -p 0 -n 128 -d 8064 -ngl 99 -fa 1"
    assert [note.code for note in measuring.notes] == ["launch_makes_gguf"]
    speeds = place(context=8192).speeds
    assert speeds is not None
    assert [(e.run, e.printed, e.rate) for e in measuring.expected] == [
        (1, "pp6144", speeds.prefill),
        (2, "tg128 @ d8064", speeds.decode),
    ]


def test_llama_bench_is_told_the_cache_the_layers_and_flash_attention() -> None:
    text = command("2x4090", kv_dtype="q8_0", flash_attention="true").text
    assert "-ctk q8_0 -ctv q8_0" in text and "-sm layer" in text


def test_vllm_bench_has_the_users_asked_for_and_those_the_cache_holds() -> None:
    measuring = command("h100", engine="vllm", quant="bf16", concurrency=4)
    asked, full = measuring.text.replace(" \\\n ", "").splitlines()
    lengths = "--random-input-len 6144 --random-output-len 2048 --ignore-eos"
    assert asked == (
        f"vllm bench serve --model {MODEL} --dataset-name random {lengths}"
        " --max-concurrency 4 --num-prompts 16"
    )
    speeds = place("h100", engine="vllm", quant="bf16", concurrency=4).speeds
    assert speeds is not None and speeds.per_user is not None
    assert f"--max-concurrency {speeds.serving_users} " in full
    wait, total = measuring.expected
    assert wait.unit == "ms" and wait.rate.low < wait.rate.likely < wait.rate.high
    assert wait.rate.likely == pytest.approx(1000 / speeds.per_user.likely, rel=0.01)
    assert (total.printed, total.rate) == ("Output token throughput (tok/s)", speeds.serving)


def test_mlx_measures_the_converted_weights() -> None:
    text = command("apple m3 ultra 512gb", engine="mlx", quant="mlx-4bit").text
    assert text.startswith("mlx_lm.benchmark --model Qwen3-8B-mlx-4bit \\\n")


@pytest.mark.parametrize("engine", ["ollama", "transformers", "exllama"])
def test_engines_without_such_a_program_have_no_command(engine: str) -> None:
    answer = size(embedded_sizer(), {"model": MODEL, "gpu": "4090", "engine": engine})
    assert benchmark_of(answer.profile, answer.ranking[0], answer.workload) is None


def test_what_does_not_run_is_not_measured() -> None:
    answer = report("1x rtx 3050 6gb", quant="q8_0")
    assert answer.ranking[0].speeds is None
    assert benchmark_of(answer.profile, answer.ranking[0], answer.workload) is None


def test_layers_in_system_memory_are_not_measured_against_a_claim_about_all() -> None:
    answer = report(gpu_layers=10)
    assert benchmark_of(answer.profile, answer.ranking[0], answer.workload) is None


def test_a_slow_card_is_looked_at_by_its_maker() -> None:
    def codes(gpu: str, **fields: Any) -> list[str]:
        return [note.code for note in command(gpu, **fields).when_less]

    llama = ["look_layers_on_gpu", "look_flash_attention"]
    assert codes("4090") == ["look_power_limit", "look_slot_width", *llama]
    assert codes("2x4090") == ["look_power_limit", "look_slots_of_all", *llama]
    assert codes("7900 xtx") == ["look_power_limit", *llama]
    assert codes("apple m3 ultra 512gb") == ["look_low_power_mode", *llama]
    power = command("4090").when_less[0]
    assert power.fields == {"command": "nvidia-smi -q -d POWER", "watts": 450}


def test_a_name_that_the_hub_cannot_have_gets_no_command() -> None:
    answer = report()
    folder = replace(answer.profile, repo_id="/home/ann/model")
    assert benchmark_of(folder, answer.ranking[0], answer.workload) is None
