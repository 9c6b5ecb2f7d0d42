"""The word of a request decides how narrow a choice may be, and answers say what was weighed."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.advice.ranking import Ranked
from gpusizer.fit.losses import quality_at
from gpusizer.fit.requirements import DEFAULT_MAX_LOSS, Requirements
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.quants import all_quants
from gpusizer.quality.quality import WORDS, LossWord
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.selection import select_quants
from tests.asking import models_for, size
from tests.sizers import embedded_sizer

SIZER = embedded_sizer()
MODEL = "Qwen/Qwen3-32B"
NARROW = {quant.slug for quant in all_quants() if quant.shown and quant.bits < 4}  #


def place(gpu: str, max_loss: LossWord) -> Ranked:
    return size(
        SIZER, {"model": MODEL, "gpu": gpu, "max_loss": max_loss.value, "card": False}
    ).ranking[0]


@pytest.mark.parametrize("word", WORDS)
def test_narrow_rows_may_be_picked_beyond_the_usual_word(word: LossWord) -> None:
    question = SIZER.question(SizeRequest.from_fields({"model": MODEL, "card": False}))
    pickable = select_quants(("all",), question.profile, None, Requirements(word)).rankable
    usual = select_quants(("all",), question.profile).rankable
    narrow = {quant.slug for quant, _ in pickable} - {quant.slug for quant, _ in usual}
    assert len(NARROW) == 4
    assert narrow == (NARROW if word.rank > DEFAULT_MAX_LOSS.rank else set())


def test_a_card_of_16_gb_holds_32_billion_where_more_may_be_lost() -> None:
    """4.25 bits of 32.8 billion weights take 16.2 GiB, more than the card has; 3.2 bits 12.2."""
    held = place("4060 ti 16gb", DEFAULT_MAX_LOSS)
    assert (held.fit.verdict, held.fit.estimate.quant.bits) == (Verdict.OFFLOAD, 4)
    for word in (LossWord.NOTICEABLE, LossWord.LARGE, LossWord.BROKEN):
        loose = place("4060 ti 16gb", word)
        assert loose.fit.verdict is Verdict.FITS
        assert loose.fit.estimate.quant.slug in NARROW
        lost = quality_at(loose.fit.estimate).advised_word
        assert DEFAULT_MAX_LOSS.rank < lost.rank <= word.rank


def test_more_models_run_where_more_may_be_lost() -> None:
    found = {
        word: {
            runs.profile.repo_id
            for runs in models_for(SIZER, {"gpu": "3060", "max_loss": word.value}).found
        }
        for word in (DEFAULT_MAX_LOSS, LossWord.LARGE)
    }
    assert found[DEFAULT_MAX_LOSS] < found[LossWord.LARGE]
    assert MODEL not in found[DEFAULT_MAX_LOSS]


def weighed(**fields: Any) -> list[str]:
    asked: dict[str, Any] = {"model": MODEL, "card": False, **fields}
    said: Conclusion = size(SIZER, asked).conclusion
    return [note.code for note in said.weighed if note.code.startswith(("weighed_", "beyond_"))]


@pytest.mark.parametrize(
    ("model", "widths"),
    [
        ("openai/gpt-oss-20b", ["GGUF MXFP4_MOE", "MXFP4"]),
        ("Qwen/Qwen3-8B", ["GGUF Q4_K_M", "GGUF Q8_0", "BF16 / FP16"]),
    ],
)
def test_no_width_above_the_stored_weights_is_named(model: str, widths: list[str]) -> None:
    said = size(SIZER, {"model": model}).conclusion.weighed
    note = next(n for n in said if n.code.startswith("answer_memory_"))
    assert [value for key, value in note.fields.items() if key.startswith("quant_")] == widths
    assert note.code == f"answer_memory_{len(widths)}"
