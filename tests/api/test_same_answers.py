"""The library, the shell and `/v1` answer a question with equal objects."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
import requests

import gpusizer
from gpusizer.api.base import AnswerModel
from gpusizer.usecases.requests.request_docs import described_fields
from gpusizer.usecases.use_cases import USE_CASES
from tests.cli.test_cli import ENVIRONMENT, POSITIONAL, run

_FUNCTIONS: Mapping[str, Callable[..., AnswerModel]] = {
    "size": gpusizer.size,
    "train": gpusizer.train,
    "compare": gpusizer.compare,
    "models-for": gpusizer.models_for,
    "gpus": gpusizer.list_gpus,
    "desk": gpusizer.desk,
}
QUESTIONS: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("size", {"model": "Qwen/Qwen3-8B", "gpu": "4090", "context": 32768}),
    ("size", {"model": "Qwen/Qwen3-30B-A3B", "gpu": "3060 + 64 GB RAM", "card": False}),
    ("size", {"model": "Qwen/Qwen3-32B", "top": 3, "max_usd": 5000, "concurrency": 8}),
    (
        "size",
        {
            "model": "Qwen/Qwen3-8B",
            "gpu": ["L40S", "H100"],
            "requests_per_second": 2,
            "prompt_tokens": 1000,
            "answer_tokens": 300,
        },
    ),
    ("size", {"model": "black-forest-labs/FLUX.1-dev", "gpu": "4090", "steps": 28}),
    ("train", {"model": "Qwen/Qwen3-8B", "method": "qlora", "gpu": "4090"}),
    ("compare", {"gpus": ["4090", "2x3090"], "model": "google/gemma-3-27b-it"}),
    ("compare", {"gpus": ["4060", "A100 80GB MIG 1g.10gb"]}),
    ("models-for", {"gpu": "3060", "purpose": "chat", "top": 5}),
    ("desk", {"models": ["Qwen/Qwen3-8B users=2", "BAAI/bge-large-en-v1.5"], "gpu": "2x 3060"}),
    ("desk", {"models": "Qwen/Qwen3-8B", "max_usd": 1000}),
    ("gpus", {"query": "rtx 40", "max_watts": 250}),
)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


def of_the_shell(question: str, fields: Mapping[str, Any]) -> Any:
    """Return what the shell prints."""
    by_place = POSITIONAL[question]
    words = [question, "--json", "--offline"]
    for name, value in fields.items():
        values = value if isinstance(value, list) else [value]
        for item in values:
            text = str(item).lower() if isinstance(item, bool) else str(item)
            words += [text] if name == by_place else [f"--{name.replace('_', '-')}={text}"]
    shown = run(*words)
    assert shown.returncode == 0, shown.stderr
    return json.loads(shown.stdout)


def of_v1(question: str, fields: Mapping[str, Any], url: str) -> Any:
    """Return what `/v1` sends."""
    sent = {n: str(v).lower() if isinstance(v, bool) else v for n, v in fields.items()}
    answer = requests.get(f"{url}v1/{question}", params=sent, timeout=120)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(("question", "fields"), QUESTIONS)
def test_three_doors_give_one_answer(
    question: str, fields: Mapping[str, Any], app_url: str
) -> None:
    offline = {} if question == "gpus" else {"offline": True}
    ours = json.loads(_FUNCTIONS[question](**fields, **offline).json_bytes())
    assert ours == of_the_shell(question, fields)
    assert ours == of_v1(question, fields, app_url)


def test_every_question_has_its_function() -> None:
    assert _FUNCTIONS.keys() == USE_CASES.keys() == {question for question, _ in QUESTIONS}
    for question, fields in QUESTIONS:
        assert fields.keys() <= described_fields(USE_CASES[question].request).keys()
