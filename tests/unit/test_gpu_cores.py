"""GPU cores of a Mac: how they are written, which were sold, and what follows for speeds."""

from __future__ import annotations

import pytest

from gpusizer.core.errors import InvalidRequest, UnknownGpu
from gpusizer.gpus import load_catalogue
from gpusizer.gpus.gpu_cores import cores_sold, split_cores, with_cores
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.text import LANGUAGES, say_error
from tests.speed_cases import LLAMA, likely, speeds_on

CATALOGUE = load_catalogue()
CARDS = UserGpus(CATALOGUE)


@pytest.mark.parametrize(
    "text, slug, cores",
    [
        ("M4 Pro 24GB (16 cores)", "apple-m4-pro-24gb", 16),
        ("apple-m4-pro-24gb (16 cores)", "apple-m4-pro-24gb", 16),
        ("M1 Max 24c 32GB", "apple-m1-max-32gb", 24),
        ("MacBook Pro M1 Max 10-core CPU 24-core GPU 32GB", "apple-m1-max-32gb", 24),
        ("M2 Ultra 64GB 60核", "apple-m2-ultra-64gb", 60),
        ("M2 Max 64GB (30 núcleos)", "apple-m2-max-64gb", 30),
        ("m4 pro 24gb", "apple-m4-pro-24gb", 20),
        ("M3 Ultra 96GB 80-core", "apple-m3-ultra-96gb", 80),
        ("Mac Studio 64GB (60 cores)", "apple-m2-ultra-64gb", 60),
        ("L40S-48C", "l40s-48c", 142),
    ],
)
def test_cores_are_read_from_a_name(text: str, slug: str, cores: int) -> None:
    gpu = CARDS.find(text)
    assert (gpu.slug, gpu.compute_units) == (slug, cores)


def test_cores_of_the_processor_are_none_of_the_gpu() -> None:
    assert split_cores("M1 Max 10-core CPU 32GB") == ("M1 Max 32GB", ())
    assert split_cores("RTX 4090 24GB") == ("RTX 4090 24GB", ())


def test_rates_follow_the_cores_and_bandwidth_does_not() -> None:
    """An M4 Pro has 9.2 TFLOPS with 20 cores: 7.36 with 16."""
    large, small = CARDS.find("m4 pro 24gb"), CARDS.find("m4 pro 24gb (16 cores)")
    assert small.fp32_flops == pytest.approx(7.36e12)
    assert small.shader_cores == 2048
    assert small.bandwidth_bytes_per_second == large.bandwidth_bytes_per_second
    assert small.memory_bytes == large.memory_bytes
    assert with_cores(large, 20) is large


@pytest.mark.parametrize(
    "text", ["m4 pro 24gb (14 cores)", "M3 Max 48GB 30-core GPU", "M3 Ultra 512GB 60 cores"]
)
def test_a_number_that_was_not_sold_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        CARDS.find(text)
    assert caught.value.fields["reason"] == "gpu_cores_not_sold"
    for language in LANGUAGES:
        said = say_error(caught.value, language)
        assert str(caught.value.fields["gpu"]) in said and str(caught.value.fields["cores"]) in said


def test_a_chip_without_its_memory_gets_its_sizes() -> None:
    with pytest.raises(UnknownGpu) as caught:
        CARDS.find("M4 Pro 16-core GPU")
    assert "Apple M4 Pro 24GB" in caught.value.fields["suggestions"]


def test_the_cores_of_the_catalogue_were_sold() -> None:
    for gpu in CATALOGUE.gpus:
        assert gpu.compute_units is None or gpu.compute_units in cores_sold(gpu), gpu.slug


def test_fewer_cores_read_prompts_as_much_slower() -> None:
    """Products of matrices are nearly all of a prompt's time, none of a step's."""
    names = ("m4 pro 24gb", "m4 pro 24gb (16 cores)")
    large, small = (speeds_on(LLAMA, name, "q4_k_m") for name in names)
    assert likely(small.prefill) / likely(large.prefill) == pytest.approx(16 / 20, rel=0.02)
    assert likely(small.decode) == pytest.approx(likely(large.decode))
