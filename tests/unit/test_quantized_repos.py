"""Quantizations that are offered: tags of files, EXL formats, repositories of others."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from bench.measurements import load_profile
from gpusizer.core.errors import HubRateLimited, InvalidRequest, UnknownQuant
from gpusizer.core.messages import Note
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import read_table
from gpusizer.core.units import GIB, significant
from gpusizer.gpus import load_catalogue
from gpusizer.hub.listed_models import QuantizedRepo
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.memory.quants.native import native_under
from gpusizer.text import say_error, say_note
from gpusizer.usecases.report import Report
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.selection import select_quants
from gpusizer.usecases.requests.training_request import TrainingRequest
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.trainer import train
from tests.asking import size
from tests.builders import tiny
from tests.documents import written
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


def test_trainings_and_drafts_refuse_a_tag_with_a_word() -> None:
    sizer = embedded_sizer()
    request = TrainingRequest.from_fields({"model": f"{_MODEL}:Q4_K_M"})
    with pytest.raises(InvalidRequest) as error:
        train(sizer, request)
    assert "Q4_K_M" in say_error(error.value, "en")
    with pytest.raises(InvalidRequest) as error:
        _quants_of(_MODEL, draft_model="Qwen/Qwen3-0.6B:Q4_K_M")
    assert "Q4_K_M" in say_error(error.value, "en")


@cache
def report(model: str, **fields: str) -> Report:
    return size(embedded_sizer(), {"model": model, "top": 0, **fields})


@pytest.mark.parametrize(
    "model, formats",
    [
        ("Qwen/Qwen3-8B", {"exl2", "exl3"}),
        ("Qwen/Qwen3-235B-A22B", {"exl2", "exl3"}),
        ("google/gemma-3-27b-it", {"exl2", "exl3"}),
        ("google/gemma-4-26B-A4B-it", {"exl3"}),
        ("deepseek-ai/DeepSeek-R1", {"exl3"}),
        ("openai/gpt-oss-20b", {"exl3"}),
        ("ibm-granite/granite-3.3-8b-instruct", {"exl2"}),
        ("google/gemma-3n-E4B-it", set()),
        ("microsoft/phi-2", set()),
    ],
)
def test_formats_of_a_model(model: str, formats: set[str]) -> None:
    slugs = [row.estimate.quant.slug for row in report(model).estimates]
    assert {slug[:4] for slug in slugs if slug.startswith("exl")} == formats


def test_exl3_runs_on_cuda_alone() -> None:
    """Two MI355X were the fastest for DeepSeek R1, in a format with no build for them."""
    ranking = report("deepseek-ai/DeepSeek-R1", quant="exl3-4.0").ranking
    assert ranking
    assert {item.fit.gpu.software for item in ranking} == {"CUDA"}
    fastest = report("deepseek-ai/DeepSeek-R1").alternatives[1].item.fit
    assert not fastest.estimate.quant.slug.startswith("exl2")


def test_a_format_can_still_be_asked_for_by_name() -> None:
    assert report("deepseek-ai/DeepSeek-R1", quant="exl2-4.0").estimates
    with pytest.raises(InvalidRequest):
        report("deepseek-ai/DeepSeek-R1", quant="exl2-4.0", engine="vllm")


def test_every_row_has_a_source() -> None:
    rows = list(
        read_table(
            DATA_DIR / "exllama_architectures.csv",
            lambda row: (row.text("format"), row.text("model_type"), row.text("source")),
        )
    )
    assert len({row[:2] for row in rows}) == len(rows) > 60
    assert {kind for kind, _, _ in rows} == {"exl2", "exl3"}
    assert all(source.startswith("https://github.com/turboderp-org/") for _, _, source in rows)


REPO = QuantizedRepo("a/model-AWQ", "awq", 12, 3, 4096)


def sized_with(repo: RepoSnapshot, listings: list[Any], **fields: Any) -> Report:
    """Build a report whose listing is REPO; each call of the lister is appended to `listings`."""

    def lister(repo_id: str, sizes: bool) -> tuple[QuantizedRepo, ...]:
        listings.append((repo_id, sizes))
        return (REPO,)

    request = {"model": "org/model", "quant": "native", "gpu": "rtx-4090-24gb", **fields}
    return size(Sizer(lambda ref: repo, load_catalogue(), lister), request)


def test_quantized_repositories_are_listed_only_on_request() -> None:
    listings: list[Any] = []
    assert "quantized_repos" not in written(sized_with(tiny(), listings))
    assert listings == []
    report = sized_with(tiny(), listings, quantized_repos="list")
    assert written(report)["quantized_repos"] == [
        {
            "repo_id": "a/model-AWQ",
            "format": "awq",
            "downloads": 12,
            "likes": 3,
            "weight_bytes": 4096,
        }
    ]
    sized_with(tiny(), listings, quantized_repos="sizes")
    assert listings == [("org/model", False), ("org/model", True)]


def test_a_quantization_lists_its_siblings() -> None:
    listings: list[Any] = []
    quantized = replace(tiny(), base_models=("org/original",), base_relation="quantized")
    sized_with(quantized, listings, quantized_repos="list")
    tuned = replace(tiny(), base_models=("org/original",), base_relation="finetune")
    sized_with(tuned, listings, quantized_repos="list")
    assert listings == [("org/original", False), ("org/model", False)]


def test_published_files_come_before_a_plain_conversion() -> None:
    """The most downloaded of the form; one that weighs alike, a sum of widths and an unknown size
    tell nothing."""

    def notes(*repos: QuantizedRepo, quant: str = "nvfp4") -> list[Note]:
        asked = {"model": "org/model", "quant": quant, "quantized_repos": "sizes"}
        report = size(Sizer(lambda ref: tiny(), load_catalogue(), lambda _, __: repos), asked)
        (row,) = report.estimates
        assert row.estimate.sizes.total == plain or quant != "nvfp4"
        return [note for note in report.notes if note.code == "published_weights"]

    (row,) = size(
        Sizer(lambda ref: tiny(), load_catalogue()), {"model": "org/model", "quant": "nvfp4"}
    ).estimates
    plain = row.estimate.sizes.total
    wider = QuantizedRepo("a/wide-NVFP4", "nvfp4", 9, 1, round(plain * 1.29))
    other = QuantizedRepo("b/alike-NVFP4", "nvfp4", 5, 1, plain)
    expected = Note(
        "published_weights",
        quant=row.estimate.quant.name,
        repo_id="a/wide-NVFP4",
        published=significant(plain * 1.29 / GIB),
        converted=significant(plain / GIB),
    )
    assert notes(wider, other) == notes(REPO, wider) == [expected]
    assert notes(other, wider) == notes(replace(wider, weight_bytes=None)) == []
    assert notes(replace(wider, form="gguf"), quant="q4_k_m") == []
    assert notes(wider, quant="native") == []


def test_a_failing_listing_does_not_lose_the_answer() -> None:
    def refuse(repo_id: str, sizes: bool) -> tuple[QuantizedRepo, ...]:
        raise HubRateLimited(repo_id=repo_id, retry_after_seconds=9.0)

    request = {"model": "org/model", "quant": "native", "quantized_repos": "list"}
    report = size(Sizer(lambda ref: tiny(), load_catalogue(), refuse), request)
    assert report.estimates
    assert report.quantized_repos == ()
    assert "hub_rate_limited" in say_note(report.notes[-1])


def test_other_values_of_quantized_repos_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="quantized_repos"):
        sized_with(tiny(), [], quantized_repos="yes")


def test_native_is_the_published_file_where_the_engine_reads_gguf() -> None:
    """gpt-oss-20b under llama.cpp: experts in MXFP4 and the rest in Q8_0; its checkpoint else."""
    oss = load_profile("openai/gpt-oss-20b")
    slugs = {engine: native_under(engine, oss).slug for engine in ("llama.cpp", "ollama", "vllm")}
    assert slugs == {"llama.cpp": "mxfp4_moe", "ollama": "mxfp4_moe", "vllm": "mxfp4"}
    assert native_under(None, oss).slug == "mxfp4"
    (asked, is_stored), *_ = select_quants(("native",), oss, "llama.cpp").shown
    assert (asked.slug, is_stored) == ("mxfp4_moe", False)
    assert select_quants(("mxfp4",), oss, "llama.cpp").shown[0][0].slug == "mxfp4"
