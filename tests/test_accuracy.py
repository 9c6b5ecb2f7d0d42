"""Answers may only come nearer to measurements; `bench/accuracy_baseline.json` holds the errors.

Tests that need the answer to every row are here, so that they are asked once in a run.
"""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bench import accuracy, bands, baseline, first_contact, left_out, served_answers, start_up_logs
from bench.accuracy import baseline_errors, report_lines, worst_rows
from bench.accuracy_table import FILE
from bench.errors import (
    Comparison,
    frame_of,
    one_per_group,
    shared,
    summarize,
    weighted_rank,
)
from bench.evaluation import COMPONENTS, Accuracy, compared, evaluate, published_accuracy
from bench.front_door import size
from bench.hf_mem import needed
from bench.llama_cpp import fields_of as llama_cpp_fields
from bench.measurements import ALL_TABLES, SERVING_LOAD, load, load_profile, load_snapshot
from bench.publication import published
from bench.rivals import (
    load_answers,
    naive_kv_bytes_per_token,
    naive_weights_bytes,
    versions,
)
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines.bands import TABLE
from gpusizer.memory.engines.vllm.releases import vllm_release
from gpusizer.memory.quants import find_quant
from gpusizer.training.stacks import find_stack, stacks
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.sizer import Sizer
from tests.documents import written

GIB = 2**30
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
ROW = {
    "kind": "serving",
    "id": "a",
    "dup_group": "a",
    "source_group": "me/mine",
    "source_url": "https://example.org/log",
    "engine": "vllm",
    "engine_version": "0.19.0",
    "repo": LLAMA,
    "profile": LLAMA,
    "profile_basis": "id",
    "quant": "native",
    "gpu": "H100 80GB",
    "gpu_memory_bytes": 80 * GIB,
    "gpu_count": 2,
    "tensor_parallel": 2,
    "pipeline_parallel": 1,
    "max_model_len": 8192,
    "utilization": 0.9,
    "kv_dtype": "fp8_e4m3",
    "outcome": "ran",
    "measured": {"weights_bytes": 8 * GIB, "kv_bytes_per_token": 32768.0},
}

BARS = {
    # Largest median error of answers with the source left out.
    "decode_gddr": 0.075,
    "decode_hbm": 0.09,
    "decode_apple": 0.105,
    "decode_amd": 0.115,
    "decode_intel": 0.095,
    "decode_moe": 0.12,
    "decode_split": 0.05,
    "prefill": 0.25,
}


@pytest.fixture(scope="module")
def measured() -> Accuracy:
    """Return the errors of all published rows, computed once."""
    return published_accuracy()


def test_no_error_has_grown(measured: Accuracy) -> None:
    worse = baseline.raised(baseline_errors(measured))
    assert worse == [], "\n".join([*worse, *report_lines(measured, 3)])


@pytest.mark.parametrize("component", BARS)
def test_bars_are_met_and_bands_hold_for_strangers(measured: Accuracy, component: str) -> None:
    """With the source left out of constants and bands, every source weighing the same: four of
    five runs lie in the band."""
    errors = measured.sections["speed"]["speed", component].left_out
    assert errors.median <= BARS[component]
    assert errors.in_band is not None and errors.in_band >= 0.80


def same(now: Any, expected: Any) -> bool:
    """Equal within the last digit that is written."""
    if isinstance(now, dict):
        return now.keys() == expected.keys() and all(same(now[k], expected[k]) for k in now)
    if isinstance(now, list):
        return len(now) == len(expected) and all(map(same, now, expected))
    if isinstance(now, float):
        return bool(now == pytest.approx(expected, abs=0.0011, rel=1e-3))
    return bool(now == expected)


def test_the_published_table_is_what_the_benchmark_finds(measured: Accuracy) -> None:
    expected = json.loads(FILE.read_text("utf-8"))
    now = json.loads(json.dumps(published(measured, expected["as_of"])))
    assert same(now, expected), "run: python -m bench.accuracy --write-docs"


