"""NVIDIA's virtual GPUs as cards: names, frame buffers, what the driver reserves."""

from __future__ import annotations

from typing import Any

import pytest

from gpusizer.core.errors import InvalidRequest, UnknownGpu
from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.core.units import GIB, MIB
from gpusizer.gpus import load_catalogue
from gpusizer.gpus.reports.reading import read_reports
from gpusizer.gpus.user_gpus import UserGpus
from gpusizer.gpus.vgpu import named_vgpu_gb, vgpu_named
from gpusizer.text import LANGUAGES, say_error, say_note
from gpusizer.usecases.requests.request import SizeRequest
from tests.asking import size
from tests.sizers import embedded_sizer

CATALOGUE = load_catalogue()
CARDS = UserGpus(CATALOGUE)
NVIDIA_SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NVIDIA A16-16Q                 On  |   00000000:06:00.0 Off |                    0 |
| N/A   N/A    P0             N/A /  N/A  |       1MiB /  16384MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
"""


@pytest.mark.parametrize(
    ("text", "slug", "mib"),
    [
        ("A16-16Q", "a16-16q", 16_384 - 1024 - 16 - 1024),  # GDDR6 with ECC
        ("NVIDIA A16-8Q", "a16-8q", 8192 - 512 - 16 - 512),
        ("L40S-24Q", "l40s-24q", 24_576 - 1536 - 16 - 1536),
        ("GRID A100D-40C", "a100d-40c", 40_960 - 2560 - 16),  # HBM2e
        ("rtx a6000-12c", "rtxa6000-12c", 12_288 - 768 - 16 - 768),
        ("RTX 6000 Ada-24C", "rtx-6000-ada-24c", 24_576 - 1536 - 16 - 1536),
        ("H100L-94C", "h100l-94c", 96_246 - 6015 - 16),
    ],
)
def test_a_type_has_its_frame_buffer_less_what_is_reserved(text: str, slug: str, mib: int) -> None:
    gpu = CARDS.find(text)
    assert (gpu.slug, gpu.memory_bytes, gpu.devices_per_board) == (slug, mib * MIB, 1)
    assert CARDS.find(gpu.slug) == gpu
    assert (gpu.street, gpu.rent, gpu.nvlink) == (None, None, False)


def test_time_slices_have_the_rates_of_one_physical_gpu() -> None:
    whole, part = CARDS.find("L40S"), CARDS.find("L40S-12Q")
    assert part.bandwidth_bytes_per_second == whole.bandwidth_bytes_per_second
    assert (part.bf16_flops, part.compute_units) == (whole.bf16_flops, whole.compute_units)
    board, quarter = CARDS.find("A16"), CARDS.find("A16-4Q")
    assert board.devices_per_board == 4
    assert quarter.bandwidth_bytes_per_second == (board.bandwidth_bytes_per_second or 0) / 4
    assert quarter.bf16_flops == (board.bf16_flops or 0) / 4


def test_a_type_with_slices_is_an_instance_of_mig() -> None:
    gpu, instance = CARDS.find("A100D-4-40C"), CARDS.find("a100-pcie-80gb MIG 4g.40gb")
    assert (gpu.slug, gpu.name) == ("a100d-4-40c", "A100 PCIe 80GB vGPU A100D-4-40C")
    assert gpu.memory_bytes == instance.memory_bytes
    assert gpu.bandwidth_bytes_per_second == instance.bandwidth_bytes_per_second
    assert gpu.bf16_flops == instance.bf16_flops


def test_an_instance_with_media_engines_is_read() -> None:
    gpu, instance = CARDS.find("A100D-1-10CME"), CARDS.find("A100D-1-10C")
    assert (gpu.slug, gpu.memory_bytes) == ("a100d-1-10cme", instance.memory_bytes)
    assert CARDS.find(gpu.slug) == gpu


@pytest.mark.parametrize(
    ("text", "reason", "near"),
    [
        ("L40S-20Q", "no_vgpu_type", "48, 24, 16"),
        ("A100D-5-40C", "no_mig_profile", "4g.40gb"),
        ("V100-16C", "no_vgpu_card", "V100X (16, 8, 4 GB)"),
        ("V100DX-32C", "no_vgpu_card", "V100X (16, 8, 4 GB)"),
        ("A2-16C", "no_vgpu_card", "L2 (24, 12, 8, 6, 4 GB)"),
        ("RTX 4090-24Q", "no_vgpu_card", "GB"),
    ],
)
def test_a_size_that_the_table_lacks_is_refused_with_those_it_has(
    text: str, reason: str, near: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        CARDS.find(text)
    assert refused.value.fields["reason"] == reason
    for language in LANGUAGES:
        assert near in say_error(refused.value, language)


@pytest.mark.parametrize(
    "text", ["", "-24Q", "XYZ-24Q", "A16-16B", "A16 16Q", "A16-16QME", "A16-16Q" * 20]
)
def test_other_texts_name_no_type(text: str) -> None:
    assert vgpu_named(text) is None


def test_cards_of_strangers_are_none() -> None:
    with pytest.raises(UnknownGpu):
        CATALOGUE.find("A16-16Q")


def row(row: TableRow) -> tuple[str, str, list[int]]:
    buffers = [int(mib) for mib in row.text("frame_buffers_mib").split(";")]
    return row.text("type"), row.text("gpu"), buffers


def test_the_table_names_cards_and_sizes_that_differ() -> None:
    rows = read_table(DATA_DIR / "vgpu_types.csv", row)
    assert len({kind for kind, *_ in rows}) == len(rows) >= 30
    for kind, slug, buffers in rows:
        gpu = CATALOGUE.find(slug)
        assert buffers == sorted(set(buffers), reverse=True)
        assert buffers[0] * MIB <= 1.12 * gpu.device_memory_bytes, "ECC takes a sixteenth"
        for mib in buffers:
            assert vgpu_named(f"{kind}-{round(mib / 1024)}C") is not None


def test_nvidia_smi_in_a_virtual_machine_names_its_type() -> None:
    report = read_reports(NVIDIA_SMI, CATALOGUE)
    assert report is not None and "A16-16Q" in report.text
    fields: dict[str, Any] = {"model": "Qwen/Qwen3-8B", "gpu": NVIDIA_SMI}
    gpu = size(embedded_sizer(), fields).ranking[0].fit.gpu
    assert gpu.slug == "a16-16q" and gpu.memory_bytes < 14 * GIB


@pytest.mark.parametrize(
    ("text", "machine", "is_unknown"),
    [
        (NVIDIA_SMI.replace("A16-16Q", "A16-2Q ").replace("16384MiB", " 2048MiB"), "2048MiB", True),
        (NVIDIA_SMI.replace("A16-16Q", "V100-16C"), "custom:16384MiB@CUDA", True),
        ("GPU 0: NVIDIA A16-2Q (UUID: GPU-b2c3)", "custom:2048MiB@CUDA", True),
        ("GPU 0: GRID T4-8Q (UUID: GPU-b2c3)", "T4-8Q", False),
    ],
)
def test_a_report_counts_by_its_memory_where_the_table_lacks_the_type(
    text: str, machine: str, is_unknown: bool
) -> None:
    report = read_reports(text, CATALOGUE)
    assert report is not None and machine in report.text
    assert ("report_unknown_card" in {note.code for note in report.notes}) is is_unknown
    assert SizeRequest.from_fields({"model": "a/b", "gpu": text}).gpus == (report.text,)


def test_no_other_card_has_such_a_name() -> None:
    for gpu in CATALOGUE.gpus:
        assert {named_vgpu_gb(name) for name in (gpu.slug, gpu.name, *gpu.aliases)} <= {None}


def test_an_answer_says_that_time_is_shared() -> None:
    place = size(embedded_sizer(), {"model": "Qwen/Qwen3-8B", "gpu": "2x L40S-24Q"}).ranking[0]
    (note,) = [note for note in place.reasons if note.code == "vgpu_slice"]
    assert note.fields["buffer_bytes"] == 24 * GIB
    assert len({say_note(note, language) for language in LANGUAGES}) == 3
    assert place.fit.count == 2
