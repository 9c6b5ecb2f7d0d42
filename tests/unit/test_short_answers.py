"""Short answers of embedded models are as long as an agent reads, and say what is left out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpusizer.core.printable import json_text
from gpusizer.ui.server.short_answers import MAX_CHARACTERS, SHORT_FORMS, shortened
from gpusizer.usecases.use_cases import USE_CASES
from tests.documents import written
from tests.sizers import embedded_sizer

MODELS = (
    "Qwen/Qwen3-8B",
    "deepseek-ai/DeepSeek-R1",
    "openai/gpt-oss-20b",
    "black-forest-labs/FLUX.1-dev",
)
CARDS = ["4090", "3090", "H100", "Mac Studio M3 Ultra 512GB", "MI300X", "B200"]


def ask(question: str, **fields: Any) -> dict[str, Any]:
    """Return the contract's answer."""
    answer: dict[str, Any] = written(USE_CASES[question].ask(embedded_sizer(), fields))
    return answer


@pytest.mark.parametrize("model", MODELS)
def test_size(model: str) -> None:
    for fields in ({}, {"gpu": CARDS}, {"top": 100}):
        answer = ask("size", model=model, **fields)
        short = shortened("size", answer)
        assert len(json_text(short)) <= MAX_CHARACTERS
        assert next(iter(short)) == next(iter(answer)) == "answer"
        assert short["answer"]["sentence"] == answer["answer"]["sentence"]
        names = [place["gpu_name"] for place in short["ranking"]]
        assert names == [place["gpu_name"] for place in answer["ranking"]][: len(names)]
        assert len(names) + short.get("ranking_left_out", 0) == len(answer["ranking"])
        native = [row["quant"] for row in answer["estimates"] if row["native"]]
        assert all(any(f"{quant} (" in line for line in short["quantizations"]) for quant in native)
        said = [caveat["message"][:100] for caveat in answer["model"]["caveats"]]
        assert all(any(text in caveat for caveat in short["caveats"]) for text in said)


def test_many_rows_are_fewer_where_they_are_long() -> None:
    answer = ask("gpus")
    short = shortened("gpus", answer, top=200)
    assert len(json_text(short)) <= MAX_CHARACTERS
    assert 20 < len(short["gpus"]) < 200
    assert len(short["gpus"]) + short["gpus_left_out"] == answer["count"]


def test_the_other_questions() -> None:
    asked = {
        "train": ask("train", model=MODELS[1], top=100),
        "compare": ask("compare", gpus=CARDS, model=MODELS[0]),
        "models-for": ask("models-for", gpu="4090", top=100),
        "desk": ask("desk", models=[*MODELS, *MODELS], gpu="8x B200"),
    }
    for question, answer in asked.items():
        short = shortened(question, answer, top=100)
        assert len(json_text(short)) <= MAX_CHARACTERS
        assert len(short[SHORT_FORMS[question].rows]) > 3
        assert json.loads(json_text(short)) == short
