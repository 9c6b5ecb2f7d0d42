"""EXL2 and EXL3 are offered where ExLlama runs them, and nowhere else."""

from __future__ import annotations

from functools import cache

import pytest

from gpusizer.answers.report import Report
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from tests.asking import size
from tests.each import each
from tests.sizers import embedded_sizer


@cache
def report(model: str, **fields: str) -> Report:
    return size(embedded_sizer(), {"model": model, "top": 0, **fields})


@each(
    "model, formats",
    [
        ("Qwen/Qwen3-8B", {"exl2", "exl3"}),
        ("Qwen/Qwen3-235B-A22B", {"exl2", "exl3"}),
        ("google/gemma-3-27b-it", {"exl2", "exl3"}),
        ("google/gemma-4-26B-A4B-it", {"exl3"}),
        ("deepseek-ai/DeepSeek-R1", {"exl3"}),
        ("openai/gpt-oss-20b", {"exl3"}),
        ("ibm-granite/granite-3.3-8b-instruct", {"exl2"}),
        ("google/gemma-3n-E4B-it", set()),
        ("microsoft/phi-2", set()),
    ],
)
def test_formats_of_a_model(model: str, formats: set[str]) -> None:
    slugs = [row.estimate.quant.slug for row in report(model).estimates]
    assert {slug[:4] for slug in slugs if slug.startswith("exl")} == formats


def test_exl3_runs_on_cuda_alone() -> None:
    """Two MI355X were the fastest for DeepSeek R1, in a format with no build for them."""
    ranking = report("deepseek-ai/DeepSeek-R1", quant="exl3-4.0").ranking
    assert ranking
    assert {item.fit.gpu.software for item in ranking} == {"CUDA"}
    fastest = report("deepseek-ai/DeepSeek-R1").alternatives[1].item.fit
    assert not fastest.estimate.quant.slug.startswith("exl2")


def test_a_format_can_still_be_asked_for_by_name() -> None:
    assert report("deepseek-ai/DeepSeek-R1", quant="exl2-4.0").estimates
    with pytest.raises(InvalidRequest):
        report("deepseek-ai/DeepSeek-R1", quant="exl2-4.0", engine="vllm")


def test_every_row_has_a_source() -> None:
    rows = list(
        read_table(
            DATA_DIR / "exllama_architectures.csv",
            lambda row: (row.text("format"), row.text("model_type"), row.text("source")),
        )
    )
    assert len({row[:2] for row in rows}) == len(rows) > 60
    assert {kind for kind, _, _ in rows} == {"exl2", "exl3"}
    assert all(source.startswith("https://github.com/turboderp-org/") for _, _, source in rows)
