"""Machines as people describe them, in three languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.errors import GpusizerError, UnknownGpu
from gpusizer.core.units import GIB
from gpusizer.fit.loose_machine import MAX_CHARS
from gpusizer.fit.machine import build_machine
from gpusizer.fit.machine_parser import parse_kind, parse_rig, split_machines
from gpusizer.gpus import load_catalogue
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.text import LANGUAGES, say_error
from gpusizer.usecases.requests.request import SizeRequest
from tests.asking import size
from tests.sizers import embedded_sizer

CATALOGUE = load_catalogue()
CARDS = UserGpus(CATALOGUE)

UNDERSTOOD: dict[str, tuple[tuple[str, ...], int | None]] = {
    "12 GB": (("12gb",), None),
    "16GB VRAM": (("16gb",), None),
    "a 24GB card": (("24gb",), None),
    "24 GB GPU, 64GB RAM": (("24gb",), 64),
    "2x 24GB": (("24gb", "24gb"), None),
    "dual 3090": (("rtx-3090-24gb",) * 2, None),
    "2x3090": (("rtx-3090-24gb",) * 2, None),
    "two RTX 3090s": (("rtx-3090-24gb",) * 2, None),
    "2 RTX 3090": (("rtx-3090-24gb",) * 2, None),
    "quad 3060 + 128 GB RAM": (("rtx-3060-12gb",) * 4, 128),
    "3090 duo": (("rtx-3090-24gb",) * 2, None),
    "Colab T4": (("tesla-t4-16gb",), None),
    "Google Colab A100 40GB": (("a100-sxm-40gb",), None),
    "Kaggle T4 x2": (("tesla-t4-16gb",) * 2, None),
    "my RTX 3060 12GB graphics card": (("rtx-3060-12gb",), None),
    "RTX 3060, 12 GB VRAM": (("rtx-3060-12gb",), None),
    "32 GB RAM, RTX 3060": (("rtx-3060-12gb",), 32),
    "RTX 4070 laptop": (("rtx-4070-laptop-8gb",), None),
    "3060 64GB RAM": (("rtx-3060-12gb",), 64),
    "RTX 3060 12GB VRAM, i5-12400, 32GB DDR4": (("rtx-3060-12gb",), 32),
    "Ryzen 7 5800X3D + RX 7900 XTX + 64 GB": (("rx-7900-xtx-24gb",), 64),
    "Ryzen 7 7840U": (("radeon-780m-32gb",), 0),
    "Ryzen AI Max+ 395 with 128 GB RAM": (("ryzen-ai-max-395-128gb",), 0),
    "MacBook Pro M3 36GB": (("apple-m3-pro-36gb",), 0),
    "MacBook Air M2 16GB unified memory": (("apple-m2-16gb",), 0),
    "MacBook Pro M3 Max, 64 GB RAM": (("apple-m3-max-64gb",), 0),
    "CPU only": ((), None),
    "CPU only, 32 GB": ((), 32),
    "i7 32 GB RAM": ((), 32),
    "i7-9700K 32GB": ((), 32),
    "laptop with 16GB": ((), 16),
    "integrated graphics, 16GB RAM": ((), 16),
    "双3090": (("rtx-3090-24gb",) * 2, None),
    "两张4090": (("rtx-4090-24gb",) * 2, None),
    "双路 2080Ti 22G 魔改": (("rtx-2080-ti-22gb-mod",) * 2, None),
    "4090 48G 魔改": (("rtx-4090-48gb-mod",), None),
    "8卡A100": (("a100-sxm-80gb",) * 8, None),
    "显存12G": (("12gb",), None),
    "显存12G 内存64G": (("12gb",), 64),
    "3060 12G显存，64G内存": (("rtx-3060-12gb",), 64),
    "我的显卡是 3060": (("rtx-3060-12gb",), None),
    "内存64G": ((), 64),
    "只用CPU，32G内存": ((), 32),
    "placa de 12 GB": (("12gb",), None),
    "minha placa de vídeo RTX 3060 e 16 GB de memória RAM": (("rtx-3060-12gb",), 16),
    "duas 3090 com 64 GB de RAM": (("rtx-3090-24gb",) * 2, 64),
    "memória 32 GB": ((), 32),
    "só CPU, 32 GB de RAM": ((), 32),
    "I have a 3060 and 32GB ram": (("rtx-3060-12gb",), 32),
    "RTX 3060 12GB VRAM/32GB RAM": (("rtx-3060-12gb",), 32),
    "Intel i9 13900K, 64GB, RTX 4080": (("rtx-4080-16gb",), 64),
    "12 GB card, i7": (("12gb",), None),
    "gaming laptop RTX 4060, 16GB RAM": (("rtx-4060-laptop-8gb",), 16),
    "笔记本 RTX 4060": (("rtx-4060-laptop-8gb",), None),
    "A100 on Colab": (("a100-sxm-80gb",), None),
    "4090x2": (("rtx-4090-24gb",) * 2, None),
    "2 A6000": (("rtx-a6000-48gb",) * 2, None),
    "placa RTX 3060 de 12GB": (("rtx-3060-12gb",), None),
    "3090?": (("rtx-3090-24gb",), None),
    # Names that have such a word in them.
    "Arc Pro B60 Dual": (("arc-pro-b60-dual-48gb",) * 2, None),
    "RX 7700S": (("rx-7700s-8gb",), None),
    "RTX A 6000": (("rtx-a6000-48gb",), None),
    "NVIDIA L40S": (("l40s-48gb",), None),
}


@pytest.mark.parametrize("text", UNDERSTOOD)
def test_what_people_write_is_understood(text: str) -> None:
    cards, ram_gib = UNDERSTOOD[text]
    [machine] = split_machines([text])
    built = build_machine(parse_rig(machine), CARDS)
    assert tuple(gpu.slug for gpu in built.gpus) == cards
    assert built.ram_bytes == (None if ram_gib is None else ram_gib * GIB)
    assert split_machines([machine]) == (machine,), "read again it is the same"


@pytest.mark.parametrize(
    ("text", "machines"),
    [
        ("4090, 2x3090 and L40S", ("4090", "2x3090", "L40S")),
        ("dual 3090 or my 4090", ("2x 3090", "4090")),
        ("custom:96GB@1800GB/s, 3090", ("custom:96GB@1800GB/s", "3090")),
        ("4090 (20 GB free)", ("4090 (20 GB free)",)),
        ("3060 + 64 GB RAM, 4090", ("3060 + 64 GB RAM", "4090")),
    ],
)
def test_lists_stay_lists(text: str, machines: tuple[str, ...]) -> None:
    assert split_machines([text]) == machines


def test_a_bare_size_fits_wherever_a_card_of_that_label_does() -> None:
    card = CARDS.find("12 GB")
    labelled = [
        gpu
        for gpu in CATALOGUE.gpus
        if gpu.memory_marketing_gb == 12 and not gpu.is_integrated and gpu.devices_per_board == 1
    ]
    assert labelled
    assert all(card.memory_bytes <= gpu.memory_bytes for gpu in labelled)
    assert card.bandwidth_bytes_per_second is None
    assert CARDS.find(card.slug) == card
    report = size(embedded_sizer(), {"model": "Qwen/Qwen3-8B", "gpu": "12 GB"})
    assert "card_of_size" in {note.code for note in report.ranking[0].fit.gpu.statements}


def test_a_machine_without_a_card_is_one() -> None:
    request = SizeRequest.from_fields({"model": "Qwen/Qwen3-8B", "gpu": "i7 32 GB RAM"})
    assert (request.gpus, request.rig) == ((), "32 GB RAM")


def test_here_is_for_the_shell() -> None:
    with pytest.raises(UnknownGpu) as error:
        size(embedded_sizer(), {"model": "Qwen/Qwen3-8B", "gpu": "here"})
    assert error.value.fields["reason"] == "here"
    assert all("nvidia-smi" in say_error(error.value, language) for language in LANGUAGES)


@pytest.mark.parametrize("text", ["3090 3060 64gb ram", "ram", "17x 3090 + 64 GB"])
def test_no_message_names_a_field(text: str) -> None:
    with pytest.raises(GpusizerError) as error:
        size(embedded_sizer(), {"model": "Qwen/Qwen3-8B", "gpu": text, "rig": ""})
    for language in LANGUAGES:
        assert "rig =" not in say_error(error.value, language)
        assert "gpu =" not in say_error(error.value, language)


@pytest.mark.parametrize(
    "text",
    [
        "de " * 100,
        "ram de " * 42,
        "2x" * 150,
        "12gb ram " * 33,
        "dual ram: " * 30,
        "my a the " * 30,
        "双" * 300,
    ],
)
def test_repeated_words_are_read_at_once(text: str) -> None:
    """A pattern that tries every division of these would not end."""
    assert len(text) <= MAX_CHARS
    assert split_machines([text])


_PIECES = st.sampled_from(
    [*UNDERSTOOD, "+", ",", " e ", "x", "2x", "GB", "内存", "RAM", "9" * 9, "(", ")", "\u202e", "é"]
)


@given(st.lists(st.one_of(_PIECES, st.text(max_size=20)), max_size=30).map(" ".join))
def test_any_text_is_a_machine_or_refused(text: str) -> None:
    try:
        machines = split_machines([text])
        for machine in machines:
            build_machine(parse_rig(machine), CARDS)
    except GpusizerError as error:
        assert "{" not in say_error(error).replace(text, "")


def test_every_name_of_the_catalogue_names_its_card() -> None:
    """Words that are dropped or counted are no part of a name, as "quad" in Quadro."""
    wrong = []
    for gpu in CATALOGUE.gpus:
        for name in (gpu.name, gpu.slug, *gpu.aliases):
            kind = parse_kind(name)
            if (CARDS.find(kind.name).slug, kind.boards) != (gpu.slug, None):
                wrong.append(name)
    assert wrong == []
