"""Cards that the catalogue lacks: how they are described, and what is computed of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpusizer.answers.gpu_json import gpu_json
from gpusizer.answers.json_shapes import document
from gpusizer.answers.ranked_json import ranked_json
from gpusizer.core.errors import InvalidRequest
from gpusizer.core.units import GB, MIB, TERA
from gpusizer.fit.ranking import Ranked
from gpusizer.fit.study import Study, device_class_of
from gpusizer.gpus import Gpu, load_catalogue
from gpusizer.gpus.costs.power import plan_watts
from gpusizer.gpus.custom_card import custom_card
from gpusizer.gpus.own_cards import OwnCards
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.workload import Workload
from gpusizer.text import say_error, say_note
from tests.asking import size
from tests.each import each
from tests.fits import fit_on
from tests.sizers import embedded_sizer
from tests.vllm_models import LLAMA_8B

CARDS = OwnCards(load_catalogue())


def test_a_description_is_a_card() -> None:
    gpu = CARDS.find("custom:96GB@1800GB/s@200TFLOPS@5000USD@350W@ROCm@fp8")
    assert gpu.device_memory_bytes == 96 * GB
    assert gpu.bandwidth_bytes_per_second == 1800 * GB
    assert (gpu.fp16_flops, gpu.buy_usd, gpu.power_watts) == (200 * TERA, 5000, 350)
    assert (gpu.software, gpu.fp8_support, gpu.fp4_support) == ("ROCm", True, False)
    assert [note.code for note in gpu.statements] == ["custom_card", "custom_card_formats"]
    assert gpu_json(custom_card(gpu.slug)) == gpu_json(gpu)
    in_mib = CARDS.find("custom:24564MiB@1234567USD")
    assert in_mib.memory_bytes == 24564 * MIB
    assert custom_card(in_mib.slug) == in_mib
    assert CARDS.find("custom:96GiB (80 GB free)").device_free_bytes == 80 * GB


def test_a_stated_price_and_power_are_reckoned_with() -> None:
    """A card in a desktop of 150 W for which 0.5 kW x 0.15 USD are paid an hour, and 5,000 USD over
    3 years of 8 hours a day; a Mac's own figure is all but 20 W of it."""
    item = _named("custom:96GB@1800GB/s@5000USD@350W")
    assert item.costs.running_watts == 350 + 150
    owned = 5000 / (3 * 365.25 * 8) + 0.5 * 0.15
    assert item.score.usd_per_hour == pytest.approx(owned)
    price = document(ranked_json(item), say_note)["price"]
    assert (price["buy_usd"], price["buy_as_of"]) == (5000, None)
    mac = CARDS.find("custom:96GB@350W@Metal")
    assert mac.is_integrated and plan_watts(mac, 1) == 370


def _named(gpu: str) -> Ranked:
    fields = {"model": "Qwen/Qwen3-8B", "quant": "native", "card": False}
    return size(embedded_sizer(), {**fields, "gpu": gpu}).ranking[0]


def test_what_is_not_stated_is_said() -> None:
    codes = [note.code for note in CARDS.find("custom:96GB").statements]
    assert codes == [
        "custom_card",
        "custom_card_stack",
        "custom_card_formats",
        "custom_card_bandwidth",
        "custom_card_flops",
    ]


@each(
    "text",
    [
        "custom:",
        "custom:96",
        "custom:96GB@1800",
        "custom:96GB@fast",
        "custom:96GB@1800GB/s@1700GB/s",
        "custom:96GB@CUDA@ROCm",
        "custom:96GB@fp8@fp8",
        "custom:96GB@",
    ],
)
def test_other_forms_are_refused(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        CARDS.find(text)
    assert refused.value.fields["reason"] == "custom_card_form"
    for language in ("en", "zh", "pt"):
        assert "custom:96GB@1800GB/s" in say_error(refused.value, language)


@pytest.mark.parametrize(
    "text", ["custom:0.5GB", "custom:99999GB", "custom:96GB@0GB/s", "custom:96GB@9999999W"]
)
def test_figures_are_bounded(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        CARDS.find(text)
    assert refused.value.fields["reason"] == "out_of_range"


@each("slug", ["rtx-4090-24gb", "rtx-3090-24gb", "rtx-pro-6000-blackwell-96gb"])
@each("quant", ["bf16", "fp8", "q4_k_m", "awq", "nvfp4"])
def test_a_card_described_as_the_catalogue_has_it_holds_the_same(slug: str, quant: str) -> None:
    """Same memory, stack and formats: the same headroom and verdict under every engine that takes
    the driver's total; those that take PyTorch's get the driver's, as no other was stated.
    """
    listed = CARDS.find(slug)
    formats = [name for name in ("fp8", "fp4", "int8") if getattr(listed, f"{name}_support")]
    described = CARDS.find(f"custom:{listed.memory_bytes // MIB}MiB@CUDA@" + "@".join(formats))
    listed = replace(listed, torch_memory_bytes=None, nvlink=False, interconnect="")
    wanted = native_quant(LLAMA_8B) if quant == "bf16" else find_quant(quant)
    study = Study(LLAMA_8B, Workload(), [(wanted, quant == "bf16")])
    for engine in study.engines(wanted):
        assert device_class_of(engine, listed) == device_class_of(engine, described)
        one, other = (
            fit_on(study, gpu, 1, wanted, quant == "bf16", engine) for gpu in (listed, described)
        )
        assert one is not None and other is not None
        assert one.headroom_bytes == other.headroom_bytes
        assert one.verdict == other.verdict or _unpacks_fp8(listed, quant, formats)


def _unpacks_fp8(listed: Gpu, quant: str, formats: list[str]) -> bool:
    """Whether the listed card runs FP8 weights by a rule of its maker's generation alone."""
    return listed.vendor == "NVIDIA" and quant == "fp8" and "fp8" not in formats


def test_speeds_stop_where_figures_do() -> None:
    """Bandwidth bounds decoding, compute bounds prompts; without either nothing is said of both."""
    fields = {"model": "Qwen/Qwen3-8B", "quant": "native", "card": False}
    cards = ("custom:96GB", "custom:96GB@1800GB/s", "custom:96GB@1800GB/s@200TFLOPS")
    ranking = size(embedded_sizer(), {**fields, "gpu": ",".join(cards)}).ranking
    known = [(item.decode is not None, item.prefill is not None) for item in ranking]
    assert known == [(False, False), (True, False), (True, True)]
