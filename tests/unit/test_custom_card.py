"""Machines in words: cards that the catalogue lacks, and hardware that is saved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.advice.ranking import Ranked
from gpusizer.api.gpu import GpuInfo
from gpusizer.api.ranked_gpu import RankedGpu
from gpusizer.core.errors import GpusizerError, InvalidRequest, UnknownGpu
from gpusizer.core.units import GB, GIB, MIB, TERA
from gpusizer.fit.machine_parser import KindWords, is_rig, parse_kind, parse_rig, split_machines
from gpusizer.fit.study import Study, device_class_of
from gpusizer.gpus import Gpu, load_catalogue, saved_gpus
from gpusizer.gpus.costs.power import plan_watts
from gpusizer.gpus.custom_card import custom_card
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.memory.workload import Workload
from gpusizer.text import say_error
from gpusizer.ui.page.page_state import PageState
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.requests.request import CompareRequest, SizeRequest
from gpusizer.usecases.requests.training_request import TrainingRequest
from gpusizer.usecases.trainer import train
from tests.any_json import any_json
from tests.asking import size
from tests.documents import part
from tests.fits import fit_on
from tests.sizers import embedded_sizer
from tests.vllm_models import LLAMA_8B

CARDS = UserGpus(load_catalogue())


def test_a_description_is_a_card() -> None:
    gpu = CARDS.find("custom:96GB@1800GB/s@200TFLOPS@5000USD@350W@ROCm@fp8")
    assert gpu.device_memory_bytes == 96 * GB
    assert gpu.bandwidth_bytes_per_second == 1800 * GB
    assert (gpu.fp16_flops, gpu.buy_usd, gpu.power_watts) == (200 * TERA, 5000, 350)
    assert (gpu.software, gpu.fp8_support, gpu.fp4_support) == ("ROCm", True, False)
    assert [note.code for note in gpu.statements] == ["custom_card", "custom_card_formats"]
    assert part(GpuInfo, custom_card(gpu.slug)) == part(GpuInfo, gpu)
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
    price = part(RankedGpu, item)["price"]
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


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("slug", ["rtx-4090-24gb", "rtx-3090-24gb", "rtx-pro-6000-blackwell-96gb"])
@pytest.mark.parametrize("quant", ["bf16", "fp8", "q4_k_m", "awq", "nvfp4"])
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


_MODEL = "Qwen/Qwen3-8B"
_RAM = 64 * GIB


@pytest.mark.parametrize(
    ("text", "machines"),
    [
        ("4090, 2x3090, L40S, A100", ("4090", "2x3090", "L40S", "A100")),
        ("4090；L40S、A100", ("4090", "L40S", "A100")),
        ("4090 and L40S or A100", ("4090", "L40S", "A100")),
        ("4090 和 L40S", ("4090", "L40S")),
        ("3060 + 64 GB RAM", ("3060 + 64 GB RAM",)),
        ("3060, 64 GB RAM, L40S", ("3060 + 64 GB RAM", "L40S")),
        ("4090 (20.5 GB free), 2x3090", ("4090 (20.5 GB free)", "2x3090")),
        ("Ryzen AI Max+ 395 128GB, 4090", ("Ryzen AI Max+ 395 128GB", "4090")),
    ],
)
def test_lists_of_machines_are_split(text: str, machines: tuple[str, ...]) -> None:
    assert split_machines([text.replace("；", ";")]) == machines


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("4090", KindWords("4090")),
        ("2x3090", KindWords("3090", 2)),
        ("RTX 3090 x2", KindWords("RTX 3090", 2)),
        ("3060 + 64 GB RAM", KindWords("3060", None, _RAM)),
        ("3060 + 64gb ram", KindWords("3060", None, _RAM)),
        ("RTX 3060 + 64 GB", KindWords("RTX 3060", None, _RAM)),
        ("3060 with 64GB of RAM", KindWords("3060", None, _RAM)),
        ("2x 3090 + 2x32GB DDR5", KindWords("3090", 2, _RAM)),
        ("4090 + 4090 + 64 GB", KindWords("4090", 2, _RAM)),
        ("Ryzen AI Max+ 395 128GB", KindWords("Ryzen AI Max+ 395 128GB")),
    ],
)
def test_one_kind_of_card_is_read_with_its_memory(text: str, words: KindWords) -> None:
    assert parse_kind(text) == words


def test_cards_of_several_kinds_are_a_rig() -> None:
    assert is_rig("3090 + 3060") and not is_rig("Ryzen AI Max+ 395 128GB")
    assert parse_rig("3090 + 3060 + 64 GB").cards == ("3090", "3060")
    for text, word in (("3090 + 3060", "several kinds"), ("64 GB RAM", "without a card")):
        with pytest.raises(InvalidRequest) as error:
            parse_kind(text)
        assert word in say_error(error.value, "en")


def test_each_field_reads_the_same_machine() -> None:
    sizer = embedded_sizer()
    text = "3060 + 64 GB RAM, 2x3090"
    asked: dict[str, Any] = {"model": _MODEL, "gpu": text}
    places = sizer.size(SizeRequest.from_fields(asked)).ranking
    compared = sizer.compare(CompareRequest.from_fields({"model": _MODEL, "gpus": text})).items
    expected = [("rtx-3060-12gb", 1, _RAM), ("rtx-3090-24gb", 2, None)]
    assert [_machine(place.fit) for place in places] == expected
    assert [_machine(item.ranked.fit) for item in compared if item.ranked] == expected
    trained = train(sizer, TrainingRequest.from_fields(asked))
    assert [(item.fit.gpu.slug, item.fit.count) for item in trained.ranking] == [
        pair[:2] for pair in expected
    ]
    assert "training_ram_unused" in {note.code for note in trained.notes}
    models = sizer.models_for(ModelsRequest.from_fields({"gpu": "3060, 64 GB", "models": [_MODEL]}))
    assert (models.machine.gpu.slug, models.machine.ram_bytes) == ("rtx-3060-12gb", _RAM)


def _machine(fit: Any) -> tuple[str, int, int | None]:
    return fit.gpu.slug, fit.count, fit.config.machine.ram_bytes


def test_a_number_of_boards_counts_beside_a_machine_with_one_card() -> None:
    fields = {"model": _MODEL, "gpu": "3060 + 64 GB RAM", "gpu_count": 2}
    [place] = embedded_sizer().size(SizeRequest.from_fields(fields)).ranking
    assert _machine(place.fit) == ("rtx-3060-12gb", 2, _RAM)


def test_memory_beside_one_card_is_not_that_of_another() -> None:
    fields = {"model": "Qwen/Qwen3-30B-A3B", "gpus": ["3060 + 64 GB RAM", "3060 + 8 GB RAM"]}
    items = embedded_sizer().compare(CompareRequest.from_fields(fields)).items
    verdicts = [item.ranked.fit.verdict.name for item in items if item.ranked]
    assert verdicts[0] != verdicts[1]


def test_one_gpu_field_takes_a_machine_of_several_kinds() -> None:
    request = SizeRequest.from_fields({"model": _MODEL, "gpu": "3090 + 3060 + 64 GB RAM"})
    assert (request.gpus, request.rig) == ((), "3090 + 3060 + 64 GB RAM")


def test_the_address_keeps_machines_apart() -> None:
    state = PageState(model=_MODEL, gpus=("3060 + 64 GB RAM", "2x3090"))
    assert PageState.from_query(state.query) == state


def test_a_mac_sold_with_several_chips_asks_which() -> None:
    catalogue = load_catalogue()
    for text in ("Mac Studio 128 GB", "mac studio 128gb", "Mac Studio 128", "mac-studio-128gb"):
        with pytest.raises(UnknownGpu) as error:
            catalogue.find(text)
        assert error.value.fields["reason"] == "several_chips"
        choices = error.value.fields["suggestions"]
        assert isinstance(choices, list) and choices[:2] == [
            "Apple M5 Max 128GB",
            "Apple M4 Max 128GB",
        ]
        assert {catalogue.find(name).memory_marketing_gb for name in choices} == {128}
    with pytest.raises(UnknownGpu) as error:
        catalogue.find("Mac Studio")
    chips = error.value.fields["suggestions"]
    assert isinstance(chips, list)
    assert {"Apple M4 Max", "Apple M5 Max", "Apple M3 Ultra"} <= set(chips)
    assert "Apple M4" not in chips, "only what the computer was sold with"
    [ultra] = catalogue.search("mac pro 192gb")
    assert catalogue.find("Mac Pro 192GB") is ultra


def test_a_generation_with_its_memory_is_its_slowest_chip() -> None:
    fields = {"model": _MODEL, "gpu": "MacBook Pro M3 36GB"}
    place = embedded_sizer().size(SizeRequest.from_fields(fields)).ranking[0]
    assert place.fit.gpu.name == "Apple M3 Pro 36GB"
    [taken] = [note for note in place.fit.gpu.statements if note.code == "chip_taken"]
    assert taken.fields["others"] == "Apple M3 Max 36GB"


@pytest.mark.parametrize("text", ["RTX 4900", "3060 7GB", "Mac Studio 48TB", "rtx-3060-9gb"])
def test_gpus_are_suggested_by_their_names(text: str) -> None:
    catalogue = load_catalogue()
    with pytest.raises(UnknownGpu) as error:
        catalogue.find(text)
    suggestions = error.value.fields["suggestions"]
    assert isinstance(suggestions, list)
    assert set(suggestions) <= {gpu.name for gpu in catalogue.gpus}
    assert all(catalogue.find(name).name == name for name in suggestions)


def test_a_long_list_is_refused() -> None:
    with pytest.raises(GpusizerError):
        SizeRequest.from_fields({"model": _MODEL, "gpu": ["a;" * 200] * 20})


CATALOGUE = load_catalogue()


def _item(model: str, memory: object, count: object = 1, **more: object) -> dict[str, object]:
    return {"sku": ["GPU", "NVIDIA", model], "mem": memory, "num": count, **more}


def test_the_documented_example() -> None:
    """The object that docs/hub/hardware.md of hub-docs prints."""
    item = {"sku": ["GPU", "NVIDIA", "RTX 4090"], "mem": 24, "num": 2, "isPrimary": True}
    assert saved_gpus([item], CATALOGUE, 4) == ("2xrtx-4090-24gb",)


def test_the_primary_gpu_comes_first() -> None:
    items = [
        _item("RTX 3060", 12),
        _item("Apple M3 Max", 128),
        _item("A100", 80, isPrimary=True),
        _item("RTX 3060", 12),
    ]
    gpus = saved_gpus(items, CATALOGUE, 4)
    assert gpus == ("a100-sxm-80gb", "rtx-3060-12gb", "apple-m3-max-128gb")
    assert saved_gpus(items, CATALOGUE, 1) == ("a100-sxm-80gb",)


@pytest.mark.parametrize(
    "item",
    [
        _item("Ryzen 9 7950X", 64),
        _item("RTX 4090", 1000),
        _item("RTX 4090", "24"),
        _item("RTX 4090", 24, 0),
        _item("RTX 4090", 24, 10**9),
        _item("RTX 4090", True),
        _item("RTX 4090", float("nan")),
        {"sku": "RTX 4090", "mem": 24},
        {"sku": [1, 2, 3]},
        _item("<img src=x>" * 1000, 24),
        "RTX 4090",
        None,
    ],
)
def test_unknown_gpus_in_a_profile_are_left_out(item: object) -> None:
    assert saved_gpus([item, _item("RTX 3060", 12)], CATALOGUE, 4) == ("rtx-3060-12gb",)


@given(any_json(st.sampled_from(["sku", "mem", "num", "isPrimary"])))
def test_malformed_saved_hardware_is_skipped(items: Any) -> None:
    slugs = {gpu.slug for gpu in CATALOGUE.gpus}
    for request in saved_gpus(items, CATALOGUE, 4):
        assert request in slugs or request.split("x", maxsplit=1)[1] in slugs
