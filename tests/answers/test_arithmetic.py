"""Questions that once ended in anything but an answer, at round rates and lengths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gpusizer.api.answers import ANSWERS
from gpusizer.text import say_note
from gpusizer.usecases.use_cases import USE_CASES
from tests.answers.forms import check_answer
from tests.sizers import embedded_sizer

CPU = "cpu only + 64gb ram"
QWEN = "Qwen/Qwen3-8B"
LOAD = {"requests_per_second": 10, "prompt_tokens": 1000, "answer_tokens": 100}
LONG = {"requests_per_second": 0.01, "prompt_tokens": 30_000, "answer_tokens": 10}


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        ("size", {"model": QWEN, "gpu": "rtx-4090-d-48gb-mod", **LOAD}),
        (
            "size",
            {"model": QWEN, "gpu": "h100-sxm-80gb", "engine": "vllm"}
            | {**LONG, "max_num_batched_tokens": 1},
        ),
        ("size", {"model": QWEN, "rig": CPU, "concurrency": 8}),
        ("size", {"model": "openai/whisper-large-v3", "rig": CPU}),
        ("train", {"model": "microsoft/phi-1_5", "gpu": "v100-sxm2-16gb, custom:24.5GB@Metal"}),
        ("train", {"model": "adept/fuyu-8b", "framework": "unsloth", "rollout_share": 0.05}),
    ],
)
def test_an_odd_question_has_an_answer_of_the_contract(
    question: str, fields: Mapping[str, Any]
) -> None:
    answered = USE_CASES[question].ask(embedded_sizer(), fields)
    check_answer(question, ANSWERS[question].from_record(answered, say_note).json_bytes())
