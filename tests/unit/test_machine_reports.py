"""Output of programs about machines, pasted: made up after real formats, whole and damaged."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.core.errors import GpusizerError, InvalidRequest
from gpusizer.core.units import GIB, MIB
from gpusizer.fit.machine import Machine, build_machine
from gpusizer.fit.machine_parser import parse_rig
from gpusizer.gpus import load_catalogue
from gpusizer.gpus.reports.found import MAX_CHARS
from gpusizer.gpus.reports.reading import FORMATS, MachineReport, may_be_report, read_reports
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.text import LANGUAGES, say_error, say_note
from gpusizer.ui.page.page_state import PageState
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.requests.request import CompareRequest
from gpusizer.usecases.requests.training_request import TrainingRequest
from gpusizer.usecases.trainer import train
from tests.asking import size
from tests.sizers import embedded_sizer

CATALOGUE = load_catalogue()
CARDS = UserGpus(CATALOGUE)
_PARTS = (Path(__file__).parent / "machine_reports.txt").read_text("utf-8").split("@@@ ")[1:]
REPORTS = {text: machine for machine, text in (part.split("\n", 1) for part in _PARTS)}


def report_of(text: str) -> MachineReport:
    read = read_reports(text)
    assert read is not None
    return read


def machine_of(text: str) -> Machine:
    return build_machine(parse_rig(text), CARDS)


def codes(report: MachineReport) -> set[str]:
    return {note.code for note in report.notes}


def report(beginning: str) -> str:
    [text] = [text for text, machine in REPORTS.items() if machine.startswith(beginning)]
    return text


def test_there_are_reports_of_every_format() -> None:
    assert len(REPORTS) >= 30
    read = {program for text in REPORTS for program in report_of(text).programs}
    assert read == {form.program for form in FORMATS}


@pytest.mark.parametrize("text", REPORTS, ids=lambda text: REPORTS[text])
def test_a_report_is_read(text: str) -> None:
    read = report_of(text)
    assert read.text == REPORTS[text]
    machine = machine_of(read.text)
    assert machine.gpus or machine.ram_bytes
    for note in read.notes:
        for language in LANGUAGES:
            assert "{" not in say_note(note, language)


def test_memory_in_use_is_taken_from_the_card() -> None:
    [gpu] = machine_of(report_of(report("rtx-4090-24gb (1234")).text).gpus
    assert gpu.free_bytes == CATALOGUE.find("4090").device_torch_memory_bytes - 1234 * MIB


def test_what_is_said_of_a_report() -> None:
    shown = report_of(report("rtx-4090-24gb (1234"))
    [driver] = [note for note in shown.notes if note.code == "report_driver"]
    assert driver.fields["driver"] == "550.54.15"
    assert {"report_read", "report_display"} <= codes(shown)
    assert "report_left_out" in codes(report_of(report("rtx-4090-24gb + 62.7")))
    assert "report_unknown_card" in codes(report_of(report("custom:24564MiB")))
    assert "report_windows" in codes(report_of(report("rtx-4080")))
    assert "report_wsl" in codes(report_of(report("rtx-3060-12gb (900")))
    assert "report_unit" in codes(report_of(report("31.25 GB RAM")))


def test_an_instance_has_its_share_of_memory_bandwidth_and_multiprocessors() -> None:
    whole = CATALOGUE.find("A100 80GB")
    slices = machine_of(report_of(report("2x a100-sxm-80gb MIG")).text).gpus
    assert len(slices) == 2
    assert slices[0].bandwidth_bytes_per_second == (whole.bandwidth_bytes_per_second or 0) / 8
    assert slices[0].fp16_flops == pytest.approx((whole.fp16_flops or 0) / 7)
    assert 9 * GIB < slices[0].memory_bytes < whole.memory_bytes / 8
    assert CARDS.find(slices[0].slug) == slices[0]
    with pytest.raises(InvalidRequest) as refused:
        CARDS.find("A100 80GB MIG 1g.5gb")
    assert refused.value.fields["reason"] == "no_mig_profile"
    with pytest.raises(InvalidRequest) as refused:
        CARDS.find("RTX 4090 MIG 1g.5gb")
    assert refused.value.fields["reason"] == "no_mig"


@pytest.mark.parametrize("text", REPORTS, ids=lambda text: REPORTS[text])
def test_a_field_of_one_line_loses_line_ends(text: str) -> None:
    assert report_of(text.replace("\n", " ")).text == REPORTS[text]


def test_several_reports_are_one_machine() -> None:
    both = report("rx-7900-xtx-24gb (300") + report("31.25 GB RAM")
    assert report_of(both).text == "rx-7900-xtx-24gb (300 MiB used) + 31.25 GB RAM"
    twice = report("rtx-4090-24gb + 62.7") + report("rtx-4090-24gb (1234")
    assert report_of(twice).text == "rtx-4090-24gb (1234 MiB used) + 62.71 GB RAM"


@pytest.mark.parametrize(
    "text",
    [
        "GPU: 0\n    BDF: 0000:03:00.0\n    KFD_ID: 12\n",
        "ROCm System Management Interface\nDevice  Node  Temp  VRAM%\n0  1  40C  2%\n",
        "00:02.0 VGA compatible controller: Intel Corporation Raptor Lake-S [UHD Graphics 770]",
        "03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 "
        "[Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M] (rev c8)",
        "      Chipset Model: Apple M3 Max\n      Total Number of Cores: 40\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
    ],
)
def test_a_report_without_a_machine_says_so(text: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        read_reports(text)
    assert refused.value.fields["reason"] == "report_without_machine"
    for language in LANGUAGES:
        assert "{" not in say_error(refused.value, language)


@pytest.mark.parametrize(
    "text", ["4090", "2x 3090 + 64 GB RAM", "12 GB", "4090 (20 GB free)", "MacBook Pro M3 36GB", ""]
)
def test_names_of_machines_are_no_reports(text: str) -> None:
    assert read_reports(text) is None


def read_or_refused(text: str) -> None:
    """Whatever was read is a machine, and whatever not is refused with a word."""
    try:
        read = read_reports(text)
        if read is not None:
            machine_of(read.text)
    except GpusizerError as error:
        assert say_error(error)


def _damaged(text: str, source: random.Random) -> str:
    """Return the text cut, shuffled, with huge numbers or with bytes of a binary in it."""
    lines = text.split("\n")
    damage = source.randrange(5)
    if damage == 0:
        return text[: source.randrange(len(text))]
    if damage == 1:
        source.shuffle(lines)
        return "\n".join(lines)
    if damage == 2:
        return "".join("9" * 18 if c.isdigit() and source.random() < 0.2 else c for c in text)
    if damage == 3:
        noise = "".join(chr(source.randrange(0, 0x3000)) for _ in range(200))
        place = source.randrange(len(text))
        return text[:place] + noise + text[place:]
    return "".join(c for c in text if source.random() > 0.03)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("text", REPORTS, ids=lambda text: REPORTS[text])
def test_damaged_reports_are_read_in_part_or_refused(text: str, seed: int) -> None:
    read_or_refused(_damaged(text, random.Random(f"{seed}{text}")))


@settings(max_examples=150)
@given(st.lists(st.one_of(st.sampled_from(list(REPORTS)), st.text(max_size=60)), max_size=6))
def test_reports_among_anything_are_read_in_part_or_refused(texts: list[str]) -> None:
    read_or_refused("\n".join(texts))


@pytest.mark.parametrize(
    "text",
    [
        "| 0 " * MAX_CHARS,
        "NVIDIA-SMI" + "|   0  " + "a " * MAX_CHARS,
        "NVIDIA, " * MAX_CHARS + "MiB",
        "GPU 0: " + "x" * MAX_CHARS + "UUID",
        "card0: " * MAX_CHARS + "VRAM Total Memory (B)",
        '"card0": {' * MAX_CHARS + "VRAM Total Memory (B)",
        "Mem: " + "1" * MAX_CHARS,
        "VGA compatible controller: [" * MAX_CHARS,
        "MiB" + "NVIDIA GeForce RTX 4090, 24564 MiB\n" * MAX_CHARS,
        "TotalPhysicalMemory" + " " * MAX_CHARS + "1",
        "AdapterRAM\n" + "AMD " * MAX_CHARS,
    ],
    ids=lambda text: text[:20],
)
def test_long_hostile_texts_are_read_in_bounds(text: str) -> None:
    assert may_be_report(text) or read_reports(text) is None
    read_or_refused(text)


def test_a_form_shows_the_machine_and_the_address_nothing_else_of_a_report() -> None:
    state = PageState().stating({"model": "Qwen/Qwen3-8B", "gpu": report("8x a100")})
    assert state.stated["gpu"] == "8x a100-sxm-80gb"
    assert "UUID" not in state.query and PageState.from_query(state.query) == state
    broken = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."
    assert PageState().stating({"gpu": broken}).stated["gpu"] == broken


def test_each_question_takes_a_report() -> None:
    text = report("rtx-4090-24gb (1234")
    sizer = embedded_sizer()
    sized = size(sizer, {"model": "Qwen/Qwen3-8B", "gpu": text})
    assert sized.ranking[0].fit.gpu.free_bytes is not None
    assert {"report_read", "report_driver"} <= {note.code for note in sized.notes}
    fields = {"model": "Qwen/Qwen3-8B", "gpu": text, "method": "qlora"}
    trained = train(sizer, TrainingRequest.from_fields(fields))
    assert "report_read" in {note.code for note in trained.notes}
    found = sizer.models_for(ModelsRequest.from_fields({"gpu": text, "models": "Qwen/Qwen3-8B"}))
    assert "report_read" in {note.code for note in found.notes}
    compared = sizer.compare(CompareRequest.from_fields({"gpus": [text, "3090"]}))
    assert [item.gpu.slug for item in compared.items] == ["rtx-4090-24gb", "rtx-3090-24gb"]
    mixed = size(sizer, {"model": "Qwen/Qwen3-8B", "gpu": report("rtx-3060-12gb (512")})
    assert mixed.rig is not None and len(mixed.rig.fit.config.machine.gpus) == 2
