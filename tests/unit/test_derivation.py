"""Every number's formula: the lines sum to the estimate, and their arithmetic is right."""

from __future__ import annotations

import re
from functools import cache

import pytest

from gpusizer.answers.derivation import DerivationStep, derivation
from gpusizer.answers.report import Report
from gpusizer.core.byte_ranges import Provenance
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.bars import shown_rows
from gpusizer.ui.presenters.derivation import derivation_html
from gpusizer.ui.presenters.words import Words
from tests.asking import size
from tests.each import each
from tests.sizers import embedded_sizer

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
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
    """The formula as arithmetic: its units dropped, its signs Python's."""
    arithmetic = re.sub(r" B\b|,", "", formula).replace("×", "*").replace("÷", "/")
    assert re.fullmatch(r"[\d.+*/() ]+", arithmetic), formula
    return float(eval(arithmetic))  # digits and operators only, as checked above


@each("fields", [{}, {"concurrency": 7, "kv_dtype": "q8_0", "context": 5000}])
@each("model", MODELS)
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


@each("model", MODELS[:5])
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


def test_windows_and_states_have_lines_of_their_own() -> None:
    gemma = {step.rule for step in _steps(_report("google/gemma-3-27b-it"), "q4_k_m")}
    hybrid = {step.rule for step in _steps(_report(MODELS[4]), "q4_k_m")}
    assert {"window", "layers"} <= gemma
    assert {"state", "layers"} <= hybrid


@each("language", LANGUAGES)
@each("model", MODELS)
def test_the_page_says_every_rule_in_words(model: str, language: Language) -> None:
    report = _report(model)
    page = derivation_html(shown_rows(report.estimates), Words(language))
    assert "derivation." not in page
    assert page.count("gs-sum") == len(shown_rows(report.estimates))
