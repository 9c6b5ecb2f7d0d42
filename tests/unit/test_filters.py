"""Filters of GPUs, and what a GPU is good for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpusizer.core.errors import InvalidRequest
from gpusizer.fit.filters import GpuFilter, most_boards, narrowed
from gpusizer.gpus import Gpu, Price, load_catalogue
from gpusizer.gpus.costs import rental_quote
from gpusizer.gpus.purpose import Criterion, purpose_of, training_flops
from gpusizer.text import say_note
from gpusizer.usecases.report import Report
from tests.asking import size
from tests.sizers import embedded_sizer

CATALOGUE = load_catalogue()
SIZER = embedded_sizer()


def report(**fields: Any) -> Report:
    return size(SIZER, {"model": "meta-llama/Llama-3.3-70B-Instruct", "top": 0, **fields})


def remaining(**groups: Any) -> list[Gpu]:
    return list(narrowed(CATALOGUE, GpuFilter(**groups)).gpus)


def test_each_filter_selects_its_gpus() -> None:
    assert {gpu.vendor for gpu in remaining(vendors=("amd", "Intel"))} == {"AMD", "Intel"}
    assert {gpu.segment for gpu in remaining(segments=("workstation",))} == {"workstation"}
    assert {gpu.software for gpu in remaining(software=("cann", "DTK"))} == {
        "CANN",
        "DTK (ROCm-like)",
    }
    assert {gpu.status for gpu in remaining(statuses=("in_production",))} == {
        "current",
        "export-only",
    }
    assert {gpu.status for gpu in remaining(statuses=("in_production", "eol"))} == {
        "current",
        "export-only",
        "eol",
    }
    rentable = remaining(rentable=True)
    assert all(rental_quote(gpu) is not None for gpu in rentable)
    assert len(rentable) + len(remaining(rentable=False)) == len(CATALOGUE.gpus)
    assert {gpu.slug for gpu in remaining(vendors=("NVIDIA",), software=("metal",))} == set()


def test_no_filter_is_the_catalogue_itself_and_filtered_ones_are_kept() -> None:
    assert narrowed(CATALOGUE, GpuFilter()) is CATALOGUE
    once = narrowed(CATALOGUE, GpuFilter(vendors=("AMD",)))
    assert narrowed(CATALOGUE, GpuFilter(vendors=("AMD",))) is once


@pytest.mark.parametrize(
    "limits, boards",
    [
        ({"max_usd": 2200}, 1),
        ({"max_usd": 2199}, 0),
        ({"max_usd": 9000}, 4),
        ({"max_usd_per_hour": 1.6}, 3),
        ({"max_usd_per_hour": 3.57}, 7),
        ({"max_watts": 1000}, 2),
        ({"max_usd": 9000, "max_watts": 1000}, 2),
    ],
)
def test_boards_within_limits(limits: dict[str, float], boards: int) -> None:
    """An RTX 4090 at $2,200, $0.51/h, 450 W."""
    price = Price(2200.0, "street", "somewhere", "2026", "used")
    card = replace(CATALOGUE.find("4090"), street=price)
    assert most_boards(card, GpuFilter(**limits)) == boards


def test_a_figure_that_is_unknown_leaves_a_card_out() -> None:
    unpriced_card = replace(CATALOGUE.find("L40S"), street=None)
    assert most_boards(unpriced_card, GpuFilter(max_usd=1e6)) is None
    assert most_boards(unpriced_card, GpuFilter(max_watts=700)) == 2
    estimated = CATALOGUE.find("A10G")
    assert estimated.similar is not None and most_boards(estimated, GpuFilter(max_usd=1e6)) is None
    filtered = report(vendor="NVIDIA", max_usd=1e6)
    unpriced = [gpu for gpu in remaining(vendors=("NVIDIA",)) if gpu.buy_usd is None]
    assert [(n.code, dict(n.fields)) for n in filtered.notes] == [
        ("unknown_figures_left_out", {"count": len(unpriced)})
    ]
    assert all(item.costs.buy_usd is not None for item in filtered.ranking)


@pytest.mark.parametrize("field", ["max_usd", "max_usd_per_hour", "max_watts"])
def test_limits_hold_for_all_boards_together(field: str) -> None:
    limit = {"max_usd": 6000.0, "max_usd_per_hour": 4.0, "max_watts": 900.0}[field]
    filtered = report(**{field: limit})
    figures = {
        "max_usd": [item.costs.buy_usd for item in filtered.ranking],
        "max_usd_per_hour": [item.costs.rent_usd_per_hour for item in filtered.ranking],
        "max_watts": [item.power_watts for item in filtered.ranking],
    }[field]
    assert figures and all(figure is not None and figure <= limit for figure in figures)
    assert any(item.fit.count > 1 for item in filtered.ranking)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"vendor": "Apple", "software": "CUDA"}, "no_gpu_passes_filters"),
        ({"segment": "embedded", "max_watts": 30}, "filtered_gpus_do_not_run_it"),
    ],
)
def test_an_emptied_ranking_says_which_filter_emptied_it(fields: dict[str, Any], code: str) -> None:
    filtered = report(**fields)
    assert filtered.ranking == () and filtered.estimates
    assert filtered.notes[0].code == code
    assert say_note(filtered.notes[0], "zh") and say_note(filtered.notes[0], "pt")


def test_named_gpus_are_answered_despite_filters() -> None:
    filtered = report(gpu="4090", vendor="AMD")
    assert filtered.ranking[0].fit.gpu.slug == "rtx-4090-24gb"
    assert [note.code for note in filtered.notes] == ["filters_not_applied"]


@pytest.mark.parametrize(
    "field, value", [("vendor", "Voodoo"), ("segment", "toaster"), ("software", "DirectX")]
)
def test_groups_that_the_catalogue_lacks_name_their_field(field: str, value: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        report(**{field: value})
    assert (caught.value.fields["field"], caught.value.fields["reason"]) == (field, "not_one_of")


@given(st.sampled_from(CATALOGUE.gpus), st.floats(1, 1e6), st.floats(1, 1e5))
@example(CATALOGUE.find("rx-6750-xt-12gb"), 13725.0, 6249.999999999985)
def test_one_board_more_would_break_a_limit(gpu: Gpu, usd: float, watts: float) -> None:
    boards = most_boards(gpu, GpuFilter(max_usd=usd, max_watts=watts))
    if boards is None:
        assert gpu.buy_usd is None or gpu.power_watts is None
        return
    assert gpu.buy_usd is not None and gpu.power_watts is not None
    # Limits allow for rounding errors of a billionth of one board.
    allowed = 1 + 2e-9
    assert boards * gpu.buy_usd <= usd * allowed and boards * gpu.power_watts <= watts * allowed
    assert (boards + 1) * gpu.buy_usd > usd or (boards + 1) * gpu.power_watts > watts


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


@pytest.mark.parametrize("gpu, verdict", VERDICTS.items())
def test_verdicts(gpu: str, verdict: tuple[str, str | None, str | None]) -> None:
    purpose = purpose_of(CATALOGUE.find(gpu))
    assert (purpose.label, purpose.training, purpose.inference) == verdict


def criterion(gpu: str, level: str, name: str) -> Criterion:
    criteria = purpose_of(CATALOGUE.find(gpu)).criteria
    return next(item for item in criteria if (item.level, item.name) == (level, name))


@pytest.mark.parametrize(
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


def test_criteria_of_memory_count_gib() -> None:
    """A card like an RTX 4090 is general from 22 GiB on; 22 GB are 20.5 GiB."""
    for memory_bytes, use in ((22 * 2**30, "general"), (22 * 10**9, "light")):
        card = replace(CATALOGUE.find("rtx-4090-24gb"), memory_bytes=memory_bytes)
        assert purpose_of(card).inference == use
