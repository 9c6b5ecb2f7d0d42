"""The word that an answer begins with: yes, only slowly, barely, no."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.text import say_note
from tests.asking import size
from tests.priced_day import priced_day
from tests.sizers import embedded_sizer

pytestmark = pytest.mark.usefixtures(priced_day.__name__)

LARGE = "meta-llama/Llama-3.3-70B-Instruct"


@pytest.mark.parametrize(
    "model, fields, code",
    [
        ("Qwen/Qwen3-8B", {"gpu": "4090"}, "answer_fits"),
        (LARGE, {"gpu": "apple-m2-max-96gb"}, "answer_fits_slowly"),
        (LARGE, {"gpu": "apple-m2-max-96gb", "min_tok_s": 2}, "answer_fits"),
        ("Qwen/Qwen3-8B", {"gpu": "4090", "min_tok_s": 500}, "answer_fits_slowly"),
        (LARGE, {"gpu": "4090", "ram_gb": 64}, "answer_offload_slowly"),
        (LARGE, {"gpu": "4090", "ram_gb": 64, "min_tok_s": 1}, "answer_offload"),
        ("deepseek-ai/DeepSeek-R1", {"gpu": "4090", "gpu_count": 1}, "answer_does_not_fit"),
    ],
)
def test_the_first_word_says_whether_and_how_well(
    model: str, fields: dict[str, Any], code: str
) -> None:
    answer = size(embedded_sizer(), {"model": model, **fields})
    assert answer.conclusion.said[0].code == code
    sentence = answer.to_json(say_note)["answer"]["sentence"]
    first = {"fits": "Yes", "fits_slowly": "Only slowly", "does_not_fit": "No"}
    assert sentence.startswith(first.get(code.removeprefix("answer_"), ""))
