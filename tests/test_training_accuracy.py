"""Training runs: the bar that answers keep over all rows. Errors with each source left out are held
by `bench/accuracy_baseline.json`."""

from __future__ import annotations

from bench.measurements import TRAINING, load
from bench.training import (
    compare,
    complete,
    fields_of,
    predict,
    predictions,
    sections,
    verdicts,
)

ROWS = load([TRAINING])
GIB = 2**30


def test_the_bar() -> None:
    """Mean and 90th percentile of absolute errors, bias, and shares of runs inside their bands."""
    errors = sections(predictions(ROWS))
    single, several = errors.loc["peak_one_gpu"], errors.loc["peak_several_gpus"]
    assert single["n"] >= 160 and several["n"] >= 45
    assert single["mean"] <= 0.10 and single["p90"] <= 0.25
    assert several["mean"] <= 0.20
    assert abs(single["bias"]) <= 0.03 and abs(several["bias"]) <= 0.03
    assert single["inside"] >= 0.80 and several["inside"] >= 0.90


def test_verdicts() -> None:
    out, ran = verdicts(ROWS)
    assert len(out) >= 5 and len(ran) >= 200
    assert sum(not run.fits for run in out) >= 0.90 * len(out)
    assert sum(bool(run.fits) for run in ran) >= 0.95 * len(ran)


def test_a_run_becomes_a_request() -> None:
    row = next(r for r in ROWS if r["repo"] == "Qwen/Qwen-7B" and r.get("train_embeddings"))
    fields = fields_of(row)
    assert fields["framework"] == "deepspeed"
    assert fields["lora_targets"] == ["c_attn", "c_proj", "w1", "w2"]
    assert fields["gpu"] == "a100-sxm-80gb"
    assert not complete({**row, "sequence_length": None})
    assert not complete({**row, "method": "lisa"})
    assert not complete({**row, "confidence": "low"})


def test_comparisons_use_the_numbers_of_the_answer() -> None:
    row = next(r for r in ROWS if r["stack"] == "ms-swift" and r.get("micro_batch") == 8)
    run = predict(row)
    assert run is not None
    (estimate,) = [e for e in run.answer["estimates"] if e["asked"]]
    name = "reserved_bytes" if row["metric"] == "reserved" else "total_bytes"
    assert run.predicted == estimate["per_gpu"][name]
    assert run.fits == (run.answer["ranking"][0]["verdict"] in ("fits", "tight"))


def test_counts_and_loaded_weights_are_compared_where_stated() -> None:
    row = next(r for r in ROWS if r["repo"] == "unsloth/Llama-3.3-70B-Instruct")
    errors = {c.component: c.predicted / c.measured - 1 for c in compare(row)}
    assert errors.keys() == {"trainable_parameters", "loaded_weights"}
    assert errors["trainable_parameters"] == 0
    assert abs(errors["loaded_weights"]) < 0.05