def test_the_bands_are_those_of_the_measurements() -> None:
    """`python -m bench.bands --write` after a change to predictions or rows."""
    assert bands.table(load()) == TABLE.read_text("utf-8")


def test_every_section_and_component_has_errors(measured: Accuracy) -> None:
    assert list(measured.sections) == ["training", "speed", "memory", "apart"]
    components = {key[1] for errors in measured.sections.values() for key in errors}
    assert components == set(COMPONENTS) - set(served_answers.QUANTITIES) - {"decode_other"}
    assert measured.coverage["serving"][1] > 100
    assert measured.comparisons["source_url"].str.startswith("http").all()


def test_first_contacts_are_of_rows_that_are_here_and_each_once() -> None:
    contacts = first_contact.read()
    ids = {row["id"] for row in load((*ALL_TABLES, SERVING_LOAD))}
    assert set(contacts["id"]) <= ids
    assert not contacts.duplicated(["id", "quantity"]).any()
    assert set(contacts["quantity"]) <= {*COMPONENTS, first_contact.NO_ANSWER}


def test_a_first_contact_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "first_contact.csv"
    assert first_contact.record([ROW], compared, path) == 2
    once = path.read_text("utf-8")
    assert first_contact.record([ROW], compared, path) == 0
    assert path.read_text("utf-8") == once
    assert list(first_contact.read(path)["quantity"]) == ["weights", "kv_per_token"]
    lora = {**ROW, "id": "b", "flags": ["lora"]}
    assert first_contact.record([lora], compared, path) == 1
    assert list(first_contact.read(path)["quantity"])[-1] == first_contact.NO_ANSWER


def test_constants_of_a_single_source_are_undone_without_it() -> None:
    source = "llm-d-planner"
    present = vllm_release("0.18.0").nvlink
    with left_out.without(source):
        assert vllm_release("0.18.0").nvlink < present / 2
    assert vllm_release("0.18.0").nvlink == present
    with left_out.without("modelscope/ms-swift"):
        assert find_stack("torchtitan").compiled_logits_bytes == 4


def test_every_supported_constant_is_there_and_has_another_value() -> None:
    for source in {source for support in left_out.supports() for source in support.sources}:
        with left_out.without(source):
            stacks_without = dict(stacks())
        for support in left_out.supported_alone(source, "training_stacks"):
            present = getattr(stacks()[support.row], support.constant)
            assert getattr(stacks_without[support.row], support.constant) != present, support
    ids = {row["source_group"] for row in load(ALL_TABLES)}
    assert {s for support in left_out.supports() for s in support.sources} <= ids


def test_the_bench_reads_what_the_shell_prints() -> None:
    """Leaving out advice and commands changes nothing else of an answer."""
    fields = {k: v for k, v in start_up_logs.fields_of(ROW).items() if v is not None and v != ""}
    sizer = Sizer(lambda ref: load_snapshot(ref.repo_id), load_catalogue())
    full = written(sizer.size(SizeRequest.from_fields(fields)))
    for entry in full["ranking"]:
        for name in ("largest", "advice", "plans", "benchmark", "quantizing"):
            del entry[name]
    told = deepcopy(size(start_up_logs.fields_of(ROW)))
    for shown in (full, told):  # a row's own is what `largest` found, and `capacity` vLLM's
        del shown["answer"]["facts"]["max_concurrency"]
        for entry in shown["ranking"]:
            del entry["max_concurrency"], entry["max_context"]
    assert told == full


def comparison_of(
    measured: float, predicted: float, guess: float | None = None, name: str = "a"
) -> Comparison:
    return Comparison(
        "vllm", "weights", "", name, name, "me", "https://x.org", measured, predicted, guess
    )


