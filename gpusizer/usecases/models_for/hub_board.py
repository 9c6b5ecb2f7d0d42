"""The Hub's leaderboard of a purpose, read live and shown beside the boards that order."""

from __future__ import annotations

from gpusizer.core.errors import ModelUnreadable
from gpusizer.core.messages import Note
from gpusizer.hub.leaderboards import ListLeaderboard
from gpusizer.quality.boards import ScoreBoards, WorkPurpose
from gpusizer.quality.hub_boards import hub_benchmarks, hub_board


def with_hub_board(
    boards: ScoreBoards, purpose: WorkPurpose | None, read: ListLeaderboard | None
) -> tuple[ScoreBoards, tuple[Note, ...]]:
    """Return the boards with the Hub's leaderboard of the purpose, and a note on it.

    If it cannot be read the boards stay as they are, and the note says so.
    """
    benchmark = hub_benchmarks().get(purpose) if purpose is not None else None
    if benchmark is None or read is None:
        return boards, ()
    try:
        leaderboard = read(benchmark.dataset_id)
    except ModelUnreadable as error:
        reason = str(error.fields.get("reason", error.code))
        note = Note("scores_hub_unread", board=benchmark.dataset_id, reason=reason)
        return boards, (note,)
    found = boards.with_hub_board(hub_board(benchmark, leaderboard))
    if found.hub_board is None:
        return boards, ()
    day = leaderboard.read_on.isoformat()
    return found, (Note("scores_of_hub", board=benchmark.dataset_id, date=day),)
