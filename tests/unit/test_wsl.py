"""A machine under WSL has half of the memory that its words state."""

from __future__ import annotations

import pytest

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.units import GIB
from gpusizer.fit.wsl import within_wsl
from gpusizer.text import LANGUAGES, say_note
from gpusizer.usecases.requests.request import CompareRequest, SizeRequest


@pytest.mark.parametrize(
    ("text", "half"),
    [
        ("3060 + 64 GB RAM WSL", "3060 + 32 GB RAM"),
        ("3060 + 64GB RAM (WSL2)", "3060 + 32GB RAM"),
        ("3060 + 48 gb of ram under wsl 2", "3060 + 24 gb of ram"),
        ("WSL2, 3060 + 31.5 GB memory", "3060 + 15.75 GB memory"),
        ("3090 + 3060 + 64 GB DDR5, WSL", "3090 + 3060 + 32 GB DDR5"),
        ("3060，64GB内存，WSL2", "3060，32GB内存"),
        ("RTX 3090 with 24 GB memory, 64 GB RAM, WSL2", "RTX 3090 with 24 GB memory, 32 GB RAM"),
        ("3060 com 64 GB de RAM no WSL", "3060 com 32 GB de RAM"),
        ("H100 + 1,024 GB RAM, WSL", "H100 + 512 GB RAM"),
        ("H100 + 1 TB RAM on WSL", "H100 + 0.5 TB RAM"),
        ("3060 + 64 GB, WSL", "3060 + 32 GB"),
        ("3060 + 2x 32 GB, WSL", "3060 + 2x 16 GB"),
        ("3060，64GB内存，在WSL2中", "3060，32GB内存"),
    ],
)
def test_half_of_the_stated_memory_counts(text: str, half: str) -> None:
    machine = within_wsl(text)
    assert machine is not None and machine.text == half


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("4090 + 64 GB RAM, no WSL", "4090 + 64 GB RAM"),
        ("4090 + 64 GB RAM (not in WSL)", "4090 + 64 GB RAM"),
        ("4090 + 64 GB RAM, without WSL2", "4090 + 64 GB RAM"),
        ("4090 com 64 GB de RAM, sem WSL", "4090 com 64 GB de RAM"),
        ("4090，64GB内存，没有WSL", "4090，64GB内存"),
    ],
)
def test_a_machine_outside_of_wsl_keeps_its_memory(text: str, whole: str) -> None:
    machine = within_wsl(text)
    assert machine is not None and (machine.text, machine.notes) == (whole, ())


@pytest.mark.parametrize("text", ["RTX 4090 WSL2", "RTX 4090 on WSL", "WSL, RTX 4090"])
def test_without_an_amount_the_card_is_read(text: str) -> None:
    request = SizeRequest.from_fields({"model": "a/b", "gpu": text, "ram_gb": 64})
    assert (request.gpus, request.ram_gb) == (("RTX 4090",), 64)
    (note,) = request.about_machine
    assert note.code == "report_wsl"
    for language in LANGUAGES:
        assert "WSL" in say_note(note, language)


@pytest.mark.parametrize("text", ["3060 + 64 GB RAM", "WSL", "no WSL", "", "64 GB RAM wslx"])
def test_other_texts_are_left_as_they_are(text: str) -> None:
    assert within_wsl(text) is None


def test_a_request_says_what_is_counted() -> None:
    request = SizeRequest.from_fields({"model": "a/b", "gpu": "3060 + 64 GB RAM WSL"})
    assert request.gpus == ("3060 + 32 GB RAM",)
    (note,) = request.about_machine
    assert (note.code, note.fields) == (
        "wsl_memory",
        {"ram_bytes": 32 * GIB, "whole_bytes": 64 * GIB},
    )
    for language in LANGUAGES:
        assert "WSL" in say_note(note, language) and "64" in say_note(note, language)


def test_each_machine_of_a_list_has_its_own_words() -> None:
    fields = {"gpus": ["3060 + 64 GB RAM, WSL", "3090 + 64 GB RAM"]}
    assert CompareRequest.from_fields(fields).compared == ("3060 + 32 GB RAM", "3090 + 64 GB RAM")


def test_a_rig_has_half_of_its_memory() -> None:
    request = SizeRequest.from_fields({"model": "a/b", "rig": "3090 + 3060 + 64gb ram, WSL"})
    assert request.rig == "3090 + 3060 + 32gb ram"


def test_long_texts_are_refused_as_ever() -> None:
    with pytest.raises(InvalidRequest) as refused:
        SizeRequest.from_fields({"model": "a/b", "gpu": "3060 + 64 GB RAM WSL " + "x" * 400})
    assert refused.value.fields["reason"] == "too_long"