def test_statistics_by_hand() -> None:
    rows = frame_of(
        [comparison_of(2 * GIB, 3 * GIB, 4 * GIB), comparison_of(4 * GIB, 3 * GIB, 4 * GIB, "b")]
    )
    summary = summarize(rows)
    assert (summary.n, summary.median, summary.mean, summary.bias) == (2, 0.375, 0.375, 0.125)
    assert (summary.p95, summary.mean_amount, summary.naive_mean) == (0.5, 1.0, 0.5)
    worst = worst_rows(rows, 1)
    assert {key: list(rows["row_id"]) for key, rows in worst.items()} == {
        ("vllm", "weights"): ["a"]
    }


def test_every_source_weighs_the_same() -> None:
    """Ten rows of one laboratory are worth one row of another."""
    errors = pd.Series([0.1] * 10 + [-0.5])
    sources = pd.Series(["lab"] * 10 + ["blog"])
    inside = pd.Series([1.0] * 5 + [0.0] * 5 + [float("nan")])
    summary = shared(errors, sources, inside)
    assert (summary.n, summary.sources, summary.mean) == (11, 2, 0.3)
    assert summary.bias == pytest.approx(-0.2)
    assert (summary.median, summary.p95, summary.in_band) == (0.1, 0.5, 0.5)
    assert weighted_rank(pd.Series([1.0, 2.0]), pd.Series([0.4, 0.6]), 0.5) == 2.0


def test_repeats_of_a_configuration_count_once() -> None:
    first = one_per_group(
        frame_of([comparison_of(1, 1), comparison_of(1, 9), comparison_of(1, 2, name="b")])
    )
    assert list(first["predicted"]) == [1, 2]


def test_a_row_becomes_a_request() -> None:
    fields = start_up_logs.fields_of(ROW)
    assert {name: value for name, value in fields.items() if value not in (None, "", False)} == {
        "model": LLAMA,
        "quant": "native",
        "gpu": "h100-sxm-80gb",
        "engine": "vllm",
        "gpu_count": 2,
        "tensor_parallel": 2,
        "pipeline_parallel": 1,
        "kv_dtype": "fp8_e4m3",
        "engine_version": "0.19.0",
        "context": 8192,
        "memory_utilization": 0.9,
    }
    assert start_up_logs.fields_of({**ROW, "kv_dtype": "auto"})["kv_dtype"] == "auto"
    run = start_up_logs.scenario(ROW)
    assert run is not None
    assert (run.family, run.even, run.gpus) == ("dense", True, 2)
    comparisons = evaluate([ROW]).comparisons
    assert list(comparisons["component"]) == ["weights", "kv_per_token"]
    assert list(comparisons["variant"]) == ["stored", ""]


def test_the_pool_is_the_one_of_the_catalogue_card() -> None:
    """The row's own total, which no request can state, changes nothing."""
    row = {**ROW, "measured": {"kv_pool_bytes": 50 * GIB}}
    pools = {
        evaluate([{**row, "gpu_memory_bytes": amount * GIB}]).comparisons["predicted"][0]
        for amount in (70, 80)
    }
    answer = size(start_up_logs.fields_of(row))
    assert answer is not None
    assert pools == {answer["estimates"][0]["capacity"]["kv_cache_pool_bytes"]}
    unnamed = {**row, "gpu": "80 GB-class"}
    assert evaluate([unnamed]).comparisons.empty


def test_graphs_are_compared_with_an_eager_answer() -> None:
    row = {**ROW, "measured": {"graphs_bytes": GIB, "non_torch_bytes": GIB}}
    predicted = evaluate([row]).comparisons.set_index("component")["predicted"]
    plain = size(start_up_logs.fields_of(row))
    assert plain is not None
    per_gpu = plain["estimates"][0]["per_gpu"]
    context = 0.51 * GIB
    everything = predicted["graphs"] + predicted["non_torch"]
    assert everything < per_gpu["overhead_bytes"] <= everything + context + predicted["graphs"]


