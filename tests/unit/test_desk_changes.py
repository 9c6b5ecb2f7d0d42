"""The smallest change that lets all models of a desk stay loaded."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from gpusizer.advice.desk import changes
from gpusizer.advice.desk.changes import most_boards_more, smallest_change
from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.study import Study
from gpusizer.text import say_note
from gpusizer.usecases.desk import Desk
from tests.desks import (
    LARGE,
    MEDIUM,
    SMALL,
    TINY,
    answered,
    placed,
)


@pytest.mark.parametrize(
    ("models", "gpu", "kind"),
    [
        ((f"{SMALL} context=16384 quant=q8_0", TINY), "3060", "quant"),
        ((f"{SMALL} context=40960", TINY), "3060", "context"),
        ((f"{SMALL} quant=q8_0", f"{SMALL} quant=q8_0"), "3060", "gpu"),
    ],
)
def test_the_smallest_change_works_when_it_is_made(
    models: tuple[str, ...], gpu: str, kind: str
) -> None:
    found = placed(*models, gpu=gpu)
    change, changed = found.change, list(models)
    assert not found.placing.all_stay and change is not None and change.kind == kind
    if change.number is None:
        gpu = f"{1 + int(change.value)}x {gpu}"
    else:
        line = re.sub(rf" {kind}=\S+", "", changed[change.number])
        changed[change.number] = f"{line} {kind}={change.value}"
    assert placed(*changed, gpu=gpu).placing.all_stay


CROWDED = (f"{SMALL} quant=q8_0",) * 2


def searched(found: Desk, wider: Sequence[Study] = ()) -> str:
    """Return the outcome of looking for a change again."""
    choices = [model.choices for model in found.models]
    return smallest_change(found.machine, choices, wider).outcome


def test_only_a_change_whose_placing_keeps_all_is_suggested(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = placed(*CROWDED, gpu="3060")
    assert searched(found) == "found"
    monkeypatch.setattr(changes, "place_all", lambda *_: found.placing)  # cut short
    assert searched(found) == "cut_short"


def test_a_search_that_is_cut_short_denies_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    found = placed(*CROWDED, gpu="3060")
    for can_stay, outcome in ((False, "none_helps"), (None, "cut_short")):
        monkeypatch.setattr(changes, "all_can_stay", lambda *_, known=can_stay: known)
        assert searched(found) == outcome


def test_a_search_whose_time_is_spent_denies_no_change() -> None:
    found = placed(*CROWDED, gpu="3060")
    late = found.models[0].question.study.with_workload()
    late.budget = TimeBudget(-1, lambda: 0.0)
    assert searched(found, [late]) == "cut_short"


def test_the_answer_says_what_is_known_of_changes() -> None:
    said = [
        answered(*models, gpu=gpu)["change_search"]
        for models, gpu in ((CROWDED, "3060"), (CROWDED, "3090"), ((LARGE,), "3060"))
    ]
    assert said == ["found", "not_needed", "none_helps"]


@pytest.mark.parametrize(
    ("gpu", "more"),
    [
        ("3060", 2),
        ("7x 3060", 1),
        ("8x 3060", 0),
        ("H100 SXM", 2),
        ("4x K80", 0),
        ("3x K80", 1),
        ("RTX 4090 Laptop", 0),
        ("M4 Pro 24GB", 0),
        ("DGX Spark", 0),
        ("GH200 96GB", 0),
        ("64 GB RAM", 0),
    ],
)
def test_boards_are_only_added_where_one_can_plug_them_in(gpu: str, more: int) -> None:
    assert most_boards_more(placed(TINY, gpu=gpu).machine) == more


def test_two_laptops_or_a_mac_are_told_of_no_further_gpu() -> None:
    """One more laptop GPU was suggested: as a card of 16 GB it would have been enough."""
    models = (f"{MEDIUM} quant=q4_k_m", f"{MEDIUM} quant=q4_k_m")
    card, laptop, mac = (
        placed(*models, gpu=gpu) for gpu in ("5060 Ti 16GB", "RTX 4090 Laptop", "M4 Pro 24GB")
    )
    assert card.change is not None and card.change.kind == "gpu"
    for found in (laptop, mac):
        assert found.change is None and not found.placing.all_stay
        said = found.conclusion.sentence(say_note)
        assert "No single change" in said and "more GPU" not in said


def test_a_board_more_has_all_its_devices() -> None:
    """An Arc Pro B60 Dual is one board with two devices of 24 GB."""
    models = [f"{MEDIUM} quant=q8_0"] * 4
    found = placed(*models, gpu="Arc Pro B60 Dual")
    assert found.change is not None and found.change.note.fields["count"] == 1
    assert placed(*models, gpu="2x Arc Pro B60 Dual").placing.all_stay
