"""Clients of published runs, as `data/measurements/serving_clients.csv` describes them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from random import Random
from typing import cast

from bench.measurements import FOLDER, Row
from bench.serving_bursts import answers_of_mean, longest_answer
from gpusizer.core.tables import TableRow, read_table
from gpusizer.serving.server import Server
from gpusizer.serving.simulation import Client, Start
from gpusizer.serving.steady import ROUNDS

CLIENT_TABLE = FOLDER / "serving_clients.csv"
_SEED = 20261129
_MOST_LENGTHS = 400


@dataclass(frozen=True, slots=True)
class _Protocol:
    """A row of the table."""

    start: str
    rounds: float | None
    range_ratio: float | None  # None if lengths follow texts


@cache
def _protocols() -> dict[tuple[str, str], _Protocol]:
    return dict(read_table(CLIENT_TABLE, _read))


def _read(row: TableRow) -> tuple[tuple[str, str], _Protocol]:
    rounds, ratio = row.optional("rounds", float), row.optional("range_ratio", float)
    start = row.optional("start", str) or ""
    return (row.text("source_group"), row.text("arrival")), _Protocol(start, rounds, ratio)


def client_of(row: Row, server: Server, users: float | None, replicas: int) -> Client | None:
    """Return the requests of a run's client to one replica or rank with these users.

    None if their start is unknown.
    """
    protocol = _protocols().get((row["source_group"], row["arrival"]))
    if protocol is None or not protocol.start:
        return None
    stated = row.get("requests")
    if stated is not None:
        requests = max(1, round(stated / replicas))
    else:
        requests = round((users or 100.0) * (protocol.rounds or ROUNDS))
    lengths: tuple[tuple[float, float], ...] = ()
    if protocol.start != "random":  # else the longest answer of a run would be its end
        lengths = _lengths(row, server, protocol.range_ratio, min(requests, _MOST_LENGTHS))
    return Client(cast(Start, protocol.start), max(requests, round(users or 1)), lengths)


def _lengths(
    row: Row, server: Server, ratio: float | None, count: int
) -> tuple[tuple[float, float], ...]:
    # Prompts and answers over their means.
    if row["lengths"] == "fixed":
        return ()
    if ratio is not None:
        return _even(ratio, count)
    longest = row.get("longest_answer_tokens") or longest_answer(server)
    answers = answers_of_mean(server.answer, count, longest)
    return tuple((1.0, each / server.answer) for each in answers)


@cache
def _even(ratio: float, count: int) -> tuple[tuple[float, float], ...]:
    # Lengths drawn evenly between a share of the longest and the longest.
    random, least, most = Random(_SEED), 2 * ratio / (1 + ratio), 2 / (1 + ratio)
    return tuple((random.uniform(least, most), random.uniform(least, most)) for _ in range(count))
