"""Predictions may only come nearer to measurements; `bench/accuracy_baseline.json` holds them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import accuracy, bands, baseline, naive
from bench.accuracy_report import report_json, report_lines, worst_rows
from bench.comparison import ALL, Comparison, Tolerance, one_per_group, p95, summarize
from bench.evaluation import ALL_SOURCES, STATED, SWEEP, TOLERANCES, Accuracy, evaluate
from bench.llama_cpp import gguf_quant, on_gpus
from bench.measurements import load
from bench.models import load_profile
from bench.serving import card, scenario, workload_of
from gpusizer.engines.bands import TABLE
from gpusizer.quants import find_quant

GIB = 2**30
LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
ROW = {
    "kind": "serving", "id": "a", "dup_group": "a", "source_group": "me/mine",
    "source_url": "https://example.org/log", "engine": "vllm", "engine_version": "0.19.0",
    "repo": LLAMA, "profile": LLAMA, "profile_basis": "id", "quant": "native",
    "gpu": "H100 80GB", "gpu_memory_bytes": 80 * GIB, "gpu_count": 2, "tensor_parallel": 2,
    "pipeline_parallel": 1, "max_model_len": 8192, "utilization": 0.9, "kv_dtype": "fp8_e4m3",
    "outcome": "ran", "measured": {"weights_bytes": 8 * GIB, "kv_bytes_per_token": 32768.0},
}  # fmt: skip


@pytest.fixture(scope="module")
def measured() -> Accuracy:
    """Every published row, predicted once."""
    return evaluate(load())


def test_no_error_has_grown(measured: Accuracy) -> None:
    worse = baseline.raised(measured.sections[ALL_SOURCES], baseline.read())
    assert worse == [], "\n".join([*worse, *report_lines(measured, 3)])


def test_no_run_that_ran_out_of_memory_is_said_to_fit(measured: Accuracy) -> None:
    assert measured.out_of_memory >= 3
    assert measured.said_fits == ()


def test_the_bands_are_those_of_the_measurements() -> None:
    """`python -m bench.bands --write` after a change to predictions or rows."""
    assert bands.table(load()) == TABLE.read_text("utf-8")


def test_the_report_names_every_component_and_the_sweep_apart(measured: Accuracy) -> None:
    text = "\n".join(report_lines(measured, 1))
    for title in (ALL_SOURCES, f"without {SWEEP}", f"only {SWEEP}", STATED):
        assert title in text
    assert {key[1] for key in measured.sections[ALL_SOURCES]} == set(TOLERANCES)
    parsed = json.loads(json.dumps(report_json(measured, 2)))
    assert parsed["coverage"]["serving"]["predicted"] > 100
    assert all(item["source_url"].startswith("http") for item in parsed["worst"])


def one(
    measured: float, predicted: float, guess: float | None = None, name: str = "a"
) -> Comparison:
    return Comparison(
        "vllm", "weights", "", name, name, "me", "https://x.org", measured, predicted, guess
    )


def test_statistics_by_hand() -> None:
    rows = [one(2 * GIB, 3 * GIB, 4 * GIB), one(4 * GIB, 3 * GIB, 4 * GIB, "b")]
    summary = summarize(rows, Tolerance(share=0.3))
    assert (summary.n, summary.median, summary.mean, summary.bias) == (2, 0.375, 0.375, 0.125)
    assert (summary.p95, summary.mean_amount, summary.within) == (0.5, 1.0, 0.5)
    assert (summary.naive_mean, summary.naive_mean_amount) == (0.5, 1.0)
    assert p95(range(1, 101)) == 95
    assert Tolerance(share=0.1, amount=5).holds(10, 15)
    assert worst_rows(rows, 1) == {("vllm", "weights"): [rows[0]]}


def test_repeats_of_a_configuration_count_once() -> None:
    assert one_per_group([one(1, 1), one(1, 9)]) == [one(1, 1)]


def test_a_row_becomes_the_request_it_stands_for() -> None:
    workload = workload_of(ROW)
    assert (workload.context, workload.kv_dtype, workload.tensor_parallel) == (8192, "fp8", 2)
    assert workload_of({**ROW, "kv_dtype": "auto", "weight_dtype": "float32"}).kv_dtype == "f32"
    assert card(ROW).device_memory_bytes == 80 * GIB
    assert card({"gpu_class_gb": 24}).device_memory_bytes == 24 * 10**9
    assert card({}).device_memory_bytes == 0
    run = scenario(ROW)
    assert (run.family, run.even, run.native) == ("dense", True, True)
    assert {c.component: c.variant for c in evaluate([ROW]).comparisons} == {
        "weights": "stored",
        "kv_per_token": "",
    }


def test_rows_that_name_no_card_of_ours() -> None:
    assert card({"gpu": "AMD GPU, 64 GB class", "gpu_class_gb": 64}).software == "ROCm"
    assert card({"gpu": "A card of ours", "gpu_class_gb": 64}).software == "CUDA"


def test_the_pool_is_compared_as_the_engine_adds_it_up() -> None:
    """What lies outside the budget does not make the pool that was printed smaller."""
    row = {**ROW, "utilization": 0.99, "measured": {"kv_pool_bytes": 50 * GIB}}
    run = scenario(row)
    inside = run.fit.estimate.per_gpu
    parts = (inside.weights, inside.activations, inside.overhead)
    made = evaluate([row]).comparisons
    assert [c.component for c in made] == ["kv_pool"]
    assert made[0].predicted == int(0.99 * 80 * GIB) - sum(part.likely for part in parts)
    assert made[0].predicted > run.fit.kv_pool_bytes


def test_a_pooling_run_samples_nothing() -> None:
    plain, pooled = scenario(ROW), scenario({**ROW, "flags": ["pooling"]})
    samples, forward = (one.fit.estimate.per_gpu.activations.likely for one in (plain, pooled))
    assert samples > forward == 8192 * 2 * 3 * (14_336 // 2 + 4096)


def test_a_run_out_of_memory_is_counted() -> None:
    failed = {**ROW, "outcome": "out_of_memory", "measured": {"kv_pool_bytes": -GIB}}
    assert evaluate([failed]).said_fits == ("a",)
    full = {**failed, "gpu_memory_bytes": 10 * GIB}
    assert (evaluate([full]).out_of_memory, evaluate([full]).said_fits) == (1, ())


def test_the_naive_calculator() -> None:
    profile = load_profile(LLAMA)
    assert naive.weights_bytes(profile, find_quant("bf16"), native=True) == 2 * profile.parameters
    assert (
        naive.weights_bytes(profile, find_quant("q4_k_m"), native=False) == profile.parameters / 2
    )
    assert naive.kv_bytes_per_token(profile) == 131072


def test_labels_of_gguf_files() -> None:
    profile = load_profile(LLAMA)
    known = gguf_quant("Q4_K_M", profile)
    assert known is not None
    assert (known[0].slug, known[1]) == ("q4_k_m", False)
    assert gguf_quant("UD-Q4_K_XL", profile) is None
    assert gguf_quant(None, profile) is None
    released = gguf_quant("F16", load_profile("openai/gpt-oss-20b"))
    assert released is not None
    assert (released[0].slug, released[1]) == ("mxfp4", True)
    short = gguf_quant("MXFP4", profile)
    assert short is not None
    assert short[0].slug == "mxfp4_moe"
    assert on_gpus({"CUDA0": 1, "CUDA_Host": 2, "CPU_Mapped": 3}) == {"CUDA0": 1}


def test_the_baseline_refuses_to_rise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, held = tmp_path / "rows.jsonl", tmp_path / "held.json"
    monkeypatch.setattr(baseline, "BASELINE", held)
    monkeypatch.setattr(accuracy, "BASELINE", held)

    def run(*weights_bytes: int) -> None:
        lines = [
            json.dumps({**ROW, "dup_group": str(amount), "measured": {"weights_bytes": amount}})
            for amount in weights_bytes
        ]
        rows.write_text("\n".join(lines), "utf-8")
        command = ["accuracy", "--file", str(rows), "--update-baseline"]
        monkeypatch.setattr("sys.argv", command)
        accuracy.main()

    run(8 * GIB)
    first = baseline.read()
    with pytest.raises(SystemExit, match="would grow"):
        run(9 * GIB)
    assert baseline.read() == first
    assert list(first) == [f"vllm weights {ALL}", "vllm weights stored"]
    run(8 * GIB, 9 * GIB)
    assert baseline.read()[f"vllm weights {ALL}"]["n"] == 2
    with pytest.raises(SystemExit, match="2 rows became 1"):
        run(8 * GIB)
    gone = baseline.raised({}, first)
    assert gone == [f"{name}: no longer measured" for name in first]


def test_the_command_prints_tables_or_json(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps(ROW), "utf-8")
    monkeypatch.setattr("sys.argv", ["accuracy", "--file", str(rows), "--worst", "1"])
    accuracy.main()
    assert "serving: 1 rows, 1 with a prediction" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["accuracy", "--file", str(rows), "--json"])
    accuracy.main()
    assert json.loads(capsys.readouterr().out)["coverage"]["serving"]["rows"] == 1
