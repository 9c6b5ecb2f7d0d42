"""Simulates the caches under more traffic: `python -m bench.scaling`; docs/scaling.md reads it.

Visitors ask about models by Zipf's law; a process holds snapshots in memory for five minutes, then
asks the Hub whether the commit is the same; the folder on disk and the cache of answers drop what
was used longest ago. Counted are requests to the Hub in its two buckets, answers by where they came
from, bytes read and processor time. Nothing is sent anywhere; the same seed gives the same figures.
What the program does is taken from its own constants; the traffic is assumed, and can be set.
"""

from __future__ import annotations

import argparse
import math
import random
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from scrapers.snapshot_cache import COMMIT_SECONDS

DAY_SECONDS = 86_400.0
WINDOW_SECONDS = 300.0
"""Window of the Hub's limits, https://huggingface.co/docs/hub/rate-limits."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What visitors do: assumptions, none of which was measured on a public server.

    Attributes:
        calls_a_day: answers asked for.
        peak: how many times as many as on average are asked for in the busiest hour.
        models: public models that anybody may ask about.
        exponent: of Zipf's law: the n-th model is asked about in proportion to n to its negative.
        variants: different requests about a model, of which the n-th is 1/n as frequent.
        commits_a_day: of one model.
    """

    calls_a_day: float = 10_000.0
    peak: float = 3.0
    models: int = 500_000
    exponent: float = 1.0
    variants: int = 8
    commits_a_day: float = 0.02

    @property
    def calls_per_second(self) -> float:
        """Calls in a second of the busiest hour."""
        return self.calls_a_day * self.peak / DAY_SECONDS


@dataclass(frozen=True, slots=True)
class Server:
    """What the program does. Sizes and times are of `bench.load`, on a shared machine of two cores.

    Attributes:
        held_models: snapshots that a process holds; `entries` of scrapers/single_flight.py.
        disk_models: models in 200 MB of `GPUSIZER_CACHE_MB`, of 40 kB each.
        kept_answers: answers of 10 kB in the 16 MB of gpusizer/ui/answer_cache.py.
        commit_seconds: after which the Hub is asked again which commit a branch means.
        cold_api: requests to the Hub's API for a model that is not known.
        cold_resolvers: requests to its file routes.
        cold_bytes: read for such a model.
        hit_seconds: of a processor, for an answer that is kept.
        miss_seconds: to work an answer out.
        cold_seconds: to read a model.
    """

    held_models: int = 256
    disk_models: int = 5_000
    kept_answers: int = 1_600
    commit_seconds: float = COMMIT_SECONDS
    cold_api: int = 2
    cold_resolvers: int = 2
    cold_bytes: int = 100_000
    hit_seconds: float = 0.003
    miss_seconds: float = 0.04
    cold_seconds: float = 0.02


API_LIMIT = 500
"""Requests to the Hub's API in five minutes from one address without a token."""
FILE_LIMIT = 3_000
"""The same of its file routes. A token of a free account has 1,000 and 5,000."""


Seen = tuple[float, int]
"""A moment in seconds, and the number of the commit that was seen of a model."""


class Recent(OrderedDict[Hashable, Seen]):
    """So many keys, of which the least recently used go first."""

    def __init__(self, entries: int) -> None:
        super().__init__()
        self._entries = entries

    def use(self, key: Hashable, seen: Seen) -> None:
        """Set what was seen of a key, which is now the most recently used."""
        self[key] = seen
        self.move_to_end(key)
        if len(self) > self._entries:
            self.popitem(last=False)


@dataclass
class Tally:
    """What was counted, and over how many seconds."""

    seconds: float = 0.0
    calls: int = 0
    kept_answers: int = 0
    held: int = 0
    on_disk: int = 0
    confirmed: int = 0
    cold: int = 0
    api: int = 0
    resolvers: int = 0
    read_bytes: int = 0
    processor_seconds: float = 0.0

    def per_window(self, requests: int) -> float:
        """Requests in five minutes."""
        return requests / self.seconds * WINDOW_SECONDS

    @property
    def processors(self) -> float:
        """Processors that are busy on average."""
        return self.processor_seconds / self.seconds


class Process:
    """The caches of one process, and of a folder that it may share with others."""

    def __init__(self, server: Server, disk: Recent) -> None:
        self._server = server
        self._disk = disk
        self._held = Recent(server.held_models)
        self._answers = Recent(server.kept_answers)

    def answer(self, now: float, model: int, variant: int, commit: int, tally: Tally) -> None:
        """Answer a call as the program does; `commit` is the model's latest on the Hub."""
        tally.calls += 1
        key = (model, variant, self._read(now, model, commit, tally))
        if key in self._answers:
            tally.kept_answers += 1
            tally.processor_seconds += self._server.hit_seconds
        else:
            tally.processor_seconds += self._server.miss_seconds
        self._answers.use(key, (now, commit))

    def _read(self, now: float, model: int, commit: int, tally: Tally) -> int:
        """Find the model's snapshot; return the number of its commit."""
        until, held_commit = self._held.get(model, (-math.inf, 0))
        if until > now:
            self._held.move_to_end(model)
            tally.held += 1
            return held_commit
        stored = self._disk.get(model)
        if stored is not None and now - stored[0] <= self._server.commit_seconds:
            tally.on_disk += 1
            self._held.use(model, (now + self._server.commit_seconds, stored[1]))
            return stored[1]
        tally.api += 1
        if stored is not None and stored[1] == commit:
            tally.confirmed += 1
        else:
            tally.cold += 1
            tally.api += self._server.cold_api - 1
            tally.resolvers += self._server.cold_resolvers
            tally.read_bytes += self._server.cold_bytes
            tally.processor_seconds += self._server.cold_seconds
        self._disk.use(model, (now, commit))
        self._held.use(model, (now + self._server.commit_seconds, commit))
        return commit


