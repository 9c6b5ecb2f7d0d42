"""Scores of open models on published boards, by purpose, from a dated table."""

# One board leads for each purpose, and models are ordered by it alone: scores of different boards
# are never averaged, since they do not compare. A model's `share` is the share of the board's other
# open models with lower scores. A second board is read beside the first; if their shares are far
# apart, the boards disagree. A model that a board lacks is unmeasured there, even if its relatives
# have scores; figures of a model's own maker are marked and order nothing, and neither does the
# Hub's leaderboard, which is read live and collects such figures.

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar, get_args

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.hub.published_results import StatedBy

WorkPurpose = Literal["chat", "code", "agents", "vision", "embeddings", "speech", "pictures"]
PURPOSES: tuple[WorkPurpose, ...] = get_args(WorkPurpose)

# The board that orders models. No board of pictures has terms that allow showing its table.
LEADING: Mapping[WorkPurpose, str] = {
    "chat": "LMArena Text",
    "code": "LMArena Text: coding",
    "agents": "BFCL V4 overall",
    "vision": "LMArena Vision",
    "embeddings": "MTEB(eng, v2) mean (task)",
    "speech": "Open ASR: English short-form",
}
SECOND: Mapping[WorkPurpose, str] = {
    "chat": "EuroEval English mean rank",
    "code": "LMArena WebDev",
    "agents": "BFCL V4 multi-turn",
    "embeddings": "MTEB MIRACLRetrievalHardNegatives",
    "speech": "Open ASR: multilingual",
}
# figures that makers publish of their own models
MAKERS: Mapping[WorkPurpose, str] = {"code": "SWE-bench Verified", "agents": "SWE-bench Verified"}
ALL_BOARDS = frozenset({*LEADING.values(), *SECOND.values(), *MAKERS.values()})

# difference of two shares from which boards disagree
FAR_APART = 0.25
BOARDS_FILE, SCORES_FILE = "quality_boards.csv", "model_scores.csv"
BOARD_COLUMNS = (
    *("board", "version", "unit", "higher_is_better", "setting", "by_maker"),
    *("source_url", "date", "terms"),
)
SCORE_COLUMNS = ("board", "model_id", "score", "low", "high", "setting")

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Board:
    """One version of a published table of scores; only these compare with each other."""

    board: str
    version: str
    unit: str  # of its scores
    higher_is_better: bool
    setting: str  # run configuration of all its models
    by_maker: bool  # each figure is the model's own maker's
    source_url: str
    date: date  # day of the table
    terms: str  # licence or permission to show it
    models: int = 0  # number of open models


@dataclass(frozen=True, slots=True)
class BoardScore:
    """Score of one model on a board, at its best setting there."""

    board: Board
    model_id: str
    score: float
    low: float | None  # `low`, `high`: ends of the board's interval, or None
    high: float | None
    setting: str  # run configuration of this model
    # share of the board's other open models with lower scores; None for makers' figures, and on a
    # board without other models
    share: float | None = None
    by: StatedBy | None = None  # who reports it, on the Hub's leaderboards

    @property
    def ends(self) -> tuple[float, float]:
        """The interval in points, more is better; the score twice without one."""
        ends = (
            self.score if self.low is None else self.low,
            self.score if self.high is None else self.high,
        )
        return ends if self.board.higher_is_better else (-ends[1], -ends[0])


Group = Literal["leading", "second", "unmeasured"]
GROUPS: tuple[Group, ...] = get_args(Group)


@dataclass(frozen=True, slots=True)
class Measured:
    """Scores of a model for a purpose; None on boards that lack it."""

    leading: BoardScore | None = None
    second: BoardScore | None = None
    maker: BoardScore | None = None  # as its maker reports it
    hub: BoardScore | None = None  # on a leaderboard of the Hub, with who reports it

    @property
    def group(self) -> Group:
        """The first board that has it."""
        if self.leading is not None:
            return "leading"
        return "unmeasured" if self.second is None else "second"

    @property
    def first(self) -> BoardScore | None:
        """Its score on the first board that has it, or None if it is unmeasured."""
        return self.leading or self.second

    @property
    def boards_disagree(self) -> bool | None:
        """Whether the shares on both boards are far apart; None unless both have it."""
        shares = [score.share for score in (self.leading, self.second) if score is not None]
        known = [share for share in shares if share is not None]
        return abs(known[0] - known[1]) > FAR_APART if len(known) == 2 else None


