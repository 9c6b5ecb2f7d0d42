"""Answers match the models of `gpusizer.api`: their names, and values of their types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from gpusizer.api.errors import error_document
from gpusizer.core.errors import UnknownGpu
from gpusizer.core.printable import json_bytes
from gpusizer.gpus import load_catalogue
from gpusizer.hub.listed_models import QuantizedRepo
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.use_cases import USE_CASES
from tests.answers.forms import check_answer, check_error
from tests.carded import CARDED_MODEL, carded_snapshot
from tests.documents import written
from tests.sizers import embedded_sizer

LLAMA, QWEN, SMALL = "meta-llama/Llama-3.1-8B", "Qwen/Qwen3-32B", "Qwen/Qwen3-0.6B"
FLUX, WHISPER, BGE = (
    "black-forest-labs/FLUX.1-dev",
    "openai/whisper-large-v3",
    "BAAI/bge-large-en-v1.5",
)
MACHINE = "3090 + 3060 + 64gb ram"
REPO = QuantizedRepo("a/model-AWQ", "awq", downloads=12, likes=3)

QUESTIONS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "every GPU": ("size", {"model": LLAMA, "concurrency": 4}),
    "a GPU": ("size", {"model": LLAMA, "gpu": "4090, 2x3090", "quant": "q4_k_m"}),
    "a published run": ("size", {"model": LLAMA, "gpu": "4090", "engine": "llama.cpp"}),
    "pictures": ("size", {"model": FLUX, "gpu": "4090", "steps": 28}),
    "speech": ("size", {"model": WHISPER, "top": 5}),
    "embeddings": ("size", {"model": BGE, "top": 5}),
    "too large": ("size", {"model": "deepseek-ai/DeepSeek-R1", "gpu": "4090", "quant": "native"}),
    "from disk": ("size", {"model": QWEN, "gpu": "3060", "ram_gb": 8, "disk_gb_per_s": 7}),
    "a machine": ("size", {"model": QWEN, "rig": MACHINE, "vendor": "nvidia", "max_usd": 9000}),
    "a draft": ("size", {"model": QWEN, "gpu": "h100", "draft_model": SMALL}),
    "its speed": (
        "size",
        {"model": QWEN, "gpu": "h100", "draft_model": SMALL, "acceptance_rate": 0.7},
    ),
    "a load": ("size", {"model": QWEN, "requests_per_second": 5, "ttft_ms": 500}),
    "training": ("train", {"model": LLAMA}),
    "training on a GPU": ("train", {"model": LLAMA, "gpu": "4090", "rollout_share": 0.3}),
    "GPUs alone": ("compare", {"gpus": "4090, m3 max 128gb"}),
    "GPUs for a model": ("compare", {"gpus": "4090, 2x3090", "model": LLAMA}),
    "users of a GPU": ("compare", {"gpus": "4090", "model": LLAMA, "concurrency": 4}),
    "models": ("models-for", {"gpu": "4090", "top": 5}),
    "models of a machine": ("models-for", {"gpu": MACHINE, "from_disk": True, "top": 5}),
    "a desk": ("desk", {"models": [QWEN, f"{BGE} resident=no", WHISPER], "gpu": MACHINE}),
    "a desk to buy": ("desk", {"models": [SMALL, BGE]}),
    "a desk without room": ("desk", {"models": [f"{QWEN} quant=native", SMALL], "gpu": "3060"}),
    "the catalogue": ("gpus", {}),
    "no GPU": ("gpus", {"query": "no such card"}),
}


def check(sizer: Sizer, question: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Ask, and hold what is answered to the form; returns it."""
    answer = written(USE_CASES[question].ask(sizer, fields))
    check_answer(question, json.dumps(answer).encode())
    return dict(answer)


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_answer_has_the_form_of_its_question(name: str) -> None:
    check(embedded_sizer(), *QUESTIONS[name])


def test_a_card_and_published_quantizations_have_their_form() -> None:
    sizer = Sizer(lambda ref: carded_snapshot(), load_catalogue(), lambda repo_id, sizes: (REPO,))
    fields = {"model": CARDED_MODEL, "top": 1, "quantized_repos": "list"}
    answer = check(sizer, "size", fields)
    assert len(answer["model_card"]["statements"]) > 2 and answer["quantized_repos"]


def test_an_error_has_its_form() -> None:
    error = json_bytes(error_document(UnknownGpu(name="no such card", suggestions=[]), "unknown"))
    check_error(error)
