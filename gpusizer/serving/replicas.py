"""Replicas of one server for requests at random times: their number and load."""

# The closed form limits the load of a replica; the simulation of its actual load decides on the
# first token, so that a stated count keeps its target.

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from gpusizer.core.errors import InvalidRequest
from gpusizer.memory.workload import Workload
from gpusizer.serving.constants import FIRST, RATE, serving_band
from gpusizer.serving.server import Server
from gpusizer.serving.simulation import percentile, simulated
from gpusizer.serving.steady import (
    ROUNDING,
    late_at_random,
    most_at_random,
    random_arrivals,
)

_LATE = 0.9  # shares of requests within which the mean is, whatever the queue
_HALF = 0.5
_MORE = 0.03  # of the replicas that are added at a time if a simulation was late
_TRIES = 40


@dataclass(frozen=True, slots=True)
class Promise:
    """The target that all replicas keep together."""

    requests_per_second: float  # average, at random times
    ttft_seconds: float | None  # most seconds to the first token; None for any
    share: float  # of the requests, within that time


@dataclass(frozen=True, slots=True)
class ServingTarget:
    """The target that a request states for all replicas together."""

    requests_per_second: float  # average, at random times
    prompt_tokens: int  # `prompt_tokens`, `answer_tokens`: of every request
    answer_tokens: int
    ttft_seconds: float | None  # most seconds to the first token; None for any
    ttft_percentile: float = 95.0  # percentage of requests within that time
    shared_prefix_tokens: int = 0  # of every prompt, read once for all
    peak_to_mean: float = 1.0  # busiest rate over the mean one; replicas sustain the busiest
    # price of an API for a million tokens, to compare with
    api_usd_per_million: float | None = None

    @property
    def promise(self) -> Promise:
        """The promise at the busiest rate."""
        busiest = self.requests_per_second * self.peak_to_mean
        return Promise(busiest, self.ttft_seconds, self.ttft_percentile / 100)

    @property
    def context(self) -> int:
        """Tokens of a sequence."""
        return self.prompt_tokens + self.answer_tokens

    @property
    def tokens_per_second(self) -> float:
        """Answer tokens of all users."""
        return self.requests_per_second * self.answer_tokens


def serving_workload(workload: Workload, target: ServingTarget, longest: int | None) -> Workload:
    """Return the workload of one sequence. Raise InvalidRequest beyond the model's context."""
    if longest is not None and target.context > longest:
        raise InvalidRequest(
            field="prompt_tokens",
            value=target.context,
            reason="beyond_the_context",
            longest=longest,
        )
    # Its pictures are counted in the target's prompts.
    return replace(workload, context=target.context, concurrency=1, images=0)


@dataclass(frozen=True, slots=True)
class ReplicaCapacity:
    """The highest load that one replica sustains within the latency target."""

    requests_per_second: float  # of all its ranks
    users: float  # in flight at that rate

    def replicas(self, requests_per_second: float) -> int:
        """Return the number of replicas that sustain that rate together."""
        each = self.requests_per_second
        return max(1, math.ceil(requests_per_second / each - ROUNDING))


def sustained_load(server: Server, promise: Promise) -> ReplicaCapacity | None:
    """Return the highest load one replica sustains by the closed form, or None."""
    if server.most < 1:
        return None
    state = most_at_random(server, promise.ttft_seconds, promise.share)
    if state is None:
        return None
    rate = state.requests_per_second(server.steps)
    return ReplicaCapacity(rate * server.ranks, state.users * server.ranks)


def replicas_in_time(server: Server, promise: Promise, count: int) -> int | None:
    """Return the fewest replicas from `count` whose simulated requests are in time, or None."""
    if promise.ttft_seconds is None:
        return count
    for _ in range(_TRIES):
        (late,) = _waits(server, promise.requests_per_second / count / server.ranks, promise.share)
        if late <= promise.ttft_seconds:
            return count
        count += math.ceil(count * _MORE)
    return None


def _waits(server: Server, rate: float, *shares: float) -> tuple[float, ...]:
    # seconds to the first token of shares of the requests: simulated, or by the closed form if the
    # simulation is too long to answer any request
    sample = simulated(server, None, rate)
    if sample is not None:
        return tuple(percentile(sample.ttft, share) for share in shares)
    state = random_arrivals(server, rate)
    if state is None:
        return (math.inf,) * len(shares)
    return tuple(late_at_random(server, state, share) for share in shares)


@dataclass(frozen=True, slots=True)
class ReplicaPace:
    """One replica of several under its part of the requests."""

    # sequences in flight on it, on average
    users: float
    # mean: likely, at the fast and at the slow end of the band; None if that falls behind the
    # requests
    ttft_seconds: tuple[float, float, float | None]
    # seconds to the first token of half of the requests, and of the promised share (`_waits`)
    ttft_median_seconds: float
    ttft_late_seconds: float
    # answer tokens of each user, from the first token on
    tokens_per_second: float
    # share of the time that prompts take, between 0 and 1
    prompts: float
    # replicas at the fast and the slow end of the band of rates; None if the slow end is never in
    # time
    low_replicas: int
    high_replicas: int | None


def sure_replicas(server: Server, promise: Promise) -> int | None:
    """Return the replicas that sustain the load at the slow end of the band of rates, or None."""
    slow = sustained_load(server.at_speed(serving_band(RATE, "queue").low), promise)
    return None if slow is None else slow.replicas(promise.requests_per_second)


def pace_of(server: Server, promise: Promise, count: int) -> ReplicaPace:
    """Return throughput and latency of one of `count` replicas that sustain the load."""
    rate = promise.requests_per_second / count / server.ranks
    state = random_arrivals(server, rate)
    assert state is not None, "more than it bears"
    band, rates = serving_band(FIRST, "random"), serving_band(RATE, "queue")
    fast, slow = (server.at_speed(end) for end in (rates.high, rates.low))
    fewest, sure = sustained_load(fast, promise), sure_replicas(server, promise)
    keeps_up = random_arrivals(slow, rate) is not None
    asked = promise.requests_per_second
    (median, late), ttft = _waits(server, rate, _HALF, promise.share), state.ttft
    if promise.share >= _LATE:  # the mean is of another model, which may exceed it by a percent
        ttft = min(ttft, late)
    return ReplicaPace(
        users=state.users * server.ranks,
        ttft_seconds=(
            ttft,
            ttft * band.low,
            ttft * band.high if keeps_up else None,
        ),
        ttft_median_seconds=median,
        ttft_late_seconds=late,
        tokens_per_second=server.tokens / state.step_seconds,
        prompts=state.prompts,
        low_replicas=count if fewest is None else min(count, fewest.replicas(asked)),
        high_replicas=None if sure is None else max(count, sure),
    )
