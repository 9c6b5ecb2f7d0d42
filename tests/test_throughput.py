"""Predicted speeds may only come nearer to measurements; `bench/speed_baseline.json` holds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bench import speed_baseline, throughput
from bench.measurements import load
from bench.speed_cases import TABLE, Case, read_cases
from bench.speed_fit import Fits, Sample, decode_samples, fit_moe_share, fit_pace
from bench.speed_report import coverage, errors, median, report_lines
from bench.speed_scores import Scores, score
from bench.speed_tables import tables
from gpusizer.speed.decode import step_cost
from gpusizer.speed.tables import Pace

ROW: dict[str, Any] = {
    "kind": "throughput", "id": "a", "dup_group": "a", "source_group": "me/mine",
    "source_url": "https://example.org/bench", "engine": "llama.cpp", "front_end": "llama.cpp",
    "repo": "meta-llama/Llama-2-7b-hf", "profile": "meta-llama/Llama-2-7b-hf",
    "profile_basis": "id", "quant": "q4_0", "quantization": "q4_0", "gpu": "RTX 4090",
    "gpu_slug": "rtx-4090-24gb", "gpu_count": 1, "context": 64,
    "measured": {"decode_tokens_per_second": 150.0, "prefill_tokens_per_second": 9000.0},
}  # fmt: skip

BARS = {
    # Largest median error, every GPU predicted without its own runs.
    "decode llama.cpp NVIDIA GDDR": 0.08,
    "decode llama.cpp NVIDIA HBM": 0.15,
    "decode llama.cpp Apple": 0.08,
    "decode llama.cpp AMD": 0.15,
    "decode MoE": 0.25,
    "prefill all": 0.30,
}


@pytest.fixture(scope="module")
def scored() -> Scores:
    """Every published speed, predicted once."""
    return score(read_cases())


def test_no_error_has_grown(scored: Scores) -> None:
    worse = speed_baseline.raised(scored, speed_baseline.read())
    assert worse == [], "\n".join([*worse, *report_lines(load((TABLE,)), scored, 3)])


@pytest.mark.parametrize("group", BARS)
def test_every_bar_is_met_and_bands_hold_four_of_five(scored: Scores, group: str) -> None:
    found = scored.groups()[group]
    blind = median(errors(found, lambda one: one.blind))
    assert blind is not None and blind <= BARS[group]
    assert (coverage(found) or 0) >= 0.80


def test_better_than_the_roofline_and_one_efficiency(scored: Scores) -> None:
    for group in BARS:
        if group.startswith("decode"):
            found = scored.groups()[group]
            blind, roofline, flat = (
                median(errors(found, pick))
                for pick in (lambda o: o.blind, lambda o: o.roofline, lambda o: o.flat)
            )
            assert blind and roofline and flat
            assert blind < flat < roofline or blind < roofline < flat


def test_the_tables_are_those_of_the_measurements(scored: Scores) -> None:
    """`python -m bench.throughput --write` after a change to formulas or rows."""
    for path, text in tables(scored).items():
        assert text == path.read_text("utf-8"), path.name


def test_the_report_counts_what_it_predicts(scored: Scores) -> None:
    text = "\n".join(report_lines(load((TABLE,)), scored, 2))
    assert "995 rows, 663 with a prediction" in text
    for group in BARS:
        assert group in text


def case(**changes: Any) -> Case:
    (one,) = read_cases([{**ROW, **changes}])
    return one


def test_a_row_becomes_the_work_it_stands_for() -> None:
    """Llama-2-7B Q4_0: 3,825,065,984 bytes of tensors less 73,728,000 of the embedding."""
    one = case()
    assert one.work.dense_bytes == 3_825_065_984 - 32000 * 4096 // 32 * 18
    assert (one.work.facts.context, one.held_out, one.split) == (64, "rtx-4090-24gb", "one")
    assert case(gpu_count=4, split="layer").work.pipeline == 4
    assert case(gpu_count=2, split="tensor", engine="vllm", quant="bf16").split == "tensor"
    smaller = case(gpu="M1 7c", gpu_slug="apple-m1-8gb", gpu_cores=7).gpu
    assert smaller.fp32_flops == pytest.approx(2.6e12 * 7 / 8)
    assert case(file_bytes=2 * 3_825_065_984).work.dense_bytes == 2 * one.work.dense_bytes


def test_what_nobody_can_ask_for_is_left_out() -> None:
    for change in ({"engine": "mlc"}, {"gpu_count": 2, "split": "row"}, {"quant": "iq9"}):
        assert read_cases([{**ROW, **change}]) == []
    assert len(read_cases([ROW, ROW])) == 1


def made(pace: Pace, gpus: dict[str, str]) -> list[Sample]:
    """Runs as a pace would make them, of three formats on every GPU."""
    rows = []
    for name, slug in gpus.items():
        for quant in ("q4_0", "q8_0", "bf16"):
            row = {**ROW, "gpu": name, "gpu_slug": slug, "quant": quant, "dup_group": name + quant}
            (one,) = read_cases([row])
            cost = step_cost(one.work, one.gpu, 1)
            assert cost is not None
            measured = {"decode_tokens_per_second": 1 / cost.seconds(pace)}
            rows.append({**row, "measured": measured})
    return decode_samples(read_cases(rows))


def test_a_fit_finds_the_constants_that_made_the_rows() -> None:
    gpus = {"RTX 4090": "rtx-4090-24gb", "RTX 4080": "rtx-4080-16gb", "L40": "l40-48gb"}
    samples = made(Pace(0.8, 5e-5, 0), gpus)
    found = fit_pace(samples, None)
    assert found.efficiency == pytest.approx(0.8, rel=0.02)
    assert found.seconds_per_layer == pytest.approx(5e-5, rel=0.2)
    assert found.runs == 9
    drawn = fit_pace(samples[:1], Pace(0.4, 5e-5, 0))
    assert drawn.efficiency < 0.8


def test_a_gpu_left_out_does_not_tell() -> None:
    """The odd one out is predicted by the others' constants."""
    odd = made(Pace(0.4, 5e-5, 0), {"RTX 4070": "rtx-4070-12gb"})
    rest = made(Pace(0.8, 5e-5, 0), {"RTX 4090": "rtx-4090-24gb", "RTX 4080": "rtx-4080-16gb"})
    fits = Fits([*odd, *rest], [])
    classes = odd[0].classes
    blind = fits.pace(classes, "4-bit", "rtx-4070-12gb")
    assert blind is not None and blind.efficiency == pytest.approx(0.8, rel=0.05)
    assert fits.throughput(classes, "4-bit") is None
    assert fit_moe_share([]) == 0.5


def test_the_command_holds_and_refuses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, held = tmp_path / "rows.jsonl", tmp_path / "held.json"
    monkeypatch.setattr(speed_baseline, "BASELINE", held)

    def run(fast: float, *options: str) -> None:
        others = {"rtx-4080-16gb": 106.0, "rtx-4090-24gb": fast}
        lines = [
            json.dumps(
                {**ROW, "id": slug, "gpu_slug": slug, "dup_group": slug,
                 "measured": {"decode_tokens_per_second": rate}}
            )
            for slug, rate in others.items()
        ]  # fmt: skip
        rows.write_text("\n".join(lines), "utf-8")
        monkeypatch.setattr("sys.argv", ["throughput", "--file", str(rows), *options])
        throughput.main()

    run(150.0, "--update-baseline")
    first = speed_baseline.read()
    assert first["decode llama.cpp NVIDIA GDDR"]["n"] == 2
    with pytest.raises(SystemExit, match="would grow"):
        run(300.0, "--update-baseline")
    assert speed_baseline.read() == first
    capsys.readouterr()
    run(150.0)
    assert "2 rows, 2 with a prediction" in capsys.readouterr().out
