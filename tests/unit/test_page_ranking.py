"""The page's ranking: its first GPUs by few searches, every GPU on request, and its tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from gpusizer.advice import candidates
from gpusizer.fit import preference
from gpusizer.ui.page.answering import Reports, answer, report_of
from gpusizer.ui.page.asked import FormCall, PageEvent
from gpusizer.ui.page.page_state import ALL_ROWS, PageState
from gpusizer.ui.server.reading import RANKED
from gpusizer.usecases.sizer import Sizer
from tests.pages import page_handlers
from tests.sizers import embedded_sizer

MODEL, FLUX = "Qwen/Qwen3-8B", "black-forest-labs/FLUX.1-dev"
SIZER = embedded_sizer()
_MOST_SEARCHES = 350


SMALL = ["BAAI/bge-large-en-v1.5", "openai/whisper-large-v3", "Qwen/Qwen3-0.6B"]
LARGE = ["Qwen/Qwen3-32B", "openai/gpt-oss-120b", "deepseek-ai/DeepSeek-V3", FLUX]


@pytest.mark.parametrize("model", [*SMALL, MODEL, *LARGE])
def test_an_answer_takes_few_searches(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """GPUs that are not on offer, and those the audience is never offered, come after the rest."""
    searched: list[str] = []

    def counting(search: Any) -> Any:
        def counted(*args: Any, **options: Any) -> object:
            searched.append(search.__name__)
            return search(*args, **options)

        return counted

    monkeypatch.setattr(preference, "choose", counting(preference.choose))
    fastest = counting(candidates.fastest_on_boards)
    monkeypatch.setattr(candidates, "fastest_on_boards", fastest)
    forgetful = Sizer(SIZER.fetch, SIZER.catalogue, library=SIZER.library)
    shown = answer(forgetful, PageState(model))
    assert len(shown.report.ranking) == RANKED
    assert {"choose", "fastest_on_boards"} == set(searched)
    assert len(searched) <= _MOST_SEARCHES


@pytest.mark.parametrize("users", ["1", "16"])
@pytest.mark.parametrize("rank_by", ["recommended", "cheapest"])
@pytest.mark.parametrize("model", [SMALL[1], MODEL, LARGE[1]])
def test_the_first_gpus_are_those_of_the_whole_ranking(
    model: str, rank_by: str, users: str
) -> None:
    state = PageState(model, {"concurrency": users}, rank_by=rank_by)
    first, every = report_of(SIZER, state), report_of(SIZER, replace(state, rows=ALL_ROWS))
    assert RANKED == len(first.ranking) <= len(every.ranking)
    assert every.ranking[:RANKED] == first.ranking
    cards = [[one.item.fit for one in report.alternatives] for report in (first, every)]
    assert cards[0] == cards[1]
    assert every.notes == first.notes


def test_every_gpu_is_listed_on_request() -> None:
    handlers, state = page_handlers(), PageState(MODEL, gpus=("4090",))
    *_, shown = handlers.ask(FormCall(state.form, state.query, (PageEvent("rows", ALL_ROWS),)))
    assert set(shown) == {"ranking", "ranked", "query"}
    assert len(shown["ranked"]["value"]["data"]) > 300
    asked = PageState.from_query(str(shown["query"]))
    assert asked.rows == ALL_ROWS and asked.about_no_place == state.about_no_place
    *_, ordered = handlers.ask(FormCall(state.form, asked.query, (PageEvent("rank", "fastest"),)))
    assert len(ordered["ranked"]["value"]["data"]) > 300


@pytest.mark.parametrize("rows", ["", "x", "ALL", "all, all"])
def test_other_values_of_an_address_list_the_first(rows: str) -> None:
    state = PageState.from_query(f"model={MODEL}&rows={rows}")
    assert len(report_of(SIZER, state, Reports()).ranking) == RANKED


def named(model: str, kind: str) -> Sequence[str]:
    return [
        tier.best[kind].fit.gpu.slug
        for tier in answer(SIZER, PageState(model)).tiers
        if kind in tier.best
    ]


@pytest.mark.parametrize("model", [MODEL, "openai/whisper-large-v3"])
def test_tiles_name_no_laptop_as_a_workstation(model: str) -> None:
    boards = named(model, "server")
    assert len(boards) >= 2 and not any("laptop" in slug for slug in boards)


def test_tiles_name_what_one_person_is_offered() -> None:
    """A mining card of 8 GB holds 4 bits, too, but guides name 12 GB and more, for sale today."""
    assert named(MODEL, "desktop")[-1] == "rtx-3080-ti-12gb"


def test_usual_cards_are_named_from_any_place() -> None:
    """The Mac is behind the first places, and no card of the list is where it does not run."""
    shown = answer(SIZER, PageState(MODEL))
    assert "apple-m3-max-128gb" not in {item.fit.gpu.slug for item in shown.report.ranking}
    assert [item.fit.gpu.slug for item in shown.usual] == [
        "rtx-3060-12gb",
        "rtx-4090-24gb",
        "apple-m3-max-128gb",
    ]
    large = answer(SIZER, PageState("openai/gpt-oss-120b"))
    assert [item.fit.gpu.slug for item in large.usual] == ["apple-m3-max-128gb"]
    narrow = answer(SIZER, PageState(MODEL, {"vendor": "AMD"}))
    assert narrow.usual == ()
