"""Scores of boards: shares, ties, boards that disagree, and the table that ships."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import MalformedTable
from gpusizer.quality.boards import (
    ALL_BOARDS,
    LEADING,
    PURPOSES,
    SECOND,
    Board,
    BoardScore,
    ScoreBoards,
    embedded_boards,
    in_order,
    load_boards,
)
from scripts.add_model_scores import add, read

CHAT, SECOND_OF_CHAT = LEADING["chat"], SECOND["chat"]


def board(name: str = CHAT, *, more_is_better: bool = True, by_maker: bool = False) -> Board:
    day, terms = date(2026, 10, 5), "CC BY 4.0"
    return Board(name, "1", "points", more_is_better, "", by_maker, "https://a.example", day, terms)


def score(
    model_id: str,
    points: float,
    low: float | None = None,
    high: float | None = None,
    on: Board | None = None,
) -> BoardScore:
    return BoardScore(on or board(), model_id, points, low, high, "as served")


def share_of(boards: ScoreBoards, model_id: str, name: str = CHAT) -> float | None:
    found = boards.score(name, model_id)
    assert found is not None
    return found.share


def test_a_share_counts_the_other_models_below() -> None:
    boards = ScoreBoards([board()], [score(f"org/m{i}", i) for i in (1, 2, 2, 3, 4)])
    assert share_of(boards, "ORG/M4") == 1.0
    assert share_of(boards, "org/m1") == 0.0
    assert share_of(boards, "org/m2") == pytest.approx(1 / 3), "equal ones are not below"


def test_where_less_is_better_the_least_is_above_all() -> None:
    errors = board(more_is_better=False)
    boards = ScoreBoards([errors], [score(f"org/m{i}", i, on=errors) for i in (5, 10, 20)])
    assert [share_of(boards, f"org/m{i}") for i in (5, 10, 20)] == [1.0, 0.5, 0.0]


def test_the_best_setting_of_a_model_counts_once() -> None:
    boards = ScoreBoards([board()], [score("org/a", 1), score("org/A", 9), score("org/b", 5)])
    found = boards.score(CHAT, "org/a")
    assert found is not None and (found.score, found.share, found.board.models) == (9, 1.0, 2)


def test_a_makers_figure_has_no_share() -> None:
    own = board(by_maker=True)
    boards = ScoreBoards([own], [score("org/a", 1, on=own), score("org/b", 2, on=own)])
    assert share_of(boards, "org/b") is None


def test_a_model_is_of_the_first_board_that_has_it() -> None:
    second = board(SECOND_OF_CHAT)
    scores = [*(score(f"org/m{i}", i) for i in range(5)), score("org/m0", 9, on=second)]
    scores += [score("org/new", 5, on=second), score("org/m4", 7, on=second)]
    boards = ScoreBoards([board(), second], scores)
    measured = {name: boards.measured("chat", f"org/{name}") for name in ("m4", "m0", "new", "no")}
    groups = {name: found.group for name, found in measured.items()}
    assert groups == {"m4": "leading", "m0": "leading", "new": "second", "no": "unmeasured"}
    assert measured["m4"].boards_disagree is True, "1.0 on one, 0.5 on the other"
    assert measured["m0"].boards_disagree is True, "0.0 and 1.0"
    assert measured["new"].boards_disagree is None
    assert measured["no"].first is None


def test_a_relative_lends_no_score() -> None:
    boards = ScoreBoards([board()], [score("org/m-8B", 1), score("org/m-8B-Instruct", 2)])
    assert boards.score(CHAT, "org/m-8B-Thinking") is None


def test_overlapping_intervals_are_ordered_by_speed() -> None:
    scores = [
        score("slow", 100, 95, 105),
        score("fast", 97, 93, 101),
        score("below", 80, 75, 94),
        score("last", 60, 55, 65),
    ]
    speeds = {"slow": 10.0, "fast": 30.0, "below": 99.0, "last": 500.0}
    ordered = in_order(scores, lambda item: item, lambda item: speeds[item.model_id])
    assert [item.model_id for item in ordered] == ["fast", "slow", "below", "last"]


Intervals = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12), st.integers(1, 50)), min_size=1, max_size=12
)


@given(Intervals, st.booleans())
def test_none_is_before_what_is_wholly_above_it(
    drawn: Sequence[tuple[int, int, int]], more_is_better: bool
) -> None:
    on = board(more_is_better=more_is_better)
    items = [
        (score(f"m{i}", middle, middle - wide, middle + wide, on=on), speed)
        for i, (middle, wide, speed) in enumerate(drawn)
    ]
    ordered = in_order(items, lambda item: item[0], lambda item: item[1])
    assert sorted(item[0].model_id for item in ordered) == sorted(i[0].model_id for i in items)
    for before, after in combinations(ordered, 2):
        assert before[0].ends[1] >= after[0].ends[0]
        faster = after[1] > before[1]
        tied_with_all = all(after[0].ends[1] >= other[0].ends[0] for other in ordered)
        assert not (faster and tied_with_all), "a tie goes to the faster one"


def test_the_table_that_ships_has_every_board() -> None:
    boards = embedded_boards()
    for name in ALL_BOARDS:
        found = boards.board(name)
        assert found is not None and found.models >= 15, name
        assert found.source_url.startswith("https://") and found.terms
    assert set(LEADING) == {purpose for purpose in PURPOSES if purpose != "pictures"}


@pytest.mark.parametrize(
    "purpose, model_id, share",
    [
        ("chat", "google/gemma-4-31B-it", 0.95),
        ("chat", "google/gemma-3-12b-it", 0.59),
        ("vision", "Qwen/Qwen3.8-27B", 0.88),
        ("embeddings", "Qwen/Qwen3-Embedding-8B", 0.99),
        ("speech", "CohereLabs/cohere-transcribe-03-2026", 1.0),
    ],
)
def test_shares_of_the_table_that_ships(purpose: str, model_id: str, share: float) -> None:
    of = next(name for name in PURPOSES if name == purpose)
    leading = embedded_boards().measured(of, model_id).leading
    assert leading is not None and leading.share == pytest.approx(share, abs=0.006)


ROW = {
    "benchmark": CHAT,
    "version": "2026-11",
    "unit": "Elo-like rating",
    "higher_is_better": "yes",
    "reported_by": "independent board",
    "source_url": "https://a.example/x",
    "date": "2026-11-20",
    "terms": "CC BY 4.0",
}


def test_a_newer_board_replaces_the_old_one(tmp_path: Path) -> None:
    for path in DATA_DIR.glob("*_scores.csv"), DATA_DIR.glob("quality_boards.csv"):
        for file in path:
            (tmp_path / file.name).write_bytes(file.read_bytes())
    said = "as served; style control; 95% CI 990-1010; 12 votes"
    rows = [{**ROW, "model_id": name, "score": "1000", "setting": said} for name in ("o/a", "o/b")]
    add(rows, tmp_path)
    boards = load_boards(tmp_path)
    found = boards.score(CHAT, "o/a")
    assert found is not None and (found.low, found.high, found.board.version) == (
        990,
        1010,
        "2026-11",
    )
    assert boards.score(CHAT, "google/gemma-4-31B-it") is None
    assert boards.score(LEADING["code"], "google/gemma-4-31B-it") is not None


@pytest.mark.parametrize(
    "change",
    [
        {"terms": "none stated"},
        {"reported_by": "maker's card"},
        {"benchmark": "MMMU"},
        {"setting": "base"},
        {"version": "2025-01"},
    ],
)
def test_rows_that_may_not_be_shown_are_left_out(tmp_path: Path, change: dict[str, str]) -> None:
    kept = [{**ROW, "model_id": f"o/{i}", "score": "1", "setting": ""} for i in range(3)]
    add([*kept, {**kept[0], "model_id": "o/left-out", **change}], tmp_path)
    assert "o/left-out" not in {row["model_id"] for row in read(tmp_path / "model_scores.csv")}


def test_a_score_of_an_unknown_board_is_malformed(tmp_path: Path) -> None:
    add([{**ROW, "model_id": "o/a", "score": "1", "setting": ""}], tmp_path)
    path = tmp_path / "model_scores.csv"
    path.write_text(path.read_text() + "no such board,o/b,1,,,\n")
    with pytest.raises(MalformedTable, match="board"):
        load_boards(tmp_path)
