"""Models for a machine, and those near a model that was asked for."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

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
from gpusizer.fit.fit import Verdict
from gpusizer.fit.study import Study
from gpusizer.gpus import load_catalogue
from gpusizer.hub.model_ref import ModelRef, parse_model_ref
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import build_profile
from gpusizer.model.tasks import TASKS, task_of
from gpusizer.text import LANGUAGES, say_error
from gpusizer.ui.presenters.pieces.errors import error_html
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.loose_names import by_loose_names, meant_model
from gpusizer.usecases.models_for.live_use import months_of
from gpusizer.usecases.models_for.model_library import CandidateModel, ModelLibrary
from gpusizer.usecases.models_for.models_answer import ModelsFor
from gpusizer.usecases.models_for.ordering import _least_bytes, family_key
from gpusizer.usecases.near_models import (
    known_models,
    models_alike,
    near_models,
    suggesting_models,
)
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.selection import select_quants
from gpusizer.usecases.requests.training_request import TrainingRequest
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.trainer import train
from tests.asking import models_for
from tests.builders import llama
from tests.counting import steps_of
from tests.documents import written
from tests.families import deepseek_r1, qwen3_moe
from tests.shelf import MadeUpShelf
from tests.sizers import embedded_sizer

CATALOGUE = load_catalogue()


def ask(**fields: Any) -> ModelsFor:
    return models_for(embedded_sizer(), fields)


def small_library() -> Sizer:
    """Return a sizer with three models: 8B, 30.5B of experts, 671B."""

    def fetch(ref: Any) -> Any:
        raise AssertionError(ref)

    shelf = MadeUpShelf(llama(), qwen3_moe(), deepseek_r1())
    return Sizer(fetch, CATALOGUE, library=ModelLibrary(shelf))


def test_without_figures_of_use_the_largest_that_surely_fits_comes_first() -> None:
    """A 24 GB card holds 30.5 billion parameters at 4 to 5 bits (17 to 22 GB), not 671 billion;
    of the 8 billion the 8.5 GB of Q8_0, as people run them at home."""
    answer = models_for(small_library(), {"gpu": "4090"})
    assert [row.runs.profile.parameters for row in answer.rows] == [30_532_122_624, 8_030_261_248]
    large, small = (row.fit for row in answer.rows)
    assert large is not None
    assert small is not None
    assert large.verdict is small.verdict is Verdict.FITS
    assert 4 <= large.estimate.quant.bits <= 6
    assert (small.estimate.quant.slug, small.estimate.native) == ("q8_0", False)
    assert (answer.considered, len(answer.found)) == (3, 2)


def test_order_and_counts() -> None:
    """Every family has a row, in order, and every model that runs is in one of them."""
    answer = ask(gpu="4090", top=0)
    assert len(answer.rows) == len(answer.families) < len(answer.found)
    places = [family_key(family, answer.now.today) for family in answer.families]
    assert all(before <= after for before, after in pairwise(places))
    data = written(answer)
    listed = [m["repo_id"] for row in data["models"] for m in (row, *row["copies"])]
    assert len(listed) == len(set(listed)) == data["found"]
    verdicts = ("fits", "tight")
    counted = sum(task.get(key, 0) for task in data["by_task"].values() for key in verdicts)
    assert counted == data["found"]
    assert data["models"][0]["rank"] == 1
    (left_out,) = (note for note in answer.notes if note.code == "models_left_out")
    assert data["considered"] + left_out.fields["count"] == len(known_models())
    assert set(data["by_task"]) == {"text", "vision", "image"}
    assert all(months_of(row.family.use.created, answer.now.today) < 36 for row in answer.rows)


def test_what_is_asked_for_is_not_left_out() -> None:
    """Vectors and old models are found by their kind or name; experts in system memory stand
    among what fits, where they are as fast as one reads."""
    assert ask(gpu="4090", model_task="embedding").rows
    old = ask(gpu="4090", model_task="text", top=0)
    assert "models_left_out" not in {note.code for note in old.notes}
    assert max(months_of(row.family.use.created, old.now.today) for row in old.rows) >= 36
    rows = ask(gpu="3060 + 64gb ram").rows
    assert {row.runs.how for row in rows} >= {"gpu", "experts"} and rows[0].runs.how == "experts"
    assert all(row.decode and row.decode.likely >= 10 for row in rows if row.runs.how == "experts")


def test_the_bound_is_below_all_real_weights() -> None:
    """The bound from nominal bits is below the real weights of everything on the library."""
    for candidate in embedded_sizer().library.candidates:
        profile = candidate.profile
        for pair in select_quants(("all",), profile, None).rankable:
            study = Study(profile, Workload(), [pair])
            for engine in study.engines(pair[0])[:2]:
                split = study.split(engine, 1)
                assert split is not None
                weights = study.estimate(*pair, engine, split).per_gpu.weights
                assert _least_bytes(candidate, *pair) <= weights.high * 1.001, (
                    profile.repo_id,
                    pair[0].slug,
                    engine.slug,
                )


def test_filters() -> None:
    vision = ask(gpu="4090", model_task="vision", top=0)
    assert {row.runs.task for row in vision.rows} == {"vision"}
    image = ask(gpu="m3 max 128gb", model_task="image")
    assert {row.runs.profile.repo_id for row in image.rows} == {
        "black-forest-labs/FLUX.1-dev",
        "stabilityai/stable-diffusion-xl-base-1.0",
        "stable-diffusion-v1-5/stable-diffusion-v1-5",
    }
    only = ask(gpu="4090", quant="q8_0", top=5)
    assert {row.fit.estimate.quant.slug for row in only.rows if row.fit} == {"q8_0"}
    long = ask(gpu="3060", context=32_768, top=3)
    assert {row.runs.study.workload.context for row in long.rows} == {32_768}
    assert all((row.fit.max_context or 0) >= 32_768 for row in long.rows if row.fit)
    more = ask(gpu="2x 3090", top=1)
    assert more.machine.boards == 2
    larger, largest = (
        max(runs.profile.parameters for runs in answer.found) for answer in (ask(gpu="3090"), more)
    )
    assert largest > larger


def test_models_by_name() -> None:
    """A model that cannot be read is listed, and the others are answered."""
    answer = ask(gpu="4090", models=["openai-community/gpt2", "org/unknown", "Qwen/Qwen3-8B"])
    assert [row.runs.profile.repo_id for row in answer.rows] == [
        "Qwen/Qwen3-8B",
        "openai-community/gpt2",
    ]
    assert [(name, error.code) for name, error in answer.unread] == [
        ("org/unknown", "hub_unreachable")
    ]
    assert written(answer)["unread"][0]["repo_id"] == "org/unknown"


def test_a_machine() -> None:
    """3090 + 3060 with 64 GB: more than either card, and larger models with experts in memory."""
    answer = ask(gpu="3090 + 3060 + 64gb ram", top=0)
    assert answer.is_rig
    verdicts = {row.runs.verdict for row in answer.rows}
    assert verdicts == {Verdict.FITS, Verdict.OFFLOAD}
    largest = max(runs.profile.parameters for runs in answer.found)
    assert largest > max(runs.profile.parameters for runs in ask(gpu="3090").found)
    data = written(answer)
    assert (data["gpu"], data["rig"]["gpus"]) == (None, ["rtx-3090-24gb", "rtx-3060-12gb"])
    assert data["models"][0]["flags"][:2] == ["-c", "8192"]
    without = ask(rig="3090 + 3060", top=0)
    assert {row.runs.verdict for row in without.rows} <= {Verdict.FITS, Verdict.TIGHT}


def test_nothing_fits() -> None:
    answer = models_for(small_library(), {"gpu": "gtx 1050 2gb"})
    assert (answer.rows, written(answer)["by_task"]) == ((), {})


@pytest.mark.parametrize(
    "fields, reason",
    [
        ({}, "empty"),
        ({"gpu": "4090, 3090"}, "one_gpu"),
        ({"gpu": "4090", "rig": "3090 + 3060"}, "gpu_or_rig"),
        ({"gpu": "3090 + 3060", "rig": "3090 + 3060"}, "gpu_or_rig"),
        ({"gpu": "4090", "model": "gpt2"}, "unknown_field"),
        ({"gpu": "4090", "model_task": "poetry"}, "not_one_of"),
        ({"gpu": "4090", "models": 7}, "not_a_list"),
        ({"gpu": "4090", "models": [7]}, "not_text"),
        ({"gpu": "4090", "models": ["a/b"] * 65}, "out_of_range"),
        ({"gpu": "m3 max 128gb + 3090"}, "rig_apple_alone"),
        ({"gpu": "4090", "context": -1}, "out_of_range"),
    ],
)
def test_requests_that_cannot_be_answered(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(GpusizerError) as refused:
        models_for(embedded_sizer(), fields)
    assert refused.value.fields["reason"] == reason
    assert refused.value.exit_code == 2


def test_tasks() -> None:
    tasks = {
        candidate.profile.repo_id: task_of(candidate.profile)
        for candidate in embedded_sizer().library.candidates
    }
    assert tasks["BAAI/bge-large-en-v1.5"] == "embedding"
    assert tasks["openai/whisper-large-v3"] == "speech"
    assert tasks["black-forest-labs/FLUX.1-dev"] == "image"
    assert tasks["Qwen/Qwen3-8B"] == "text"
    assert set(tasks.values()) <= set(TASKS)
    assert task_of(build_profile(llama())) == "text", "no tag: by what it is made of"


def test_the_bound_counts_parameters_without_the_input_table() -> None:
    """Llama 3.1 8B without its input table of 128,256 x 4096."""
    candidate = CandidateModel.from_profile(build_profile(llama()))
    assert candidate.core_parameters == 8_030_261_248 - 128_256 * 4096
    assert candidate.core_bytes == candidate.core_parameters * 2


def test_one_gpu_takes_few_steps_for_each_model() -> None:
    """12,000 steps per model suffice with cached profiles; building a profile takes more."""
    models = len(embedded_sizer().library.candidates)
    ask(gpu="4090")  # makes the profiles, which are kept
    assert steps_of(lambda: ask(gpu="4070 ti super")) < 18_000 * models


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
        train(sizer, TrainingRequest.from_fields({"model": text}))
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

    roots = Roots(missing, lambda host, port: None)
    assert run(["size", "nobody/private"], roots) == 3
    assert "--token" in capsys.readouterr().err


@pytest.mark.parametrize(
    "asked, first",
    [
        ("Qwen/Qwen3-Coder-500B", "Qwen/Qwen3-Coder-480B-A35B-Instruct"),
        ("BAAI/bge-m3", "BAAI/bge-small-en-v1.5"),  # of its family, though it states no size
        ("nobody/Obscure-70B", "meta-llama/Llama-3.3-70B-Instruct"),  # as large, and used most
    ],
)
def test_models_that_can_take_the_place_of_an_unknown_one(asked: str, first: str) -> None:
    assert models_alike(asked)[0] == first
    assert len(models_alike(asked)) <= 4


def test_a_name_without_family_and_size_has_no_model_in_its_place() -> None:
    assert models_alike("nobody/xyz") == []


def test_offline_an_unknown_model_is_refused_with_others_in_its_place() -> None:
    with pytest.raises(HubUnreachable) as caught, suggesting_models():
        raise HubUnreachable(repo_id="Qwen/Qwen3-Coder-500B", reason="offline")
    assert caught.value.fields["suggestions"] == near_or_alike("Qwen/Qwen3-Coder-500B")
    for language in LANGUAGES:
        said = say_error(caught.value, language)
        assert "Qwen3-Coder-480B" in said and "in time" not in said
    with pytest.raises(HubUnreachable) as online, suggesting_models():
        raise HubUnreachable(repo_id="Qwen/Qwen3-Coder-500B", reason="timeout")
    assert "suggestions" not in online.value.fields


def near_or_alike(asked: str) -> list[str]:
    return [*dict.fromkeys((*near_models(asked), *models_alike(asked)))][:4]