def test_runs_that_no_request_can_state_have_their_own_section() -> None:
    for flag in ("lora", "pooling", "draft_model", "patched"):
        result = evaluate([{**ROW, "flags": [flag]}])
        assert list(result.sections) == ["apart"]
        assert baseline_errors(result).keys() <= {"said not to fit"}


def test_a_run_out_of_memory_is_counted() -> None:
    failed = {**ROW, "outcome": "out_of_memory", "measured": {"kv_pool_bytes": -GIB}}
    assert evaluate([failed]).verdicts.said_fits == ("a",)
    full = {**failed, "gpu": "RTX 3060"}
    assert evaluate([full]).verdicts.out_of_memory == 1
    assert evaluate([{**ROW, "gpu": "RTX 4060"}]).verdicts.said_not == ("a",)
    assert evaluate([{**failed, "gpu": "unstated"}]).verdicts.out_of_memory == 0


def test_the_naive_calculator() -> None:
    profile = load_profile(LLAMA)
    assert naive_weights_bytes(profile, find_quant("bf16"), native=True) == 2 * profile.parameters
    assert (
        naive_weights_bytes(profile, find_quant("q4_k_m"), native=False) == profile.parameters / 2
    )
    assert naive_kv_bytes_per_token(profile) == 131072


def test_a_run_of_llama_cpp_becomes_a_request() -> None:
    row: dict[str, Any] = {
        "profile": LLAMA,
        "program": "llama.cpp",
        "build": "b6123",
        "quant": "Q4_K_M",
        "gpus": ["NVIDIA GeForce RTX 4090"],
        "gpu_count": 1,
        "context": 8192,
        "sequences": 2,
        "kv_k": "q8_0",
        "kv_v": "f16",
        "flash_attention": False,
        "offload": "none",
        "backends": ["CUDA"],
        "date": "2025-08-05",
    }
    fields = llama_cpp_fields(row)
    assert (fields["context"], fields["concurrency"]) == (4096, 2)
    assert (fields["kv_dtype"], fields["gpu_layers"]) == ("q8_0/f16", 0)
    assert (fields["flash_attention"], fields["cpu_moe"]) == (False, False)
    assert llama_cpp_fields({**row, "offload": "overrides"})["cpu_moe"]
    assert (fields["engine_version"], fields["backend"]) == ("b6123", "cuda")
    assert fields["text_only"]
    undated = {key: value for key, value in row.items() if key != "build"}
    assert llama_cpp_fields(undated)["engine_version"] == "2025-08-05"


def test_the_baseline_refuses_to_rise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    held = tmp_path / "held.json"

    def run(*weights_bytes: int) -> None:
        lines = [
            json.dumps({**ROW, "dup_group": str(amount), "measured": {"weights_bytes": amount}})
            for amount in weights_bytes
        ]
        rows.write_text("\n".join(lines), "utf-8")
        command = ["accuracy", "--file", str(rows), "--update-baseline", "--baseline", str(held)]
        monkeypatch.setattr("sys.argv", command)
        accuracy.main()

    run(8 * GIB)
    first = baseline.read(held)
    with pytest.raises(SystemExit, match="would grow"):
        run(9 * GIB)
    assert baseline.read(held) == first
    assert list(first) == ["vllm weights", "said not to fit"]
    run(8 * GIB, 9 * GIB)
    assert baseline.read(held)["vllm weights"]["n"] == 2
    with pytest.raises(SystemExit, match="2 rows became 1"):
        run(8 * GIB)
    expected_problems = [f"{name}: no longer measured" for name in baseline.read(held)]
    assert baseline.raised({}, held) == expected_problems


def test_hf_mem_answers_every_comparable_row_and_no_other() -> None:
    """`python -m bench.hf_mem --python ENV/bin/python --new` after rows were added."""
    assert sorted(load_answers()) == needed()
    assert versions() == "0.5.6"
