"""Engines with a closed list of models: they are not advised for a model without code for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpusizer.fit.compatibility import runs_engine
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import load_catalogue
from gpusizer.memory.engines import ENGINES
from gpusizer.memory.engines.known_models import READ_AT, known_models
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.text import LANGUAGES, say_note
from tests.asking import size
from tests.builders import tiny
from tests.sizers import embedded_sizer

ZAMBA, MLLAMA = "Zyphra/Zamba2-2.7B", "meta-llama/Llama-3.2-11B-Vision-Instruct"


def of_config(**config: Any) -> ModelProfile:
    known = tiny()
    main = replace(known.components[0], config={**(known.components[0].config or {}), **config})
    return build_profile(replace(known, components=(main, *known.components[1:])))


def refused(engine: str, profile: ModelProfile) -> bool:
    return ENGINES[engine].refusal(profile, Workload()) is not None


@pytest.mark.parametrize("engine", ["llama.cpp", "ollama", "exllama"])
def test_no_answer_runs_it_under_an_engine_without_code(engine: str) -> None:
    every = size(embedded_sizer(), {"model": ZAMBA, "top": 0}).ranking
    assert every and engine not in {place.fit.estimate.engine.slug for place in every}
    report = size(embedded_sizer(), {"model": ZAMBA, "gpu": "4090", "engine": engine})
    assert report.ranking[0].fit.verdict is Verdict.NOT_SUPPORTED
    note = next(note for note in report.notes if note.code == "engine_lacks_model")
    for language in LANGUAGES:
        assert "Zamba2ForCausalLM" in say_note(note, language)


@pytest.mark.parametrize(
    ("config", "without"),
    [
        ({}, set()),
        ({"architectures": ["NewForCausalLM"], "model_type": "new"}, {"llama.cpp", "mlx"}),
        ({"architectures": [], "model_type": "llama"}, set()),
        ({"architectures": [7], "model_type": None}, set()),
        ({"architectures": ["A"], "llm_config": {"architectures": ["Qwen2ForCausalLM"]}}, set()),
        ({"architectures": ["AWrapper"], "text_config": {"model_type": "qwen3"}}, {"llama.cpp"}),
    ],
)
def test_any_name_of_the_configuration_counts(config: dict[str, Any], without: set[str]) -> None:
    profile = of_config(**config)
    assert {name for name in ("llama.cpp", "mlx") if refused(name, profile)} == without


def test_servers_on_pytorch_have_no_list() -> None:
    profile = of_config(architectures=["NewForCausalLM"], model_type="new")
    assert not any(refused(name, profile) for name in ("vllm", "sglang", "transformers"))


def test_files_made_for_an_engine_are_its_proof() -> None:
    profile = replace(of_config(architectures=["NewForCausalLM"], model_type="new"), format="gguf")
    assert not refused("llama.cpp", profile)


def test_each_list_is_long_and_of_a_named_release() -> None:
    for reader, release in READ_AT.items():
        assert len(known_models()[reader]) > 50 and any(map(str.isdigit, release))


def test_sglang_has_kernels_for_few_targets_of_amd() -> None:
    catalogue = load_catalogue()
    runs = {
        slug: runs_engine(ENGINES["sglang"], catalogue.find(slug))
        for slug in ("rx-7600-8gb", "rx-7900-xtx-24gb", "instinct-mi300x-192gb", "h100-sxm-80gb")
    }
    assert list(runs.values()) == [False, False, True, True]
    assert runs_engine(ENGINES["vllm"], catalogue.find("rx-7900-xtx-24gb"))


@pytest.mark.parametrize("model", [ZAMBA, MLLAMA, "openai/whisper-large-v3", "adept/fuyu-8b"])
def test_what_is_on_offer_comes_first(model: str) -> None:
    """A computer without a price came first, where all cards have a wide band of speed."""
    first = size(embedded_sizer(), {"model": model, "top": 1}).ranking[0]
    assert not first.score.not_on_offer and first.costs.buy_usd is not None
