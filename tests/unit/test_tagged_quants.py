"""A quantization behind the model's name, as Ollama and llama.cpp write it, through every door."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.answers.models_for.models_request import ModelsRequest
from gpusizer.answers.request import CompareRequest, SizeRequest
from gpusizer.answers.trainer import train
from gpusizer.answers.training_request import TrainingRequest
from gpusizer.core.errors import InvalidRequest, UnknownQuant
from gpusizer.text import say_error
from tests.sizers import embedded_sizer

_MODEL = "Qwen/Qwen3-8B"


def _quants_of(model: str, **fields: Any) -> list[str]:
    report = embedded_sizer().size(SizeRequest.from_fields({"model": model, **fields}))
    return [row.estimate.quant.slug for row in report.estimates]


@pytest.mark.parametrize(
    ("tag", "slug"),
    [("Q4_K_M", "q4_k_m"), ("q8_0", "q8_0"), ("fp16", "bf16"), ("AWQ", "awq-int4-g128")],
)
def test_a_model_is_sized_in_the_quantization_behind_its_name(tag: str, slug: str) -> None:
    assert _quants_of(f"{_MODEL}:{tag}", gpu="4090") == [slug]


def test_the_usual_tag_of_ollama_names_no_quantization() -> None:
    assert _quants_of(f"{_MODEL}:latest") == _quants_of(_MODEL)


def test_a_tag_that_names_no_quantization_is_refused() -> None:
    with pytest.raises(UnknownQuant) as error:
        _quants_of(f"{_MODEL}:Q4_K_N")
    assert error.value.fields["value"] == "Q4_K_N"
    assert "q4_k_m" in error.value.fields["suggestions"]  # type: ignore[operator]


def test_another_quantization_beside_the_tag_is_refused_with_a_word() -> None:
    assert _quants_of(f"{_MODEL}:Q4_K_M", quant="q4") == ["q4_k_m"]
    with pytest.raises(InvalidRequest) as error:
        _quants_of(f"{_MODEL}:Q4_K_M", quant="q8_0")
    assert "Q4_K_M" in say_error(error.value, "en")


def test_gpus_are_compared_in_the_quantization_behind_the_name() -> None:
    fields = {"model": f"{_MODEL}:Q4_K_M", "gpus": ["4090", "L40S"]}
    comparison = embedded_sizer().compare(CompareRequest.from_fields(fields))
    quants = [item.ranked.fit.estimate.quant.slug for item in comparison.items if item.ranked]
    assert quants == ["q4_k_m", "q4_k_m"]


def test_each_model_of_a_list_keeps_the_quantization_behind_its_name() -> None:
    fields = {"gpu": "4090", "models": [f"{_MODEL}:Q4_K_M", "Qwen/Qwen3-4B"]}
    answer = embedded_sizer().models_for(ModelsRequest.from_fields(fields))
    quants = {row.runs.profile.repo_id: row.fit.estimate.quant.slug for row in answer.rows}
    assert quants == {_MODEL: "q4_k_m", "Qwen/Qwen3-4B": "bf16"}


def test_trainings_and_drafts_refuse_a_tag_with_a_word() -> None:
    sizer = embedded_sizer()
    request = TrainingRequest.from_fields({"model": f"{_MODEL}:Q4_K_M"})
    with pytest.raises(InvalidRequest) as error:
        train(sizer.fetch, sizer.catalogue, request)
    assert "Q4_K_M" in say_error(error.value, "en")
    with pytest.raises(InvalidRequest) as error:
        _quants_of(_MODEL, draft_model="Qwen/Qwen3-0.6B:Q4_K_M")
    assert "Q4_K_M" in say_error(error.value, "en")