UNMEASURED = Measured()


class ScoreBoards:
    """Scores by board and model."""

    def __init__(self, boards: Iterable[Board], scores: Iterable[BoardScore]) -> None:
        self.hub_board: Board | None = None
        self._of_hub: dict[str, BoardScore] = {}
        self._of_board: dict[str, dict[str, BoardScore]] = {}
        self._boards: dict[str, Board] = {board.board: board for board in boards}
        found: defaultdict[str, list[BoardScore]] = defaultdict(list)
        for score in scores:
            found[score.board.board].append(score)
        for name, board in list(self._boards.items()):
            of_board = _shared(board, _best(found[name]))
            self._of_board[name] = {score.model_id.casefold(): score for score in of_board}
            if of_board:
                self._boards[name] = of_board[0].board

    def with_hub_board(self, scores: Sequence[BoardScore]) -> ScoreBoards:
        """Return these boards beside a leaderboard of the Hub; without scores, as they are."""
        if not scores:
            return self
        other = copy(self)
        other.hub_board = scores[0].board
        other._of_hub = {score.model_id.casefold(): score for score in scores}
        return other

    def board(self, name: str | None) -> Board | None:
        """Return a board by its name, or None if the table lacks it."""
        return None if name is None else self._boards.get(name)

    def score(self, name: str | None, model_id: str) -> BoardScore | None:
        """Return the score of a model on a board, or None."""
        return self._of_board.get(name or "", {}).get(model_id.casefold())

    def measured(self, purpose: WorkPurpose, model_id: str) -> Measured:
        """Return the scores of a model on the boards of a purpose, and on the Hub's."""
        boards = (of.get(purpose) for of in (LEADING, SECOND, MAKERS))
        found = Measured(*(self.score(name, model_id) for name in boards))
        return replace(found, hub=self._of_hub.get(model_id.casefold()))

    def model_ids(self, purpose: WorkPurpose) -> Iterable[str]:
        """Yield every model on the boards of the purpose."""
        for of in (LEADING, SECOND, MAKERS):
            for score in self._of_board.get(of.get(purpose, ""), {}).values():
                yield score.model_id


def _best(scores: Iterable[BoardScore]) -> list[BoardScore]:
    # the best setting of each model
    best: dict[str, BoardScore] = {}
    for score in scores:
        key = score.model_id.casefold()
        if key not in best or _points(score) > _points(best[key]):
            best[key] = score
    return list(best.values())


def _points(score: BoardScore) -> float:
    return score.score if score.board.higher_is_better else -score.score


def _shared(board: Board, scores: Sequence[BoardScore]) -> list[BoardScore]:
    # with the share of others below each, on the board with their number
    counted = replace(board, models=len(scores))
    points = sorted(map(_points, scores))
    others = 0 if board.by_maker else len(points) - 1
    return [
        replace(
            score,
            board=counted,
            share=bisect_left(points, _points(score)) / others if others > 0 else None,
        )
        for score in scores
    ]


def in_order(
    items: Iterable[_T], score_of: Callable[[_T], BoardScore], speed_of: Callable[[_T], float]
) -> list[_T]:
    """Return items by their scores on one board, the best first; faster if intervals overlap."""
    # No item is before another whose interval is wholly above its own: the next item is the fastest
    # of those that no remaining interval is wholly above. Of equal speeds, the better is first.
    left = sorted(items, key=lambda item: _points(score_of(item)), reverse=True)
    ordered: list[_T] = []
    while left:
        bar = max(score_of(item).ends[0] for item in left)
        best = max((i for i in left if score_of(i).ends[1] >= bar), key=speed_of)
        left.remove(best)
        ordered.append(best)
    return ordered


def load_boards(folder: Path = DATA_DIR) -> ScoreBoards:
    """Read the embedded tables. Raise MalformedTable for a malformed one."""
    boards = {b.board: b for b in read_table(folder / BOARDS_FILE, _board, BOARD_COLUMNS)}

    def score(row: TableRow) -> BoardScore:
        board = boards[row.one_of("board", tuple(boards))]
        return row.record(BoardScore, board=board, share=None, by=None)

    return ScoreBoards(boards.values(), read_table(folder / SCORES_FILE, score, SCORE_COLUMNS))


@cache
def embedded_boards() -> ScoreBoards:
    """Return the tables that ship, read once."""
    return load_boards()


def _board(row: TableRow) -> Board:
    return row.record(Board, models=0)
