"""Purposes of GPUs: thresholds give the guides' verdicts, without rules for single cards."""

from __future__ import annotations

from dataclasses import replace

from gpusizer.answers.json_shapes import document
from gpusizer.gpus import Gpu, load_catalogue
from gpusizer.gpus.purpose import Criterion, purpose_of, training_flops
from gpusizer.text import say_note
from tests.each import each

CATALOGUE = load_catalogue()

VERDICTS = {
    "h100": ("training", "several_boards", "large"),
    "a100": ("training", "several_boards", "large"),
    "a100 40gb": ("training", "several_boards", "general"),
    "v100": ("training", "several_boards", "light"),
    "mi300x": ("training", "several_boards", "large"),
    "h20": ("inference", "workstation", "large"),
    "a6000": ("inference", "workstation", "general"),
    "3090": ("inference", "workstation", "general"),
    "l40s": ("inference", "one_board", "general"),
    "4090": ("inference", "one_board", "general"),
    "a4000": ("light_inference", "none", "light"),
    "rtx 4000": ("light_inference", "none", "light"),
    "l4": ("light_inference", "none", "light"),
    "m2 ultra 192gb": ("inference", "none", "general"),
    "p6000": ("neither", "none", "none"),
    "1080 ti": ("neither", "none", "none"),
    "mi350p": ("unknown", None, None),
}


@each("gpu, verdict", VERDICTS.items())
def test_verdicts(gpu: str, verdict: tuple[str, str | None, str | None]) -> None:
    purpose = purpose_of(CATALOGUE.find(gpu))
    assert (purpose.label, purpose.training, purpose.inference) == verdict


def criterion(gpu: str, level: str, name: str) -> Criterion:
    criteria = purpose_of(CATALOGUE.find(gpu)).criteria
    return next(item for item in criteria if (item.level, item.name) == (level, name))


@each(
    "gpu, level, name, value, met",
    [
        ("h100", "training.several_boards", "matrix_rate", 989.4, True),
        ("h100", "training.several_boards", "fabric", 900.0, True),
        ("a6000", "training.several_boards", "fabric", 112.5, False),
        ("a6000", "training.workstation", "fabric", 112.5, True),
        ("l40s", "training.workstation", "fabric", 0.0, False),
        ("h20", "training.several_boards", "compute_per_byte", 37.0, False),
        ("p6000", "inference.light", "fast_16_bit", 0.0, False),
        ("l4", "efficiency", "efficiency", 1.68, True),
        ("mi350p", "training.several_boards", "matrix_rate", None, None),
    ],
)
def test_figures_that_decide(
    gpu: str, level: str, name: str, value: float | None, met: bool | None
) -> None:
    """Dense rates and fabrics of the data sheets; H20 is 148 TFLOPS over 4,000 GB/s."""
    result = criterion(gpu, level, name)
    assert (result.value, result.met) == (value, met)


def test_sparse_and_fp16_accumulate_rates_do_not_count() -> None:
    """The 4090's 330 TFLOPS accumulate in FP16; training gets 165."""
    assert training_flops(CATALOGUE.find("4090")) == 165.2e12
    assert training_flops(CATALOGUE.find("p6000")) == 0.0
    assert training_flops(CATALOGUE.find("mi350p")) is None


def test_a_card_is_classified_by_its_figures_not_its_name() -> None:
    bridged = replace(
        CATALOGUE.find("l40s"), interconnect="NVLink", interconnect_bytes_per_second=600e9
    )
    assert purpose_of(bridged).label == "training"
    slow = replace(CATALOGUE.find("h100"), interconnect="", interconnect_bytes_per_second=None)
    assert purpose_of(slow).label == "inference"


def test_notes_name_missing_features_of_a_card() -> None:
    codes = [note.code for note in purpose_of(CATALOGUE.find("a6000")).notes()]
    assert codes == ["purpose_inference", "purpose_also_workstation", "purpose_lacks_fabric"]
    assert [note.code for note in purpose_of(CATALOGUE.find("p6000")).notes()] == [
        "purpose_neither",
        "purpose_lacks_fast_16_bit",
    ]
    efficient = purpose_of(CATALOGUE.find("l4")).notes()[1]
    assert (efficient.code, efficient.fields) == ("purpose_efficient", {"value": 1.68})


@each("gpu", CATALOGUE.gpus)
def test_a_purpose_has_json_and_a_sentence(gpu: Gpu) -> None:
    purpose = purpose_of(gpu)
    assert document(purpose, say_note)["label"] == purpose.label
    assert purpose.notes()[0].code == f"purpose_{purpose.label}"
