"""Published runs of servers, with the facts behind the answers to their requests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

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
    is_median,
    prompt_of,
)
from bench.serving_bursts import burst
from bench.serving_clients import client_of
from gpusizer.serving.constants import Constants, Key
from gpusizer.serving.facts import ServerFacts
from gpusizer.serving.server import Server
from gpusizer.serving.simulation import Sample, load_test_of, mean, percentile, simulated
from gpusizer.serving.steady import (
    ROUNDS,
    STATIC,
    Steady,
    closed_loop,
    limit_of,
    load_test,
    random_arrivals,
)
from gpusizer.speed.work import ModelFacts, Work

_AT_ONCE = frozenset({"all_at_once", "offline"})
_STATIC = "static_batch"
_DECODE_ONLY = "decode_only"

# a server at the rates of data sheets, whose host and links take no time
ROOFLINE = Constants(1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0)
_SIMULATED = frozenset({"closed_loop", "random"})
_FEW_ROUNDS = 2.0  # up to which the median of a run is of its start


@dataclass(frozen=True, slots=True)
class Case:
    """A run and its server."""

    row: Row
    facts: ServerFacts
    # of one replica, by quantity; only figures that the source prints
    measured: Mapping[str, float]
    users: float | None  # of one rank of a replica; None under random arrivals
    rate: float | None  # requests per second of one rank under random arrivals, else None

    @property
    def source(self) -> str:
        """Source of the run."""
        return str(self.row["source_group"])

    def predicted(self, factors: Mapping[Key, float] | None = None) -> dict[str, float]:
        """Return rate, time of each token and time to the first token of the simulated client.

        These are output tokens per second of the replica and mean seconds; the first token has its
        mean or median, as measured.
        """
        server = Server.from_facts(self.facts, factors)
        if self.row["arrival"] not in _SIMULATED or server.most < 1:
            return self.on(server)
        if self.rate is not None and random_arrivals(server, self.rate) is None:
            return {}
        ranks = self.facts.ranks
        users = None if self.users is None else max(1, round(self.users))
        client = client_of(self.row, server, self.users, self.row.get("replicas", 1) * ranks)
        sample = simulated(server, users, self._made_per_second(), client)
        if sample is None:
            return {}
        rate = sample.requests_per_second * server.answer * ranks
        return {RATE: rate, EACH: mean(sample.each), FIRST: self._first_of(sample)}

    def _made_per_second(self) -> float | None:
        # Requests per second that the client sends to one rank, if it waits between them.
        stated = self.row.get("requests_per_second")
        return stated and stated / self.row.get("replicas", 1) / self.facts.ranks

    def _first_of(self, sample: Sample) -> float:
        return percentile(sample.ttft, 0.5) if is_median(self.row) else mean(sample.ttft)

    def on(self, server: Server) -> dict[str, float]:
        """Return these figures by a steady state, on a server with other constants.

        Batches that wait for each other reach an engine from a program next to it, without a
        server's overhead.
        """
        ranks = self.facts.ranks
        if self.row["arrival"] == _STATIC:
            alone = replace(server.scheduler, order="mixed")  # prompts are no answer's delay
            server = replace(server, request=0.0, scheduler=alone)
        if self.row["arrival"] == _DECODE_ONLY:
            gap = self._of_a_shared_prompt(server)
            return {EACH: gap, RATE: (self.users or 1.0) * ranks / gap}
        if server.most < 1:
            return {}
        if self.row["arrival"] in _AT_ONCE:
            spread, longest = self.row["lengths"] == "spread", self.row.get("longest_answer_tokens")
            run = burst(server, self.users or 1.0, spread, longest)
            return {RATE: run.rate * ranks, EACH: run.step_seconds, FIRST: run.ttft}
        state = self.state(server)
        if state is None:
            return {}
        rate = state.requests_per_second(server.steps) * server.answer * ranks
        if self.rate is not None:
            rate = self._of_a_short_run(state, server.answer) * ranks
        return {RATE: rate, EACH: state.step_seconds, FIRST: state.ttft}

    def asked(self, factors: Mapping[Key, float]) -> dict[str, float]:
        """Return these figures for a reader's request, which states users or a rate but no client.

        The answers use the same model (`serving/served.py`).
        """
        server = Server.from_facts(self.facts, factors)
        if server.most < 1:
            return {}
        tokens = server.answer * self.facts.ranks
        if self.rate is None:
            state: Steady | None = load_test(server, self.users or 1.0)
        else:
            state = random_arrivals(server, self.rate)
        if state is None:
            most, full = limit_of(server)
            return {RATE: most * tokens, EACH: full.step_seconds}
        rate = state.requests_per_second(server.steps) * tokens
        found = {RATE: rate, EACH: state.step_seconds, FIRST: state.ttft}
        users = None if self.rate is not None else max(1, math.ceil(self.users or 1.0))
        sample = load_test_of(server, users, self.rate) if is_median(self.row) else None
        if sample is not None:
            found[FIRST] *= percentile(sample.ttft, 0.5) / mean(sample.ttft)
        return found

    def is_possible(self) -> bool:
        """Return whether a server at the rates of data sheets could keep up with the run.

        Otherwise it did other work than it states: its prompts came from a cache, its experts were
        not chosen by text, or figures were mistaken.
        """
        first, each = self.measured.get(FIRST), self.measured.get(EACH)
        rate, answer = self.measured.get(RATE), self.facts.answer
        if rate is None and None not in (first, each, self.users):
            stay = (first or 0.0) + (answer - 1) * (each or 0.0)
            rate = (self.users or 1.0) * self.facts.ranks * answer / stay
        most = self.on(Server.with_constants(self.facts, ROOFLINE)).get(RATE)
        return self.rate is not None or rate is None or most is None or rate <= most

    def _of_a_shared_prompt(self, server: Server) -> float:
        # Seconds of a step in which all answers follow one prompt, whose cache is in the pool once
        # and is read once (cascade attention, `_compute_cascade_attn_prefix_len` of
        # vllm/v1/worker/gpu_model_runner.py).
        users, half = self.users or 1.0, server.answer / 2
        own = server.cache * half / (server.prompt + half)
        alone = replace(server, cache=own)
        return alone.step(users) + server.cache - own

    def _of_a_short_run(self, state: Steady, answer: int) -> float:
        # Output tokens per second of requests at random times, up to the end of the last answer.
        requests, rate = self.row.get("requests"), self.rate or 0.0
        if not requests:
            return rate * answer
        last = state.ttft + (answer - 1) * state.step_seconds
        return float(requests * answer / (requests / rate + last))

    def state(self, server: Server) -> Steady | None:
        """Return the server's steady state under the run's load, or None if it is overloaded."""
        if self.rate is not None:
            return random_arrivals(server, self.rate)
        users = self.users or 1.0
        if self.row["arrival"] == _STATIC:
            return closed_loop(server, users, STATIC)
        requests, alike = self.row.get("requests"), self.row["lengths"] == "fixed"
        rounds = ROUNDS if requests is None else requests / self.row["concurrency"]
        if "ttft_seconds" not in self.row["measured"] and rounds > _FEW_ROUNDS:
            rounds = math.inf
        return load_test(server, users, rounds, alike)


def read_cases(rows: Iterable[Row] | None = None) -> list[Case]:
    """Return runs that a request can state, on cards that hold the model, within data sheets."""
    found = (_case(row) for row in (load((SERVING_LOAD,)) if rows is None else rows))
    return [case for case in found if case is not None and case.is_possible()]


def _case(row: Row) -> Case | None:
    if row.get("flags"):
        return None
    report = front_door.report({**fields_of(row), "concurrency": 1})
    if report is None or not report.ranking:
        return None
    profile, fit = report.profile, report.ranking[0].fit
    known = ModelFacts.from_profile(profile, report.workload, prompt_of(row))
    if known is None:
        return None
    work, pool = Work.from_facts(known, fit.estimate), fit.kv_pool_bytes
    facts = ServerFacts.from_estimate(work, profile, fit.estimate, fit.gpu, pool, answer_of(row))
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
