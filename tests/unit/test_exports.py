"""Exports of an answer: files, and the formula of every number."""

from __future__ import annotations

import csv
import io
import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.api.exports import (
    ESTIMATE_COLUMNS,
    RANKING_COLUMNS,
    estimates_csv,
    inert,
    ranking_csv,
)
from gpusizer.api.size import SizeAnswer, size_answer
from gpusizer.core.byte_ranges import Provenance
from gpusizer.core.printable import printable
from gpusizer.text import say_note
from gpusizer.ui.presenters.markdown import plain
from gpusizer.usecases.derivation import DerivationStep, derivation
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()


@pytest.fixture(scope="module")
def report() -> Report:
    return size(SIZER, {"model": "meta-llama/Llama-3.1-8B-Instruct", "top": 30})


def answer(report: Report) -> SizeAnswer:
    return size_answer(report, say_note)


def test_the_ranking_as_csv(report: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(ranking_csv(answer(report)))))
    assert tuple(rows[0]) == tuple(RANKING_COLUMNS)
    assert len(rows) == 30
    first_row, item = rows[0], report.ranking[0]
    assert (first_row["gpu"], int(first_row["count"])) == (item.fit.gpu.name, item.fit.count)
    assert int(first_row["headroom_bytes"]) == item.fit.headroom_bytes
    unknown = [row for row in rows if row["buy_usd"] == ""]
    assert len(unknown) == sum(item.costs.buy_usd is None for item in report.ranking)


def test_the_estimates_as_csv(report: Report) -> None:
    rows = {row["quant"]: row for row in csv.DictReader(io.StringIO(estimates_csv(answer(report))))}
    assert tuple(rows["bf16"]) == tuple(ESTIMATE_COLUMNS)
    parts = ("weights_bytes", "kv_cache_bytes", "activations_bytes", "overhead_bytes")
    bf16 = rows["bf16"]
    assert sum(int(bf16[part]) for part in parts) == int(bf16["total_bytes"])
    assert int(bf16["low_bytes"]) <= int(bf16["total_bytes"]) <= int(bf16["high_bytes"])


@given(st.text(max_size=20))
def test_no_cell_is_a_formula(text: str) -> None:
    cell = inert(text)
    assert isinstance(cell, str)
    assert cell.lstrip("'")[:1] not in {"="} or cell.startswith("'")
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert cell.endswith(printable(text))


HOSTILE = ["[x](javascript:alert(1))", "<img src=x onerror=1>", "a | b", "![](x)", "`code`", "# h"]


@pytest.mark.parametrize("text", HOSTILE)
def test_names_are_escaped_in_markdown(text: str) -> None:
    escaped = plain(text)
    assert "<" not in escaped and "](" not in escaped
    assert all(f"\\{mark}" in escaped for mark in "[]|`#" if mark in text)


LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
V4 = "deepseek-ai/DeepSeek-V4-Flash"
MODELS = (
    LLAMA,
    "deepseek-ai/DeepSeek-R1",
    "google/gemma-3-27b-it",
    "openai/gpt-oss-20b",
    "Qwen/Qwen3-Coder-Next",
    "BAAI/bge-large-en-v1.5",
    "black-forest-labs/FLUX.1-dev",
)


@cache
def _report(model: str, **fields: object) -> Report:
    return size(embedded_sizer(), {"model": model, "quant": "all", "top": 0, **fields})


def _steps(report: Report, quant: str) -> tuple[DerivationStep, ...]:
    row = next(row for row in report.estimates if row.estimate.quant.slug == quant)
    return derivation(row)


def _value(formula: str) -> float:
    """Return the formula as arithmetic: its units dropped, its signs Python's."""
    arithmetic = re.sub(r" B\b|,", "", formula).replace("×", "*").replace("÷", "/")
    assert re.fullmatch(r"[\d.+*/() ]+", arithmetic), formula
    return float(eval(arithmetic))  # digits and operators only, as checked above


@pytest.mark.parametrize("fields", [{}, {"concurrency": 7, "kv_dtype": "q8_0", "context": 5000}])
@pytest.mark.parametrize("model", MODELS)
def test_lines_sum_to_the_estimate(model: str, fields: dict[str, object]) -> None:
    if model in ("black-forest-labs/FLUX.1-dev", "BAAI/bge-large-en-v1.5"):
        fields = {}
    report = _report(model, **fields)
    for row in report.estimates:
        memory = row.estimate.all_gpus
        steps = derivation(row)
        for part, amount in (
            ("weights", memory.weights.likely),
            ("kv_cache", memory.kv_cache.likely),
            ("activations", memory.activations.likely),
            ("overhead", memory.overhead.likely + memory.outside.likely),
        ):
            lines = [step.correction or step.amount.likely for step in steps if step.part == part]
            assert sum(lines) == amount, (row.estimate.quant.slug, part)


@pytest.mark.parametrize("model", MODELS[:5])
def test_a_formula_worked_out_is_its_amount(model: str) -> None:
    report = _report(model, concurrency=3)
    for row in report.estimates:
        for step in derivation(row):
            if step.formula and step.rule != "tensors":
                # Bits per weight are written to four decimals.
                assert _value(step.formula) == pytest.approx(step.amount.likely, rel=2e-5)


def test_llama_at_16_bits_by_hand() -> None:
    weights, *_ = steps = _steps(_report(LLAMA, context=8192, concurrency=2), "bf16")
    assert (weights.rule, weights.amount.likely) == ("tensors", 16_060_522_496)
    assert weights.amount.provenance is Provenance.EXACT
    cache = next(step for step in steps if step.part == "kv_cache")
    assert cache.formula == "32 × (1,024 × 2 B + 1,024 × 2 B) × 8,192 × 2"
    assert cache.amount.likely == 2 * 2**30


def test_weights_in_system_memory_are_subtracted() -> None:
    """The untied input embedding: 128,256 x 4,096 at Q4_K, 4.5 bits."""
    steps = _steps(_report(LLAMA), "q4_k_m")
    (host_step,) = [step for step in steps if step.rule == "engine"]
    assert host_step.correction == -(128_256 * 4_096 * 9 // 16)


def test_entries_that_tokens_share_have_a_line() -> None:
    """DeepSeek-V4-Flash: 21 layers keep a vector of 512 and 128 of an indexer for 4 tokens, 20 a
    vector for 128."""
    formulas = {step.formula for step in _steps(_report(V4, context=8192), "bf16")}
    assert {"21 × 640 × 2 B × 2,048", "20 × 512 × 2 B × 64"} <= formulas


def test_windows_and_states_have_lines_of_their_own() -> None:
    gemma = {step.rule for step in _steps(_report("google/gemma-3-27b-it"), "q4_k_m")}
    hybrid = {step.rule for step in _steps(_report(MODELS[4]), "q4_k_m")}
    assert {"window", "layers"} <= gemma
    assert {"state", "layers"} <= hybrid
