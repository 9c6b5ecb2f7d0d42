"""Predictions of training runs: the bar they must keep, and errors that may only shrink."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import accuracy, training_baseline
from bench.measurements import TRAINING, load
from bench.training import (
    complete,
    device_bytes,
    errors_of,
    fields_of,
    predict,
    predictions,
    report_lines,
    sections,
    verdicts,
)

ROWS = load([TRAINING])
GIB = 2**30


def test_the_bar() -> None:
    """Mean and 90th percentile of absolute errors, bias, and bands that hold what they say."""
    errors = sections(predictions(ROWS))
    single, several = errors["single GPU"], errors["several GPUs"]
    assert single.n >= 160 and several.n >= 45
    assert single.mean <= 0.10 and single.p90 <= 0.25
    assert several.mean <= 0.20
    assert abs(single.bias) <= 0.03 and abs(several.bias) <= 0.03
    assert single.inside >= 0.80 and several.inside >= 0.90


def test_verdicts() -> None:
    out, ran = verdicts(ROWS)
    assert len(out) >= 5 and len(ran) >= 200
    assert sum(not one.fits for one in out) >= 0.90 * len(out)
    assert sum(bool(one.fits) for one in ran) >= 0.95 * len(ran)


def test_no_error_has_grown() -> None:
    worse = training_baseline.raised(training_baseline.held(ROWS), training_baseline.read())
    assert worse == [], "\n".join([*worse, *report_lines(ROWS, 3)])


def test_a_run_becomes_the_request_it_stands_for() -> None:
    row = next(r for r in ROWS if r["repo"] == "Qwen/Qwen-7B" and r.get("train_embeddings"))
    fields = fields_of(row)
    assert fields["framework"] == "deepspeed"
    assert fields["lora_targets"] == ["c_attn", "c_proj", "w1", "w2"]
    assert "framework" not in fields_of(row, contract_only=True)
    assert not complete({**row, "sequence_length": None})
    assert not complete({**row, "method": "lisa"})
    assert not complete({**row, "confidence": "low"})


def test_a_full_card_has_given_its_cache_back() -> None:
    row = next(r for r in ROWS if r["stack"] == "ms-swift" and r.get("micro_batch") == 8)
    made = predict(row)
    assert made.card_bytes == 80 * GIB
    assert made.memory.total.likely > 80 * GIB
    assert made.predicted == 80 * GIB
    assert made.fits


@pytest.mark.parametrize(
    ("name", "label", "gib"),
    [
        ("H200 141GB", 141, 140.4), ("H100 96GB (HBM2e, 500W)", 96, 95.6),  # GiB, not 10^9 bytes
        ("A10G 24GB", 24, 22.5), ("L40S 48GB", 48, 45.0),  # ECC takes its part
        ("A100 80GB SXM", 80, 80.0), ("A100 80GB", 40, 40.0),  # the row's own label decides
        ("unstated (16 GB class)", 16, 16.0), ("24GB-class x2", 24, 24.0),
    ],
)  # fmt: skip
def test_cards_have_the_memory_of_the_catalogue(name: str, label: int, gib: float) -> None:
    found = device_bytes(name, label)
    assert found is not None
    assert found / GIB == pytest.approx(gib, abs=0.05)


def test_a_card_of_an_unknown_size_is_not_known() -> None:
    assert device_bytes("a card", 7777) is None


def test_verdicts_give_only_what_the_row_gives() -> None:
    row = next(r for r in ROWS if r.get("sharding") == "zero3" and r["method"] == "full")
    row = {**row, "gpu_class_gb": 80, "outcome": "ran"}
    del row["precision"]
    _, ran = verdicts([row])
    assert [one.plan.precision for one in ran] == ["master"]


def test_statistics_by_hand() -> None:
    made = predictions(ROWS)[:2]
    errors = errors_of(made)
    a, b = (one.relative for one in made)
    assert errors.n == 2
    assert errors.bias == pytest.approx((a + b) / 2)
    assert errors.p90 == max(abs(a), abs(b))


def test_the_baseline_names_what_grew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {"single GPU": {"n": 2, "mean": 0.1, "bias": -0.01}}
    grew = {"single GPU": {"n": 2, "mean": 0.2, "bias": 0.005}}
    assert training_baseline.raised(grew, before) == ["single GPU: mean 0.1 became 0.2"]
    assert training_baseline.raised({}, before) == ["single GPU: fewer runs than before"]
    held = tmp_path / "held.json"
    monkeypatch.setattr(training_baseline, "BASELINE", held)
    monkeypatch.setattr("sys.argv", ["accuracy", "--training", "--update-baseline"])
    accuracy.main()
    assert (
        training_baseline.raised(training_baseline.held(ROWS), json.loads(held.read_text())) == []
    )


def test_the_command_prints_the_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["accuracy", "--training", "--worst", "2"])
    accuracy.main()
    printed = capsys.readouterr().out
    assert "worst: several GPUs" in printed and "https://" in printed
    assert "ran out of memory: 7, said to fit: 0" in printed
