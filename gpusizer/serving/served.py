"""Served: throughput and latency of one entry of a ranking under a load."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Literal

from gpusizer.fit.requirements import ServingLoad
from gpusizer.fit.run_configs import keeps_part_in_memory
from gpusizer.gpus import Gpu
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.serving.constants import EACH, FIRST, RATE, regime_of, serving_band
from gpusizer.serving.facts import ServerFacts
from gpusizer.serving.guessing import with_draft
from gpusizer.serving.server import Server, local_server
from gpusizer.serving.simulation import load_test_of, mean, percentile
from gpusizer.serving.steady import Steady, limit_of, load_test, random_arrivals
from gpusizer.speed.classes import SERVING
from gpusizer.speed.rate import Rate, RateBand
from gpusizer.speed.speculation import Speculation
from gpusizer.speed.work import ModelFacts, Work, prompt_of

Limit = Literal["weights", "cache", "arithmetic", "prompts", "links", "host", "queue"]


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """A mean (`likely`) with its band, and percentiles over simulated requests."""

    low: float
    likely: float
    high: float
    p50: float | None
    p95: float | None


@dataclass(frozen=True, slots=True)
class Served:
    """A replica under a load."""

    # in flight on average, waiting ones included. output = users x answer / (ttft + (answer - 1) x
    # tpot) holds for the likely values.
    users: float
    admitted_users: int  # those that caches and scheduler hold at once
    output_tokens_per_second: LatencySummary
    total_tokens_per_second: LatencySummary
    # `ttft_seconds`, `tpot_seconds`, `e2e_seconds`: None if more requests come than are answered,
    # so that the wait only grows; rates are then the highest it sustains
    ttft_seconds: LatencySummary | None
    tpot_seconds: LatencySummary
    e2e_seconds: LatencySummary | None
    limited_by: Limit

    def user_rate(self, *, in_turns: bool) -> Rate:
        """Return tokens/s of each user; of users in turns, while one is served."""
        if in_turns:
            step = self.tpot_seconds
            return Rate(1 / step.high, 1 / step.likely, 1 / step.low)
        output, users = self.output_tokens_per_second, self.users
        return Rate(output.low / users, output.likely / users, output.high / users)


def load_of_users(workload: Workload) -> ServingLoad | None:
    """Return the users of a workload with its assumed prompt and answer, None for one user."""
    if workload.concurrency < 2:
        return None
    prompt = prompt_of(workload)
    return ServingLoad(workload.concurrency, None, prompt, max(1, workload.context - prompt))


def served(
    profile: ModelProfile,
    workload: Workload,
    estimate: MemoryEstimate,
    gpu: Gpu,
    pool_bytes: int,
    load: ServingLoad,
    *,
    percentiles: bool = True,
) -> Served | None:
    """Return throughput and latency of one replica under a load, or None.

    None if its speed is unknown, nothing is generated, a part stays in system memory, or no
    sequence fits. `workload` is that of `estimate`, `pool_bytes` the cache memory of one GPU
    (`Fit.kv_pool_bytes`). Without `percentiles` nothing is simulated.
    """
    lengths = load.prompt, load.answer, load.shared
    server = server_of(profile, workload, estimate, gpu, pool_bytes, *lengths)
    if server is None or server.most < 1:
        return None
    if load.users is not None:
        state: Steady | None = load_test(server, load.users / server.ranks)
    else:
        state = random_arrivals(server, (load.requests_per_second or 0.0) / server.ranks)
    return _overrun(server) if state is None else _answered(server, load, state, percentiles)


def server_of(
    profile: ModelProfile,
    workload: Workload,
    estimate: MemoryEstimate,
    gpu: Gpu,
    pool_bytes: int,
    prompt: int,
    answer: int,
    shared: int = 0,
) -> Server | None:
    """Return the server of an estimate on GPUs of a kind, for requests of one length, or None.

    `shared` tokens of each prompt are read once: engines for servers keep prefixes.
    """
    if keeps_part_in_memory(profile, workload, estimate):
        return None
    known = _facts(profile, workload, prompt)
    if known is None:
        return None
    work = Work.from_facts(known, estimate)
    facts = ServerFacts.from_estimate(work, profile, estimate, gpu, pool_bytes, answer)
    if facts is None:
        return None
    serves = work.family == SERVING
    server = Server.from_facts(facts) if serves else local_server(facts, work, gpu)
    # tokens of a draft are guessed if the workload states their rate of acceptance
    guess = Speculation.from_estimate(profile, workload, estimate, work)
    acceptance = workload.acceptance_rate
    if server is not None and guess is not None and acceptance is not None:
        server = with_draft(server, facts, guess, acceptance, gpu, pool_bytes)
    return server.with_prefix(shared) if server is not None and serves else server


@lru_cache(maxsize=8)
def _facts(profile: ModelProfile, workload: Workload, prompt: int) -> ModelFacts | None:
    # cached: all entries of a ranking share these facts
    return ModelFacts.from_profile(profile, workload, prompt)


def _answered(server: Server, load: ServingLoad, state: Steady, percentiles: bool) -> Served:
    ranks, further = server.ranks, server.answer - 1
    users = load.users if load.users is not None else state.users * ranks
    ttft, tpot_seconds = state.ttft, state.step_seconds / server.tokens
    sample = None
    if percentiles:
        of_rank = None if load.users is None else max(1, ceil(load.users / ranks))
        coming = None if load.users is not None else (load.requests_per_second or 0.0) / ranks
        sample = load_test_of(server, of_rank, coming)
    e2e = ttft + further * tpot_seconds
    output = users * server.answer / e2e
    regime = regime_of(load.users, load.requests_per_second, server.most * ranks)
    rate, each, first = (serving_band(name, regime) for name in (RATE, EACH, FIRST))
    ends = RateBand(
        (ttft * first.low + further * tpot_seconds * each.low) / e2e,
        (ttft * first.high + further * tpot_seconds * each.high) / e2e,
    )
    times = (sample.ttft, sample.each, sample.e2e) if sample else (None, None, None)
    total = output * (server.prompt + server.answer) / server.answer
    return Served(
        users=_rounded(users),
        admitted_users=int(min(users, server.most * ranks)) or 1,
        output_tokens_per_second=_even(output, rate),
        total_tokens_per_second=_even(total, rate),
        ttft_seconds=_spread(ttft, first, times[0]),
        tpot_seconds=_spread(tpot_seconds, each, times[1]),
        e2e_seconds=_spread(e2e, ends, times[2]),
        limited_by=_limit(server, state, load.users),
    )


def _overrun(server: Server) -> Served:
    # more requests than are answered: the rate that it sustains, and waits without an end
    requests, state = limit_of(server)
    output = requests * server.answer * server.ranks
    rate, each = (serving_band(name, "random") for name in (RATE, EACH))
    total = output * (server.prompt + server.answer) / server.answer
    admitted = server.most * server.ranks
    return Served(
        users=float(admitted),
        admitted_users=admitted,
        output_tokens_per_second=_even(output, rate),
        total_tokens_per_second=_even(total, rate),
        ttft_seconds=None,
        tpot_seconds=_spread(state.step_seconds / server.tokens, each, None),
        e2e_seconds=None,
        limited_by="queue",
    )


def _even(value: float, band: RateBand) -> LatencySummary:
    # a rate of the whole server has no percentiles over requests
    low, likely, high = (_rounded(value * end) for end in (band.low, 1.0, band.high))
    return LatencySummary(low, likely, high, None, None)


def _spread(value: float, band: RateBand, times: tuple[float, ...] | None) -> LatencySummary:
    # percentiles are scaled from the simulation's mean to this one
    low, likely, high = (_rounded(value * end) for end in (band.low, 1.0, band.high))
    if not times or not mean(times):
        return LatencySummary(low, likely, high, None, None)
    p50, p95 = (value * percentile(times, share) / mean(times) for share in (0.5, 0.95))
    return LatencySummary(low, likely, high, _rounded(p50), _rounded(p95))


def _limit(server: Server, state: Steady, users: int | None) -> Limit:
    # the part with most of a token's time; the queue if users wait for admission
    if users is not None and users > server.most * server.ranks:
        return "queue"
    if state.saturated:
        return "prompts"
    parts, left = server.parts(state.decoding), 1 - state.prompts
    seconds: dict[Limit, float] = {
        "weights": parts.weights * left,
        "arithmetic": parts.arithmetic * left,
        "cache": parts.cache * left,
        "links": parts.links * left,
        "host": parts.host * left,
    }
    of_step = sum(seconds.values())
    seconds["prompts"] = of_step * state.prompts / left if of_step else 0.0
    return max(seconds, key=lambda name: seconds[name])


def _rounded(value: float) -> float:
    # four digits, so that Little's law holds between rounded values
    return float(f"{value:.4g}")
