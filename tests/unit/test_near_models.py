"""A model that cannot be found: which is meant, and what to do about it, through every door."""

from __future__ import annotations

import pytest

from gpusizer.answers.loose_names import by_loose_names, meant_model
from gpusizer.answers.near_models import known_models, near_models, suggesting_models
from gpusizer.answers.request import SizeRequest
from gpusizer.answers.sizer import Sizer
from gpusizer.answers.trainer import train
from gpusizer.answers.training_request import TrainingRequest
from gpusizer.cli import Roots, run
from gpusizer.core.errors import (
    GatedModel,
    GpusizerError,
    HubUnreachable,
    ModelNotFound,
    PrivateOrMissing,
    UnknownGpu,
)
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.hub.model_ref import ModelRef, parse_model_ref
from gpusizer.text import LANGUAGES, say_error
from gpusizer.ui.presenters.errors import error_html
from gpusizer.ui.presenters.words import Words
from tests.sizers import embedded_sizer

EXAMPLES = ("openai/gpt-oss-20b",)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Qwen3-8B", "Qwen/Qwen3-8B"),
        ("llama 3.1 8b", "meta-llama/Llama-3.1-8B"),
        ("Qwen/Qwen3-8", "Qwen/Qwen3-8B"),
        ("qwen 3 8b", "Qwen/Qwen3-8B"),
        ("meta-llama/Llama-3.1-8b-instuct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("flux dev", "black-forest-labs/FLUX.1-dev"),
        ("Qwen3-8b:Q4_K_M", "Qwen/Qwen3-8B"),
    ],
)
def test_the_model_that_is_meant_is_suggested_first(text: str, first: str) -> None:
    assert near_models(text)[0] == first


@pytest.mark.parametrize("text", ["nobody/private", "", "a", "Qwen/Qwen3-8B"])
def test_nothing_is_suggested_for_a_name_of_its_own(text: str) -> None:
    assert near_models(text) == []


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("qwen3:32b", "Qwen/Qwen3-32B"),
        ("gpt oss 20b", "openai/gpt-oss-20b"),
        ("gpt-oss:120b", "openai/gpt-oss-120b"),
        ("llama 3.1 8b", "meta-llama/Llama-3.1-8B"),
        ("llama3.3:70b", "meta-llama/Llama-3.3-70B-Instruct"),
        ("gemma3:27b", "google/gemma-3-27b-it"),
        ("deepseek-r1:32b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B"),
        ("Phi4", "microsoft/phi-4"),
        ("Qwen3-8B", "Qwen/Qwen3-8B"),
    ],
)
def test_a_loose_name_means_one_model(name: str, meant: str) -> None:
    assert by_loose_names(parse_model_ref)(name) == ModelRef(meant)


def test_a_tag_of_ollama_names_the_quantization() -> None:
    assert by_loose_names(parse_model_ref)("llama3.1:8b-instruct-q4_K_M") == ModelRef(
        "meta-llama/Llama-3.1-8B", tag="q4_K_M"
    )


@pytest.mark.parametrize("text", ["qwen3", "org/qwen3-8b", "./qwen3-8b", "llama"])
def test_what_several_models_may_mean_is_read_as_it_stands(text: str) -> None:
    assert meant_model(text) is None


def test_every_listed_name_means_a_model_that_is_stored() -> None:
    rows = read_table(DATA_DIR / "model_names.csv", lambda row: row)
    stored = {model.repo_id for model in known_models()}
    assert rows and {row.text("repo_id") for row in rows} <= stored
    assert all(row.text("source") for row in rows)


@pytest.mark.parametrize("text", ["qwen3", "llama 3.1", "Qwen/Qwen3-8"])
def test_each_use_case_asks_whether_another_model_is_meant(text: str) -> None:
    sizer = embedded_sizer()
    with pytest.raises(GpusizerError) as sized:
        sizer.size(SizeRequest.from_fields({"model": text}))
    with pytest.raises(GpusizerError) as trained:
        train(sizer.fetch, sizer.catalogue, TrainingRequest.from_fields({"model": text}))
    for error in (sized.value, trained.value):
        assert f"Did you mean {near_models(text)[0]}" in say_error(error, "en")


def test_a_hub_that_fails_says_nothing_of_the_name() -> None:
    with pytest.raises(HubUnreachable) as caught, suggesting_models():
        raise HubUnreachable(repo_id="Qwen/Qwen3-8", reason="timeout")
    assert "suggestions" not in caught.value.fields


def test_the_page_offers_the_models_that_may_be_meant() -> None:
    with pytest.raises(ModelNotFound) as caught, suggesting_models():
        raise ModelNotFound(repo_id="Qwen/Qwen3-8")
    panel = error_html(caught.value, EXAMPLES, Words("en"))
    assert 'data-model="Qwen/Qwen3-8B"' in panel and EXAMPLES[0] not in panel
    assert panel.count("Did you mean") == 1
    assert "Model not found" in panel


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "error",
    [ModelNotFound(repo_id="a/b"), PrivateOrMissing(repo_id="a/b"), GatedModel(repo_id="a/b")],
)
def test_a_model_out_of_reach_is_told_with_what_to_do(error: GpusizerError, language: str) -> None:
    panel = error_html(error, EXAMPLES, Words(language))  # type: ignore[arg-type]
    assert "Authorization: Bearer" in panel
    assert "Hugging Face" in panel


def test_nothing_follows_these_work_but_what_works() -> None:
    error = UnknownGpu(value="zzz", suggestions=[])
    assert "These work" not in error_html(error, (), Words("en"))
    assert "These work" in error_html(error, EXAMPLES, Words("en"))


def test_the_shell_says_how_to_size_a_model_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    def missing(*_: object) -> Sizer:
        raise ModelNotFound(repo_id="nobody/private")

    roots = Roots(missing, lambda address: "", lambda host, port: None)
    assert run(["size", "nobody/private"], roots) == 3
    assert "--token" in capsys.readouterr().err
