"""Answers for GGUF repositories: their files, and the provenance of each size."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from gpusizer.core.errors import InvalidRequest, UnknownQuant
from gpusizer.gpus import load_catalogue
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.memory.quants.variants import variant_quants
from gpusizer.memory.weight_sizes import all_weight_sizes
from gpusizer.model.profile import build_profile
from gpusizer.usecases.report import Report
from gpusizer.usecases.sizer import Sizer
from tests.asking import size
from tests.gguf_snapshots import HEADER_BYTES, SIZES_8B, file_variant, gguf_snapshot, tensor_bytes
from tests.hub_emulator.gguf_models import Shaped, llama_metadata, llama_tensors


@cache
def tensors(kind: str) -> Shaped:
    return llama_tensors(kind, vocab=128256, **SIZES_8B)


def file_bytes(kind: str) -> int:
    """Size of the file in which every matrix has this type."""
    return tensor_bytes(tensors(kind)) + HEADER_BYTES


OTHERS = tuple(
    file_variant(name, file_bytes(kind))
    for name, kind in (
        ("F32", "F32"),
        ("BF16", "BF16"),
        ("Q8_0", "Q8_0"),
        ("Q6_K", "Q6_K"),
        ("UD-Q5_K_XL", "Q5_K"),
        ("IQ3_XXS", "IQ3_XXS"),
        ("Q2_K", "Q2_K"),
        ("custom", "Q4_1"),
    )
)


def repo(**fields: Any) -> RepoSnapshot:
    """Return Llama-3.1-8B in nine quantizations; Q4_K_M was read."""
    return gguf_snapshot(llama_metadata(**SIZES_8B), tensors("Q4_K"), OTHERS, **fields)


def report(snapshot: RepoSnapshot | None = None, **fields: Any) -> Report:
    refs: list[ModelRef] = []

    def fetch(ref: ModelRef) -> RepoSnapshot:
        refs.append(ref)
        return snapshot or repo()

    return size(Sizer(fetch, load_catalogue()), {"model": "org/name", "top": 5, **fields})


def test_rows_are_the_repository_s_files() -> None:
    sized = report()
    names = [row.estimate.quant.slug for row in sized.estimates]
    assert names == [
        *("f32", "bf16", "q8_0", "q6_k", "ud-q5_k_xl", "iq3_xxs", "q2_k", "custom", "q4_k_m")
    ]
    for row in sized.estimates:
        assert row.estimate.native
        assert not row.needs_original_weights
        assert row.estimate.engine.slug == "llama.cpp"
        assert row.estimate.quant.name.startswith("GGUF ")


def test_only_headers_give_exact_numbers() -> None:
    sized = report()
    provenances = {
        row.estimate.quant.slug: row.estimate.all_gpus.provenance for row in sized.estimates
    }
    assert {slug for slug, by in provenances.items() if by["weights"] == "exact"} == {"q4_k_m"}
    assert {by["weights"] for by in provenances.values()} == {"exact", "derived"}


def test_other_files_are_sized_by_their_own_size() -> None:
    sized = report()
    kinds = {
        "q8_0": "Q8_0",
        "q2_k": "Q2_K",
        "ud-q5_k_xl": "Q5_K",
        "custom": "Q4_1",
        "q4_k_m": "Q4_K",
        "bf16": "BF16",
    }
    for row in sized.estimates:
        kind = kinds.get(row.estimate.quant.slug)
        if kind:
            assert row.estimate.sizes.total == tensor_bytes(tensors(kind))


def test_shares_follow_the_layout() -> None:
    profile = build_profile(repo())
    quants = variant_quants(profile)
    for slug, sizes in all_weight_sizes(profile, [(quant, True) for quant in quants]).items():
        assert 0 < sizes.embedding < sizes.in_layers < sizes.total
        assert sizes.divided <= sizes.total
        assert sizes.read is (slug == "q4_k_m")


def test_widths() -> None:
    bits = {quant.slug: quant.bits for quant in variant_quants(build_profile(repo()))}
    assert bits == {
        "f32": 32,
        "bf16": 16,
        "q8_0": 8,
        "q6_k": 6,
        "ud-q5_k_xl": 5,
        "iq3_xxs": 3,
        "q2_k": 2,
        "custom": 5,
        "q4_k_m": 4,
    }


def test_rankings_choose_among_the_files() -> None:
    sized = report(top=0)
    ranked = {item.fit.estimate.quant.slug for item in sized.ranking}
    assert "q4_k_m" in ranked
    assert ranked <= {"bf16", "q8_0", "q6_k", "ud-q5_k_xl", "custom", "q4_k_m"}
    assert {item.fit.estimate.engine.slug for item in sized.ranking} <= {"llama.cpp", "ollama"}


def test_narrow_files_are_ranked_where_there_are_no_others() -> None:
    sized = report(gguf_snapshot(llama_metadata(**SIZES_8B), tensors("Q2_K"), name="Q2_K"))
    assert {item.fit.estimate.quant.slug for item in sized.ranking} == {"q2_k"}


@pytest.mark.parametrize(
    "fields, slugs",
    [
        ({"quant": "q8_0"}, ["q8_0"]),
        ({"quant": ["UD-Q5_K_XL", "native"]}, ["ud-q5_k_xl", "q4_k_m"]),
        ({"quant": "q4,q5_k_xl"}, ["q4_k_m", "ud-q5_k_xl"]),
        ({"model": "org/name:Q4_K_M"}, ["q4_k_m"]),
        ({"file": "model-Q4_K_M.gguf"}, ["q4_k_m"]),
        ({"model": "hf.co/org/name/blob/main/model-Q4_K_M.gguf"}, ["q4_k_m"]),
        ({"model": "org/name:Q4_K_M", "quant": "q8_0"}, ["q8_0"]),
    ],
)
def test_asking_for_some(fields: dict[str, Any], slugs: list[str]) -> None:
    assert [row.estimate.quant.slug for row in report(**fields).estimates] == slugs


def test_quantizations_that_are_not_there_are_worked_out() -> None:
    (row,) = report(quant="q5_k_m").estimates
    assert not row.estimate.native
    assert row.needs_original_weights
    assert row.estimate.all_gpus.provenance["weights"] == "derived"
    with pytest.raises(UnknownQuant):
        report(quant="q5_k_z")


def test_engines_that_do_not_run_the_files() -> None:
    with pytest.raises(InvalidRequest) as caught:
        report(engine="vllm")
    assert caught.value.fields["reason"] == "does_not_run"
    assert report(engine="ollama").estimates[0].estimate.engine.slug == "ollama"


def test_a_projector_is_selected_by_its_path() -> None:
    vision = {"v.blk.0.attn_q.weight": ("F16", (64, 64)), "mm.0.weight": ("F16", (64, 64))}
    alone = gguf_snapshot({"general.architecture": "clip"}, vision, name="mmproj-F16")
    listed = tuple(replace(variant, kind="projector") for variant in alone.variants)
    (row,) = report(replace(alone, variants=(*OTHERS, *listed))).estimates
    assert row.estimate.quant.slug == "f16"
    assert row.estimate.all_gpus.weights.likely == 2 * 64 * 64 * 2
    assert row.estimate.all_gpus.provenance["weights"] == "exact"
