"""Leaderboards of the Hub's benchmark datasets, which collect what repositories publish."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from gpusizer.hub.published_results import StatedBy


@dataclass(frozen=True, slots=True)
class LeaderboardEntry:
    """One published figure of one model."""

    repo_id: str
    value: float
    by: StatedBy
    notes: str | None = None  # setting, such as "with tools"


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Answer to one request for a leaderboard, in the Hub's order."""

    entries: tuple[LeaderboardEntry, ...]
    read_on: date  # day of the answer


# Requests the leaderboard of a benchmark by its dataset's ID. Raises ModelUnreadable.
ListLeaderboard = Callable[[str], Leaderboard]
