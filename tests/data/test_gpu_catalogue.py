"""data/gpus.csv and data/gpu_aliases.csv: invariants, hand-checked facts, coverage."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpusizer.core.units import GB, MIB
from gpusizer.gpus import Catalogue, load_catalogue
from tests.data.gpu_invariants import INVARIANTS, Invariant

CATALOGUE = load_catalogue()


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_invariant(invariant: Invariant) -> None:
    applicable = [gpu for gpu in CATALOGUE.gpus if invariant.applies(gpu)]
    broken = {gpu.slug for gpu in applicable if not invariant.holds(gpu)}
    assert applicable, "applies to nothing"
    assert broken == set(invariant.exceptions)


# Hand-checked against the vendor's figures: usable MiB, GB/s, dense FP16 TFLOPS with FP32
# accumulation, watts. None: the vendor publishes no such rate.
CHECKED = {
    "rtx-4090-24gb": (24564, 1008, 165.2, 450),
    "rtx-3090-24gb": (24576, 936.2, 71.2, 350),
    "rtx-5090-32gb": (32607, 1792, 209.5, 575),
    "rtx-a6000-48gb": (49140, 768, 154.8, 300),
    "rtx-6000-ada-48gb": (49140, 960, 364.2, 300),
    "l40s-48gb": (46068, 864, 362, 350),
    "l4-24gb": (23034, 300, 121, 72),
    "tesla-t4-16gb": (15360, 320, 65, 70),
    "v100-sxm2-32gb": (32768, 900, 125, 300),
    "a100-sxm-80gb": (81920, 2039, 312, 400),
    "a100-pcie-40gb": (40960, 1555, 312, 250),
    "h100-sxm-80gb": (81559, 3350, 989, 700),
    "h200-sxm-141gb": (143771, 4800, 989, 700),
    "b200-sxm-180gb": (183359, 8000, 2250, 1000),
    "quadro-p6000-24gb": (24576, 432, None, 250),
    "rx-7900-xtx-24gb": (24560, 960, 122.8, 355),
    "instinct-mi300x-192gb": (196592, 5300, 1307.4, 750),
    "apple-m2-ultra-192gb": (147456, 800, None, None),
}


@pytest.mark.parametrize("slug", CHECKED)
def test_hand_checked(slug: str) -> None:
    usable_mib, bandwidth_gb, fp16_tflops, watts = CHECKED[slug]
    gpu = CATALOGUE.find(slug)
    assert gpu.memory_bytes == usable_mib * MIB
    assert gpu.bandwidth_bytes_per_second == pytest.approx(bandwidth_gb * GB, rel=0.01)
    if fp16_tflops is None:
        assert gpu.fp16_tensor_flops is None
    else:
        assert gpu.fp16_tensor_flops == pytest.approx(fp16_tflops * 1e12, rel=0.01)
    if watts is not None:
        assert gpu.power_watts == watts


# What buying guides name, with the size they print.
GUIDES = {
    "H100": 80,
    "H800": 80,
    "A100 40GB": 40,
    "A100 80GB": 80,
    "A800": 80,
    "L40S": 48,
    "L4": 24,
    "V100 32GB": 32,
    "T4": 16,
    "RTX A6000": 48,
    "RTX A5000": 24,
    "RTX A4000": 16,
    "RTX 6000 Ada": 48,
    "Quadro P6000": 24,
    "Quadro RTX 4000": 8,
    "RTX 4090": 24,
    "RTX 4070 Ti": 12,
    "RTX 3090": 24,
    "RTX 3080 10GB": 10,
    "RTX 3070": 8,
    "RTX 3060 12GB": 12,
    "2080 Ti": 11,
    "2080 Ti 22GB": 22,
    "M3 Max 128GB": 128,
    "M2 Ultra 192GB": 192,
    "MI300X": 192,
    "7900 XTX": 24,
    "Ascend 910B": 64,
}


@pytest.mark.parametrize("name", GUIDES)
def test_guides_are_covered(name: str) -> None:
    assert CATALOGUE.find(name).memory_marketing_gb == GUIDES[name]


def test_guide_claims_about_links() -> None:
    assert CATALOGUE.find("A100").nvlink_bytes_per_second == 600 * GB
    assert CATALOGUE.find("A800").nvlink_bytes_per_second == 400 * GB
    assert CATALOGUE.find("RTX 4090").pcie_bytes_per_second == 64 * GB
    assert not CATALOGUE.find("RTX 6000 Ada").nvlink
    assert CATALOGUE.find("RTX A6000").interconnect_domain == 2


def test_boards_of_several_devices() -> None:
    multi_device_boards = {
        gpu.slug: gpu.devices_per_board for gpu in CATALOGUE.gpus if gpu.devices_per_board > 1
    }
    assert multi_device_boards == {
        "tesla-k80-24gb": 2,
        "tesla-m60-16gb": 2,
        "a16-64gb": 4,
        "instinct-mi250-128gb": 2,
        "instinct-mi250x-128gb": 2,
        "arc-pro-b60-dual-48gb": 2,
        "data-center-gpu-max-1550-128gb": 2,
        "ascend-910c-128gb": 2,
    }


def test_every_name_leads_home() -> None:
    for gpu in CATALOGUE.gpus:
        for text in (gpu.slug, gpu.name, gpu.slug.upper(), *gpu.aliases):
            assert CATALOGUE.find(text) is gpu, text


def test_alias_file_holds_only_what_spelling_rules_cannot_do() -> None:
    without_aliases = Catalogue(tuple(replace(gpu, aliases=()) for gpu in CATALOGUE.gpus))
    for gpu in CATALOGUE.gpus:
        for alias in gpu.aliases:
            spelt = without_aliases.match(alias)
            assert spelt is None or spelt.slug != gpu.slug, alias
