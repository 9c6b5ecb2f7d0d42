"""The Hub's leaderboard beside the boards that order: shown, marked, and without effect."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from gpusizer.cli.summary import models_summary
from gpusizer.core.errors import HubUnreachable
from gpusizer.hub.leaderboards import Leaderboard, LeaderboardEntry, ListLeaderboard
from gpusizer.hub.listed_models import Listing
from gpusizer.hub.published_results import StatedBy
from gpusizer.quality.boards import LEADING, ScoreBoards
from gpusizer.quality.hub_boards import hub_benchmarks, hub_board
from gpusizer.text import LANGUAGES, Language
from gpusizer.ui.presenters.model_scores import quality_cell
from gpusizer.ui.presenters.models_for import models_for_html
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.usecases.models_for.by_purpose import credited
from gpusizer.usecases.models_for.model_library import ModelLibrary
from gpusizer.usecases.models_for.models_answer import ModelsFor
from gpusizer.usecases.sizer import Sizer
from tests.asking import models_for
from tests.documents import written
from tests.sizers import embedded_sizer
from tests.unit.test_models_by_purpose import LARGE, SMALL, boards_of, ids, score

DAY = date(2026, 11, 20)
ENGLISH = Words("en")


def entry(repo_id: str, value: float, by: StatedBy = "maker", notes: str = "") -> LeaderboardEntry:
    return LeaderboardEntry(repo_id, value, by, notes or None)


def reading(*entries: LeaderboardEntry) -> ListLeaderboard:
    return lambda dataset_id: Leaderboard(entries, DAY)


def away(dataset_id: str) -> Leaderboard:
    raise HubUnreachable(repo_id=dataset_id, reason="timeout")


def ask(leaderboards: ListLeaderboard | None, **fields: Any) -> ModelsFor:
    """Return an answer with the Hub's listing and one leading score."""
    base = embedded_sizer()
    boards = boards_of(score(LEADING["code"], LARGE, 1), score(LEADING["code"], "org/x", 0))
    library = ModelLibrary(
        None,
        lambda: base.library.uses,
        lambda: Listing((), DAY),
        lambda: boards,
        leaderboards,
    )
    library.candidates = base.library.candidates
    sizer = Sizer(base.fetch, base.catalogue, library=library, new_budget=base.new_budget)
    return models_for(sizer, {"gpu": "4090", "purpose": "code", "top": 0, "live": True, **fields})


def test_it_orders_nothing() -> None:
    with_it = ask(reading(entry(SMALL, 99), entry(LARGE, 1)))
    assert ids(with_it) == ids(ask(None))
    assert [why for _, why in with_it.picked] == [why for _, why in ask(None).picked]


def test_json_says_who_reports_each() -> None:
    data = written(ask(reading(entry(SMALL, 74, notes="With tools"), entry(LARGE, 60, "verified"))))
    board = data["purpose"]["hub"]
    benchmark = hub_benchmarks()["code"]
    assert (board["board"], board["date"]) == (benchmark.dataset_id, "2026-11-20")
    assert board["source_url"] == f"https://huggingface.co/datasets/{benchmark.dataset_id}"
    of = {row["repo_id"]: row["scores"] for row in data["models"]}
    assert (of[SMALL]["hub"]["score"], of[SMALL]["hub"]["by"]) == (74, "maker")
    assert (of[SMALL]["hub"]["setting"], of[SMALL]["hub"]["share"]) == ("With tools", None)
    assert of[SMALL]["group"] == "unmeasured", "no board that orders has it"
    assert of[LARGE]["hub"]["by"] == "verified" and of[LARGE]["leading"]["score"] == 1
    others = [scores for repo_id, scores in of.items() if repo_id not in (SMALL, LARGE)]
    assert others and all("hub" not in scores for scores in others)


def test_verified_comes_before_a_makers_better_one() -> None:
    entries = (
        entry(SMALL, 90, "community"),
        entry(SMALL, 80),
        entry(SMALL, 70, "verified"),
        entry(SMALL, 75, "verified"),
        entry(LARGE, 50, "community"),
        entry(LARGE, 40, "maker"),
    )
    scores = hub_board(hub_benchmarks()["code"], Leaderboard(entries, DAY))
    assert [(one.model_id, one.score, one.by) for one in scores] == [
        (SMALL, 75, "verified"),
        (LARGE, 40, "maker"),
    ]
    assert scores[0].board.models == 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_shows_it_beside_the_board(language: Language) -> None:
    words = Words(language)
    answer = ask(reading(entry(LARGE, 60.5, "verified")))
    row = next(row for row in answer.rows if row.runs.profile.repo_id == LARGE)
    cell = quality_cell(row, words)
    assert "SWE-bench/SWE-bench_Verified: 60" in cell
    assert words("results.by.verified") in cell
    page = models_for_html(answer, words)
    assert 'href="https://huggingface.co/datasets/SWE-bench/SWE-bench_Verified"' in page
    assert "2026-11-20" in page


def test_the_shell_names_it() -> None:
    assert "SWE-bench/SWE-bench_Verified" in models_summary(ask(reading(entry(LARGE, 60))))


def test_a_failure_leaves_the_dated_tables_and_a_note() -> None:
    failed, none = ask(away), ask(None)
    assert ids(failed) == ids(none)
    (note,) = [note for note in failed.notes if note not in none.notes]
    assert (note.code, note.fields["reason"]) == ("scores_hub_unread", "timeout")
    assert "hub" not in written(failed)["purpose"]
    assert note.fields["board"] in models_for_html(failed, ENGLISH)


def test_an_empty_leaderboard_says_nothing() -> None:
    assert ask(reading()).notes == ask(None).notes


@pytest.mark.parametrize("fields", [{"live": False}, {"purpose": ""}, {"purpose": "pictures"}])
def test_it_is_read_only_where_it_is_shown(fields: dict[str, Any]) -> None:
    def unasked(dataset_id: str) -> Leaderboard:
        raise AssertionError(dataset_id)

    ask(unasked, **fields, top=1)


def test_the_hub_is_not_waited_for_twice() -> None:
    """If the listing failed, no leaderboard is requested."""

    def unasked(dataset_id: str) -> Leaderboard:
        raise AssertionError(dataset_id)

    base = embedded_sizer()
    boards = boards_of(score(LEADING["code"], LARGE, 1))
    library = ModelLibrary(None, lambda: base.library.uses, None, lambda: boards, unasked)
    library.candidates = base.library.candidates
    sizer = Sizer(base.fetch, base.catalogue, library=library, new_budget=base.new_budget)
    answer = models_for(sizer, {"gpu": "4090", "purpose": "code", "top": 1, "live": True})
    assert "use_offline" in {note.code for note in answer.notes}


def test_a_copys_own_figure_does_not_hide_its_originals_board() -> None:
    original, copy = "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-30B-A3B-FP8"
    by_id = {item.profile.repo_id: item.profile for item in embedded_sizer().library.candidates}
    boards = boards_of(score(LEADING["code"], original, 5))
    found = hub_board(
        hub_benchmarks()["code"], Leaderboard((entry(copy, 7), entry(original, 9)), DAY)
    )
    measured = credited(boards.with_hub_board(found), "code")(by_id[copy])
    assert measured.leading is not None and measured.leading.model_id == original
    assert measured.hub is not None and measured.hub.score == 7


def test_boards_without_one_stay_as_they_are() -> None:
    boards = ScoreBoards((), ())
    assert boards.with_hub_board([]) is boards and boards.hub_board is None