class Commits:
    """The number of each model's latest commit, as time goes by."""

    def __init__(self, a_day: float, generator: random.Random) -> None:
        self._a_second = a_day / DAY_SECONDS
        self._generator = generator
        self._latest: dict[int, Seen] = {}

    def latest(self, model: int, now: float) -> int:
        """The number of commits of a model so far; its next one comes after a random time."""
        next_at, number = self._latest.get(model, (now + self._pause(), 0))
        while next_at <= now:
            next_at, number = next_at + self._pause(), number + 1
        self._latest[model] = (next_at, number)
        return number

    def _pause(self) -> float:
        return self._generator.expovariate(self._a_second) if self._a_second else math.inf


def simulate(
    traffic: Traffic, server: Server, calls: int, processes: int = 1, seed: int = 1
) -> Tally:
    """Count what the second half of so many calls of the busiest hour costs.

    The first half fills the caches. The processes share a folder, and take turns at random.
    """
    generator = random.Random(seed)
    popularity = _popularity(traffic)
    shares = list(accumulate(1 / rank for rank in range(1, traffic.variants + 1)))
    disk = Recent(server.disk_models)
    workers = [Process(server, disk) for _ in range(processes)]
    commits = Commits(traffic.commits_a_day, generator)
    now, tally, counted_from = 0.0, Tally(), 0.0
    for number in range(calls):
        if number == calls // 2:
            tally, counted_from = Tally(), now
        now += generator.expovariate(traffic.calls_per_second)
        model = bisect_left(popularity, generator.random() * popularity[-1])
        variant = bisect_left(shares, generator.random() * shares[-1])
        commit = commits.latest(model, now)
        generator.choice(workers).answer(now, model, variant, commit, tally)
    tally.seconds = now - counted_from
    return tally


def _popularity(traffic: Traffic) -> list[float]:
    """Running sums of the shares of the models, the most popular first."""
    return list(accumulate(rank**-traffic.exponent for rank in range(1, traffic.models + 1)))


def processes_for(tally: Tally, load: float = 0.6) -> int:
    """Processes that a traffic needs, each of which uses one processor, so much of it."""
    return max(math.ceil(tally.processors / load), 1)


def addresses_for(tally: Tally) -> int:
    """Addresses without a token whose limits at the Hub such a traffic uses up."""
    api, files = tally.per_window(tally.api), tally.per_window(tally.resolvers)
    return max(math.ceil(max(api / API_LIMIT, files / FILE_LIMIT)), 1)


def row(name: str, traffic: Traffic, server: Server, calls: int) -> str:
    """A row of the table for one traffic, with as many processes as it needs."""
    processes = processes_for(simulate(traffic, server, calls))
    tally = simulate(traffic, server, calls, processes)
    shares = (tally.kept_answers, tally.held + tally.on_disk, tally.confirmed, tally.cold)
    cells = (
        name,
        f"{traffic.calls_per_second:.1f}",
        str(processes),
        *(f"{share / tally.calls:.1%}" for share in shares),
        f"{tally.per_window(tally.api):,.0f}",
        f"{tally.per_window(tally.resolvers):,.0f}",
        str(addresses_for(tally)),
        f"{tally.read_bytes / tally.calls / 1000:.1f}",
        f"{tally.processors:.2f}",
    )
    return f"| {' | '.join(cells)} |"


HEAD = (
    "traffic",
    "calls/s",
    "processes",
    "answers kept",
    "snapshots kept",
    "confirmed",
    "read",
    "API/5 min",
    "files/5 min",
    "addresses",
    "kB a call",
    "processors",
)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    usual = Traffic()
    parser = argparse.ArgumentParser(prog="python -m bench.scaling")
    parser.add_argument("--calls-a-day", type=float, default=usual.calls_a_day)
    parser.add_argument("--exponents", type=float, nargs="+", default=[1.0, 0.8])
    parser.add_argument("--commits-a-day", type=float, default=usual.commits_a_day)
    parser.add_argument("--times", type=float, nargs="+", default=[1, 10, 100, 1000])
    parser.add_argument("--disk-models", type=int, default=Server().disk_models)
    parser.add_argument("--commit-seconds", type=float, default=COMMIT_SECONDS)
    parser.add_argument("--simulated-calls", type=int, default=300_000)
    arguments = parser.parse_args(argv)
    server = Server(disk_models=arguments.disk_models, commit_seconds=arguments.commit_seconds)
    print(f"| {' | '.join(HEAD)} |\n|---|{'---:|' * (len(HEAD) - 1)}", flush=True)
    for exponent in arguments.exponents:
        for times in arguments.times:
            traffic = replace(
                usual,
                calls_a_day=arguments.calls_a_day * times,
                exponent=exponent,
                commits_a_day=arguments.commits_a_day,
            )
            name = f"{times:g} ×, exponent {exponent:g}"
            print(row(name, traffic, server, arguments.simulated_calls), flush=True)


if __name__ == "__main__":
    main()
