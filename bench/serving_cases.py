"""Published runs of servers, ready to be predicted: the facts of the same requests' answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bench import front_door
from bench.measurements import SERVING_LOAD, Row, load
from bench.served_answers import (
    EACH,
    FIRST,
    RATE,
    answer_of,
    each_token_of,
    fields_of,
    first_token_of,
    prompt_of,
)
from gpusizer.fit.serving.constants import Key
from gpusizer.fit.serving.facts import ServerFacts
from gpusizer.fit.serving.server import Server
from gpusizer.fit.serving.steady import (
    AT_ONCE,
    STATIC,
    TOGETHER,
    Steady,
    closed_loop,
    random_arrivals,
)

_AT_ONCE = frozenset({"all_at_once", "offline", "static_batch"})
_STATIC = "static_batch"
_DECODE_ONLY = "decode_only"


@dataclass(frozen=True, slots=True)
class Case:
    """A run and the server that it ran on.

    Attributes:
        measured: of one replica, by quantity; only what the source prints.
        users: of one rank of a replica; None under random arrivals.
        rate: requests per second of one rank, under those.
    """

    row: Row
    facts: ServerFacts
    measured: Mapping[str, float]
    users: float | None
    rate: float | None

    @property
    def source(self) -> str:
        """Whose run it is."""
        return str(self.row["source_group"])

    @property
    def at_once(self) -> bool:
        """Whether all requests were sent at the start."""
        return self.row["arrival"] in _AT_ONCE

    def predicted(self, factors: Mapping[Key, float] | None = None) -> dict[str, float]:
        """Output tokens per second of the replica, and mean seconds of each and the first token."""
        return self.on(Server.of(self.facts, factors))

    def on(self, server: Server) -> dict[str, float]:
        """The same on a server with other constants."""
        ranks = self.facts.ranks
        if self.row["arrival"] == _DECODE_ONLY:
            gap = server.step(min(self.users or 1.0, float(server.most)))
            return {EACH: gap, RATE: (self.users or 1.0) * ranks / gap}
        state = self.state(server)
        if state is None:
            return {}
        rate = state.requests_per_second(server.answer) * server.answer * ranks
        if self.rate is not None:
            rate = self._of_a_short_run(state, server.answer) * ranks
        first = state.ttft - state.queue / 2 if self.at_once else state.ttft
        return {RATE: rate, EACH: state.gap, FIRST: first}

    def _of_a_short_run(self, state: Steady, answer: int) -> float:
        """Output tokens per second of so many requests at random times, the last answer awaited."""
        requests, rate = self.row.get("requests"), self.rate or 0.0
        if not requests:
            return rate * answer
        last = state.ttft + (answer - 1) * state.gap
        return float(requests * answer / (requests / rate + last))

    def state(self, server: Server) -> Steady | None:
        """The server's steady state under the run's load; None where it cannot bear it."""
        if server.most < 1:
            return None
        if self.rate is not None:
            return random_arrivals(server, self.rate)
        users = self.users or 1.0
        if self.row["arrival"] == _STATIC:
            return closed_loop(server, users, STATIC)
        return closed_loop(server, users, AT_ONCE if self.at_once else TOGETHER)


def read_cases(rows: Iterable[Row] | None = None) -> list[Case]:
    """Runs that a request can state, on cards that hold the model."""
    found = (_case(row) for row in (load((SERVING_LOAD,)) if rows is None else rows))
    return [case for case in found if case is not None]


def _case(row: Row) -> Case | None:
    if row.get("flags"):
        return None
    report = front_door.report({**fields_of(row), "concurrency": 1})
    if report is None or not report.ranking:
        return None
    fit = report.ranking[0].fit
    facts = ServerFacts.of(
        report.profile,
        report.workload,
        fit.estimate,
        fit.gpu,
        fit.kv_pool_bytes,
        prompt_of(row),
        answer_of(row),
    )
    if facts is None or (facts.room_whole is not None and facts.room_whole < 1):
        return None
    replicas = row.get("replicas", 1)
    users, rate = row.get("concurrency"), row.get("requests_per_second")
    each = None if users is None else max(1.0, users / replicas / facts.ranks)
    measured = {
        RATE: row["measured"].get("output_tokens_per_second", 0.0) / replicas,
        EACH: each_token_of(row),
        FIRST: first_token_of(row),
    }
    return Case(
        row,
        facts,
        {name: value for name, value in measured.items() if value and math.isfinite(value)},
        each,
        None if rate is None or users is not None else rate / replicas / facts.ranks,
    )
