"""Every door starts the model by the same command."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.api.size import size_answer
from gpusizer.cli.summary import size_summary
from gpusizer.text import say_note
from gpusizer.ui.page.answering import answer
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.answer import advice_of
from gpusizer.ui.presenters.pieces.words import Words
from tests.asking import size
from tests.sizers import embedded_sizer

QWEN, FLUX = "Qwen/Qwen3-8B", "black-forest-labs/FLUX.1-dev"


@pytest.mark.parametrize(
    ("asked", "begins"),
    [
        ({"model": QWEN}, "llama-server -hf Qwen/Qwen3-8B-GGUF:Q8_0"),
        ({"model": QWEN, "gpu": "h100 sxm"}, f"vllm serve {QWEN}"),
        ({"model": "Qwen/Qwen3-8B-FP8", "gpu": "3060"}, "llama-server -hf Qwen/Qwen3-8B-GGUF:Q6_K"),
        ({"model": QWEN, "rig": "3060 + 64 GB RAM"}, "llama-server -hf Qwen/Qwen3-8B-GGUF:Q8_0"),
        ({"model": "Qwen/Qwen3-32B", "requests_per_second": 2}, "vllm serve Qwen/Qwen3-32B"),
        ({"model": FLUX}, "import torch"),
    ],
)
def test_shell_json_and_page_start_alike(asked: dict[str, Any], begins: str) -> None:
    report = size(embedded_sizer(), asked)
    start = size_answer(report, say_note).start
    assert start is not None and start.command.startswith(begins)
    summary = size_summary(report)
    if start.language == "bash":
        assert all(f"\n  {line}\n" in f"{summary}\n" for line in start.command.splitlines())
    else:
        assert "Start it with diffusers: --details" in summary
    fields = {name: str(value) for name, value in asked.items() if name != "model"}
    gpu = fields.pop("gpu", fields.pop("rig", ""))
    state = PageState(asked["model"], {**fields, **({"gpu": gpu} if gpu else {})})
    shown = advice_of(answer(embedded_sizer(), state), Words("en")).start
    assert shown is not None and shown.start.line.text == start.command


def test_what_does_not_run_is_not_started() -> None:
    asked = {"model": QWEN, "gpu": "1x 2080 8gb", "quant": "bf16", "engine": "vllm"}
    report = size(embedded_sizer(), asked)
    document = size_answer(report, say_note).document()
    assert "start" not in document and "Start it" not in size_summary(report)
