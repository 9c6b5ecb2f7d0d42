"""Models that a machine reads from its disk: listed where asked for, last, with their speed."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from gpusizer.answers.models_for.models_answer import ModelsFor
from gpusizer.cli.models import models_text
from gpusizer.core.units import GB
from gpusizer.fit.fit import Verdict
from gpusizer.text import LANGUAGES, say_note
from gpusizer.ui.presenters.models_for import columns
from gpusizer.ui.presenters.words import Words
from tests.asking import models_for
from tests.pages import column_of
from tests.sizers import embedded_sizer

LARGE = "deepseek-ai/DeepSeek-R1"
SMALL = "Qwen/Qwen3-8B"
MACHINE = "3090 + 64gb ram"


@cache
def answer(rig: str = MACHINE, *, named: bool = True, **fields: Any) -> ModelsFor:
    models = {"models": [LARGE, SMALL]} if named else {}
    return models_for(embedded_sizer(), {"gpu": rig, "top": 0, **models, **fields})


def codes(given: ModelsFor) -> set[str]:
    return {note.code for note in given.notes}


def test_what_fits_no_memory_is_left_out_unless_asked_for() -> None:
    assert [runs.profile.repo_id for runs in answer().found] == [SMALL]
    assert "from_disk_left_out" in codes(answer())
    small, large = answer(from_disk=True).found
    assert (small.profile.repo_id, small.verdict) == (SMALL, Verdict.FITS)
    assert (large.profile.repo_id, large.verdict) == (LARGE, Verdict.FROM_DISK)
    assert not codes(answer(from_disk=True)) & {"from_disk_left_out", "from_disk_needs_ram"}


def test_its_speed_is_that_of_the_disk() -> None:
    """R1 in the fewest bits of the quantizations that people use, on a disk of 7 GB/s."""
    rows = {rate: answer(from_disk=True, disk_gb_per_s=rate).rows[1] for rate in (3.5, 7)}
    slow, fast = (row.runs.most_tokens_per_second for row in rows.values())
    assert slow is not None and fast is not None
    assert fast == pytest.approx(2 * slow, rel=0.01)
    row = answer(from_disk=True, disk_gb_per_s=7).to_json(say_note)["models"][1]
    assert row["verdict"] == "from_disk"
    assert row["decode_tokens_per_second"]["high"] < row["disk"]["most_tokens_per_second"]
    assert row["disk"]["most_tokens_per_second"] == pytest.approx(
        7 * GB / row["disk"]["bytes_per_token"], rel=0.005
    )
    assert row["quant"] == "q4_k_m"


def test_it_is_said_in_shell_and_page() -> None:
    given = answer(from_disk=True)
    most = given.rows[1].runs.most_tokens_per_second
    assert f"at most {most:g}" in models_text(given)
    for language in LANGUAGES:
        write = column_of(columns(""), "speed").write
        cells = [write(row, Words(language)) for row in given.rows]
        assert [cell.startswith("≤") for cell in cells] == [False, True]


def test_the_whole_list_ends_with_it() -> None:
    """Every model that stays in memory is listed as before, in the same order."""
    plain, disk = answer(named=False), answer(named=False, from_disk=True)
    before = [runs.profile.repo_id for family in plain.families for runs in [family.head]]
    after = [family.head for family in disk.families]
    assert [runs.profile.repo_id for runs in after[: len(before)]] == before
    assert len(after) > len(before)
    assert {runs.verdict for runs in after[len(before) :]} == {Verdict.FROM_DISK}


@pytest.mark.parametrize("rig", ["3090", "2x3090"])
def test_without_the_size_of_system_memory_nothing_is_listed(rig: str) -> None:
    given = answer(rig, from_disk=True)
    assert [runs.profile.repo_id for runs in given.found] == [SMALL]
    assert "from_disk_needs_ram" in codes(given)
    assert "from_disk_left_out" not in codes(answer(rig))
    for note in given.notes:
        assert all(say_note(note, language) for language in LANGUAGES)


def test_ollama_reads_nothing_from_the_disk() -> None:
    assert [r.verdict for r in answer(from_disk=True, engine="ollama").found] == [Verdict.FITS]
