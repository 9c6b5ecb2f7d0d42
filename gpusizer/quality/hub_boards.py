"""Boards made of the Hub's leaderboards, one benchmark for each purpose, from a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.hub.leaderboards import Leaderboard, LeaderboardEntry
from gpusizer.hub.published_results import StatedBy
from gpusizer.quality.boards import PURPOSES, Board, BoardScore, WorkPurpose

BENCHMARKS_FILE = "hub_benchmarks.csv"
BENCHMARK_COLUMNS = ("purpose", "dataset_id", "higher_is_better", "source_url")
TERMS = "as each repository publishes it"
_FIRST: tuple[StatedBy, ...] = ("verified", "maker", "community")


@dataclass(frozen=True, slots=True)
class HubBenchmark:
    """A benchmark dataset of the Hub whose leaderboard is shown for a purpose."""

    purpose: WorkPurpose
    dataset_id: str
    higher_is_better: bool
    source_url: str  # that it is a benchmark of the Hub


@cache
def hub_benchmarks(folder: Path = DATA_DIR) -> Mapping[WorkPurpose, HubBenchmark]:
    """Read the table, by purpose. Raise MalformedTable for a malformed one."""
    rows = read_table(folder / BENCHMARKS_FILE, _benchmark, BENCHMARK_COLUMNS)
    return {row.purpose: row for row in rows}


def hub_board(benchmark: HubBenchmark, leaderboard: Leaderboard) -> list[BoardScore]:
    """Return one score for each model: verified before its maker's before others', then the best.

    Scores state who reports them; as makers report most, they have no share and order nothing.
    """
    day = leaderboard.read_on
    best: dict[str, LeaderboardEntry] = {}
    for entry in _best_first(benchmark, leaderboard.entries):
        best.setdefault(entry.repo_id.casefold(), entry)
    board = Board(
        board=benchmark.dataset_id,
        version=day.isoformat(),
        unit="as published",
        higher_is_better=benchmark.higher_is_better,
        setting="",
        by_maker=True,
        source_url=f"https://huggingface.co/datasets/{benchmark.dataset_id}",
        date=day,
        terms=TERMS,
        models=len(best),
    )
    return [
        BoardScore(board, one.repo_id, one.value, None, None, one.notes or "", by=one.by)
        for one in best.values()
    ]


def _best_first(
    benchmark: HubBenchmark, entries: Iterable[LeaderboardEntry]
) -> list[LeaderboardEntry]:
    sign = -1 if benchmark.higher_is_better else 1
    return sorted(entries, key=lambda entry: (_FIRST.index(entry.by), sign * entry.value))


def _benchmark(row: TableRow) -> HubBenchmark:
    named = row.one_of("purpose", PURPOSES)
    purpose = next(purpose for purpose in PURPOSES if purpose == named)
    return row.record(HubBenchmark, purpose=purpose)
