"""Questions about a machine that has system memory and no GPU."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.core.units import GIB
from gpusizer.fit.machine import SYSTEM_BYTES
from gpusizer.text import say_note
from gpusizer.ui.page.answering import answer
from gpusizer.ui.page.page_state import PageState
from gpusizer.ui.presenters.answer import advice_of
from gpusizer.ui.presenters.models_for import models_for_html
from tests.asking import models_for, size
from tests.documents import written
from tests.pages import ENGLISH
from tests.sizers import embedded_sizer

QWEN, FLUX, WHISPER = "Qwen/Qwen3-8B", "black-forest-labs/FLUX.1-dev", "openai/whisper-large-v3"
RIG = "cpu only + 64gb ram"
PRICES = ("answer_price", "answer_rent", "answer_per_million")


def asked(model: str = QWEN, **fields: Any) -> Any:
    return size(embedded_sizer(), {"model": model, "rig": RIG, "top": 1, **fields})


def test_what_stays_free_is_of_the_memory_that_the_system_leaves() -> None:
    report = asked()
    free = next(note for note in report.conclusion.said if note.code == "answer_free_one")
    assert report.rig is not None and report.rig.fit.config.arranged is not None
    used = report.rig.fit.config.arranged.host.total.likely
    assert free.fields["memory_bytes"] == 64 * GIB - SYSTEM_BYTES
    assert free.fields["free_bytes"] == 64 * GIB - SYSTEM_BYTES - used
    facts = report.conclusion.facts
    assert (facts["gpu"], facts["gpu_name"], facts["count"]) == (None, "CPU", 0)
    assert facts["tokens_per_second"] is not None


@pytest.mark.parametrize("model, engine", [(FLUX, "diffusers"), (WHISPER, "vLLM")])
def test_what_llama_cpp_does_not_run_needs_a_gpu(model: str, engine: str) -> None:
    report = asked(model)
    assert report.conclusion.said[0].code == "answer_not_on_cpu"
    assert say_note(report.conclusion.said[1]).startswith(f"{engine} is planned on GPUs alone")
    data = written(report)["rig"]
    assert (data["verdict"], data["max_context"]) == ("not_supported", None)


@pytest.mark.parametrize("rig", [RIG, "3090 + 3060 + 64gb ram"])
def test_prices_of_unlike_devices_are_not_added_up(rig: str) -> None:
    """Not even as twice the price of the faster one."""
    for users in (1, 8):
        report = asked(rig=rig, concurrency=users)
        facts = report.conclusion.facts
        assert (facts["buy_usd"], facts["rent_usd_per_hour"]) == (None, None)
        said = [note.code for note in (*report.conclusion.said, *report.conclusion.weighed)]
        assert not [code for code in said if code.startswith(PRICES)]


@pytest.mark.parametrize("ram, gib", [("", None), (" + 64gb ram", 64), (" + 6gb ram", 6)])
def test_a_page_says_what_is_missing_of_a_machine_without_a_gpu(ram: str, gib: int | None) -> None:
    """Without its memory, how much the model needs; with it a verdict."""
    result = answer(embedded_sizer(), PageState(QWEN, {"gpu": f"CPU only{ram}"}))
    advice = advice_of(result, ENGLISH)
    values = {figure.name: figure.value for figure in advice.figures}
    need = re.search(r"[\d.]+ GiB", advice.headline.sentence)
    assert isinstance(result.own, Conclusion)
    if gib is None:
        assert need and "RAM" in advice.headline.sentence and advice.headline.tone == ""
        assert values["Memory needed"] == need[0] and "Memory" not in values
        (missing, *_) = result.own.said
        assert missing.code == "answer_ram_unknown" and need[0] in say_note(missing)
        assert "free_bytes" not in {name for note in result.own.said for name in note.fields}
    else:
        assert values["Memory"].endswith(ENGLISH.amount(gib * GIB - SYSTEM_BYTES))
    if advice.start is not None:
        assert re.search(r"-ngl 0\b", advice.start.start.line.text)


def test_models_that_a_cpu_runs_are_not_said_to_be_on_a_gpu() -> None:
    found = models_for(embedded_sizer(), {"gpu": RIG})
    assert found.rows and {row.runs.how for row in found.rows} == {"cpu"}
    # without an amount nothing is known, which is not "none of the models"
    unknown = models_for(embedded_sizer(), {"gpu": "cpu only"})
    assert [note.code for note in unknown.conclusion.said] == ["answer_runs_in_ram"]
    assert ENGLISH("reverse.nothing") not in models_for_html(unknown, ENGLISH)


def test_on_unlike_cards_the_fullest_is_named() -> None:
    said = [note.code for note in asked(rig="3090 + 3060").conclusion.said]
    assert "answer_free_fullest" in said and "answer_free_each" not in said


@pytest.mark.parametrize(
    ("gpu", "heading"),
    [
        ("gtx 1660 super", "answer_sure_change"),  # tight: all of it is on the GPU
        ("jetson orin nano 8gb", "answer_fitting_change"),
    ],
)
def test_changes_are_not_to_bring_to_the_gpu_what_is_there_or_nowhere(
    gpu: str, heading: str
) -> None:
    weighed = size(embedded_sizer(), {"model": QWEN, "gpu": gpu}).conclusion.weighed
    assert [n.code for n in weighed if n.code.endswith("_change")] == [heading]
