"""Every plan that is shown has a command that runs as it is, or says that it has none."""

from __future__ import annotations

import re

import pytest

from gpusizer.answers.launch import launch_command
from gpusizer.answers.request import CompareRequest, SizeRequest
from gpusizer.text import LANGUAGES
from gpusizer.ui.presenters.side_by_side import side_by_side_html
from gpusizer.ui.presenters.words import Words
from tests.sizers import embedded_sizer

MODELS = (
    "Qwen/Qwen3-8B",
    "Qwen/Qwen3-30B-A3B",
    "google/gemma-3-27b-it",
    "openai/gpt-oss-20b",
    "black-forest-labs/FLUX.1-dev",
)
_PLACEHOLDER = re.compile(r"\b(?:OWNER|NAME|ORG|DRAFT)\b")


@pytest.mark.parametrize("model", MODELS)
def test_no_command_holds_a_blank_to_fill_in(model: str) -> None:
    report = embedded_sizer().size(SizeRequest.from_fields({"model": model, "top": 40}))
    assert report.ranking
    for place in report.ranking:
        command = launch_command(report.profile, place.fit, report.workload)
        assert not _PLACEHOLDER.search(command.text)
        assert command.text or command.notes, place.fit.gpu.name


@pytest.mark.parametrize(
    ("quant", "engine", "word"),
    [
        ("exl2-4.0", None, "no server"),
        ("awq-int4-g128", "vllm", "takes a repository"),
        ("iq2_xs", "llama.cpp", "takes a repository"),
    ],
)
def test_a_plan_without_a_command_says_so_and_why(
    quant: str, engine: str | None, word: str
) -> None:
    fields = {"model": "Qwen/Qwen3-8B", "gpus": "4090", "quant": quant, "engine": engine}
    comparison = embedded_sizer().compare(CompareRequest.from_fields(fields))
    page = side_by_side_html(comparison, ("4090",), "", Words("en"))
    assert "No command starts this plan as it is." in page and word in page
    assert "gs-code" not in page.split("gs-badge")[0]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_plan_with_a_command_shows_it(language: str) -> None:
    fields = {"model": "Qwen/Qwen3-8B", "gpus": "4090", "quant": "q4_k_m"}
    comparison = embedded_sizer().compare(CompareRequest.from_fields(fields))
    page = side_by_side_html(comparison, ("4090",), "", Words(language))  # type: ignore[arg-type]
    assert "llama-server -m Qwen3-8B-Q4_K_M.gguf" in page
    assert "OWNER" not in page
