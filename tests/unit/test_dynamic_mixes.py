"""Unsloth's mixes under names of their own, sized by published files."""

from __future__ import annotations

import pytest

from gpusizer.core.byte_ranges import Provenance
from gpusizer.core.errors import UnknownQuant
from gpusizer.core.units import GIB
from gpusizer.memory.quantizing import method_of
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.dynamic import all_mixes, mix_of, mixes
from gpusizer.memory.quants.table import all_quants
from gpusizer.usecases.report import EstimateRow
from tests.asking import size
from tests.documents import written
from tests.sizers import embedded_sizer


def row(model: str, quant: str) -> EstimateRow:
    asked = {"model": model, "quant": quant, "engine": "llama.cpp", "text_only": True}
    (found,) = size(embedded_sizer(), asked).estimates
    return found


@pytest.mark.parametrize(
    "model, quant, gib",
    [
        # https://github.com/Nathanw1014/strix-halo-llamacpp/issues/5
        ("deepseek-ai/DeepSeek-V4-Flash", "ud-iq3_xxs", 97.05),
        # https://github.com/ikawrakow/ik_llama.cpp/issues/455
        ("deepseek-ai/DeepSeek-V3-0324", "UD-Q4_K_XL", 357.62),
    ],
)
def test_a_published_file_is_as_large_as_it_is(model: str, quant: str, gib: float) -> None:
    found = row(model, quant)
    assert found.file_bytes / GIB == pytest.approx(gib, abs=0.01)
    weights = found.estimate.per_gpu.weights
    assert weights.low == weights.likely == weights.high


def test_a_mix_of_another_model_is_a_share_of_the_plain_recipe_with_a_band() -> None:
    """Qwen3-32B is of no row: the share of all models. The plain file is Unsloth's own."""
    plain = row("Qwen/Qwen3-32B", "q4_k_m@unsloth").estimate.per_gpu.weights
    mixed = row("Qwen/Qwen3-32B", "ud-q4_k_xl").estimate.per_gpu.weights
    mix = mixes()["ud-q4_k_xl"]
    assert mixed.likely == pytest.approx(plain.likely * mix.share, rel=1e-6)
    assert mixed.low == pytest.approx(plain.likely * mix.low, rel=1e-6)
    assert mixed.high == pytest.approx(plain.likely * mix.high, rel=1e-6)
    assert mixed.provenance is Provenance.FITTED


def test_a_kind_of_models_with_files_of_its_own_has_its_own_share() -> None:
    of_kind, of_all = mix_of("ud-q6_k_xl", "qwen3_5"), mix_of("ud-q6_k_xl", "llama")
    assert of_kind is not None and of_all is not None
    assert of_kind.models and not of_all.models
    assert of_kind.share > of_all.share
    assert mix_of("q6_k", "qwen3_5") is None


def test_every_mix_is_a_row_of_its_own_and_no_tool_makes_it() -> None:
    plain = {quant.slug for quant in all_quants()}
    assert {mix.slug for mix in all_mixes()} == set(mixes())
    for slug, mix in mixes().items():
        quant = find_quant(slug.upper())
        assert mix.recipe in plain
        assert (quant.slug, quant.bits, quant.shown) == (slug, mix.bits, False)
        assert quant.name == f"GGUF {slug.upper()}"
        assert method_of(quant) is None


def test_an_unknown_mix_names_its_neighbours() -> None:
    with pytest.raises(UnknownQuant) as refused:
        find_quant("ud-q4_k_xxl")
    assert "ud-q4_k_xl" in refused.value.fields["suggestions"]


def test_a_mix_is_placed_with_the_loss_of_its_name() -> None:
    asked = {"model": "Qwen/Qwen3-32B", "quant": "ud-q4_k_xl", "gpu": "1x 5090"}
    report = written(size(embedded_sizer(), asked))
    place = report["ranking"][0]
    assert (place["quant"], place["verdict"]) == ("ud-q4_k_xl", "fits")
    assert place["quality"]["word"] in ("very_small", "small")
    made = place["quantizing"]
    assert made is None or made["command"] is None
