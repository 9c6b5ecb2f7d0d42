"""A seeded simulation of a server's scheduler, request by request, for percentiles."""

# Requests come from a number of users, each of whom sends the next when the last was answered, or
# at random times. Steps are filled by the engine's scheduler and take the seconds of the server
# model. Steps between two events are alike and pass at once. An engine that plans a step while the
# last one runs takes up a prompt of the meantime in the step after.

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Literal

from gpusizer.serving.server import Server
from gpusizer.serving.steady import ROUNDS, random_arrivals

_SEED = 20261123
_FEWEST, _MOST = 240, 1200  # requests that are counted
_ROUNDS = 4  # of every user
_MOST_STEPS = 60_000
_NEVER = float("inf")

Start = Literal["at_once", "at_a_rate", "random"]


@dataclass(frozen=True, slots=True)
class Client:
    """A load test, all of whose requests count."""

    # arrival of requests: all "at_once"; "at_a_rate", at random times; in either case a request
    # beyond the users in flight waits until one is answered; "random" ones never wait
    start: Start
    requests: int  # number of requests in all
    # pairs of a request's prompt and answer over their means; empty if all are equal
    lengths: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """Times of the requests that were counted, each sorted, in seconds."""

    # `ttft`, `each`, `e2e`: to the first token, between further ones, to the end
    ttft: tuple[float, ...]
    each: tuple[float, ...]
    e2e: tuple[float, ...]
    requests_per_second: float  # answered while they were counted
    mean_users: float  # in flight meanwhile, on average


def percentile(values: tuple[float, ...], share: float) -> float:
    """Return the value at `share` of sorted values (nearest rank)."""
    return values[min(len(values) - 1, max(0, round(share * len(values)) - 1))]


def mean(values: tuple[float, ...]) -> float:
    """Return the arithmetic mean."""
    return sum(values) / len(values)


@lru_cache(maxsize=512)
def simulated(
    server: Server,
    users: int | None,
    requests_per_second: float | None,
    client: Client | None = None,
) -> Sample | None:
    """Return requests of one rank under `users`, or at random times; None without answers."""
    # Without a `client` users begin at random times within the first answers' time, spread like
    # those of a server that has run for a while, and the first round is not counted. Requests at
    # random times find as many answers in progress as in the steady state.
    if server.most < 1:
        return None
    run = _Run(server, users, requests_per_second, client)
    run.go()
    return run.sample()


def load_test_of(
    server: Server, users: int | None, requests_per_second: float | None
) -> Sample | None:
    """Simulate a load test of usual rounds, or requests at random times, as in `steady`."""
    client = None if users is None else Client("at_once", round(users * ROUNDS))
    return simulated(server, users, requests_per_second, client)


class _Run:
    """The state of one simulation.

    `coming` holds times at which requests are made, `free` users without a request in flight,
    `held` requests that wait for one; `decoding` (decode step at which a request ends, its number);
    `reading` the requests whose prompts are read, with the tokens that are left.
    """

    def __init__(
        self, server: Server, users: int | None, rate: float | None, client: Client | None
    ) -> None:
        self.server, self.rate, self.client, self.random = server, rate, client, Random(_SEED)
        self.now = self.planned = 0.0
        self.steps = self.turns = self.before = self.skipped = 0
        self.free, self.held = users or _NEVER, 0.0
        self.waiting: deque[int] = deque()
        self.reading: deque[list[int]] = deque()
        self.decoding: list[tuple[int, int]] = []
        self.back: list[float] = []
        self.sent: list[float] = []
        self.first: list[float] = []
        self.done: list[float] = []
        self.order: list[int] = []
        self.seconds: dict[tuple[int, int], float] = {}
        if client is not None:
            self.coming = self._made(client)
            self.wanted = client.requests
        elif users is not None:
            spread = server.steps * server.step(min(users, server.most))
            self.coming = deque(sorted(self.random.uniform(0.0, spread) for _ in range(users)))
            self.held, self.skipped = _NEVER, users
            self.wanted = users + max(_FEWEST, min(_MOST, users * (_ROUNDS - 1)))
        else:
            self._begin_full(rate or 1.0)

    def _made(self, client: Client) -> deque[float]:
        # random times are uniform in the time of all requests at their rate, as those of a Poisson
        # process with a known number of events
        span = 0.0 if client.start == "at_once" else client.requests / (self.rate or 1.0)
        return deque(sorted(self.random.uniform(0.0, span) for _ in range(client.requests)))

    def _begin_full(self, rate: float) -> None:
        # as many answers in progress as in the steady state, without an end of requests
        state = random_arrivals(self.server, rate)
        for _ in range(round(state.decoding) if state else self.server.most):
            self._send(0.0)
            left = self.random.randint(1, max(1, round(self.server.steps)))
            heapq.heappush(self.decoding, (left, self.waiting.popleft()))
        self.before, self.wanted = len(self.sent), len(self.sent) + _MOST
        self.coming = deque([self.random.expovariate(rate)])

    def go(self) -> None:
        """Take steps until enough requests are answered, or too many steps were taken."""
        while len(self.order) < self.wanted and self.turns < _MOST_STEPS:
            self._arrive()
            self._admit()
            if self.reading:
                self._read()
            elif self.decoding:
                self._decode()
            elif self.waiting:
                self.planned = self.now  # idle: nothing is planned ahead of
            elif (then := self._next()) is not None:
                self.now = self.planned = then
            else:
                return
            self.turns += 1

    def sample(self) -> Sample | None:
        """Return the requests that count, or None if too few were answered."""
        # all of a client's; else answers after the first round of users, or after the first quarter
        answered = [number for number in self.order if number >= self.before]
        skipped = min(self.skipped, len(answered))
        if self.client is None and not self.skipped:
            skipped = len(answered) // 4
        counted = answered[skipped:]
        if not counted or (self.client is None and len(counted) < 2):
            return None
        begin = 0.0 if self.client else self.done[answered[max(0, skipped - 1)]]
        door, end = self.server.request, self.done[counted[-1]]
        e2e = [self.done[i] - self.sent[i] + door for i in counted]
        rate = len(counted) / (end - begin) if end > begin else 0.0
        return Sample(
            ttft=tuple(sorted(self.first[i] - self.sent[i] + door for i in counted)),
            each=tuple(
                sorted(
                    (self.done[i] - self.first[i]) / max(1.0, self._answer(i) - 1) for i in counted
                )
            ),
            e2e=tuple(sorted(e2e)),
            requests_per_second=rate,
            mean_users=rate * sum(e2e) / len(e2e),
        )

    def _next(self) -> float | None:
        return min((times[0] for times in (self.back, self.coming) if times), default=None)

    def _arrive(self) -> None:
        while self.coming and self.coming[0] <= self.now:
            at = self.coming.popleft()
            if self.client is None and self.rate is not None:  # so that the last have company
                self.coming.append(at + self.random.expovariate(self.rate))
            if self.free:
                self.free -= 1
                heapq.heappush(self.back, at)
            else:
                self.held += 1
        while self.back and self.back[0] <= self.now:
            self._send(heapq.heappop(self.back))

    def _send(self, at: float) -> None:
        self.waiting.append(len(self.sent))
        self.sent.append(at)
        self.first.append(_NEVER)
        self.done.append(_NEVER)

    def _length(self, number: int) -> tuple[float, float]:
        lengths = self.client.lengths if self.client else ()
        return lengths[number % len(lengths)] if lengths else (1.0, 1.0)

    def _answer(self, number: int) -> float:
        return self.server.answer * self._length(number)[1]

    def _admit(self) -> None:
        known = self.planned if self.server.ahead else self.now
        while self._has_room() and self.waiting and self.sent[self.waiting[0]] <= known:
            number = self.waiting.popleft()
            prompt = max(1, round(self.server.prompt * self._length(number)[0]))
            self.reading.append([number, prompt])

    def _has_room(self) -> bool:
        return len(self.reading) + len(self.decoding) < self.server.most

    def _read(self) -> None:
        # Steps with pieces of prompts, in order of arrival: as many as the first prompt fills up to
        # its end, or to the next end of an answer; else one.
        alone = self.server.scheduler.order == "prompts_first"
        decodes = 0 if alone else len(self.decoding)
        space = max(1, self.server.scheduler.step_tokens - decodes * self.server.width)
        filled = (self.reading[0][1] - 1) // space
        if filled:
            count = min(filled, self.decoding[0][0] - self.steps) if decodes else filled
            self.reading[0][1] -= count * space
            self._pass(decodes, space, count, is_decoded=not alone)
            self._finish()
            return
        read, finished = 0, []
        while self.reading and read < space:
            piece = min(self.reading[0][1], space - read)
            self.reading[0][1] -= piece
            read += piece
            if self.reading[0][1] == 0:
                finished.append(self.reading.popleft()[0])
        self._pass(decodes, read, 1, is_decoded=not alone)
        for number in finished:
            self.first[number] = self.now
            heapq.heappush(self.decoding, (self.steps + self._further(number), number))
        self._finish()

    def _further(self, number: int) -> int:
        # a whole number with the server's mean
        further = (self._answer(number) - 1) / self.server.tokens
        return int(further + self.random.random()) if self.server.guesses else round(further)

    def _decode(self) -> None:
        each = self._seconds(len(self.decoding), 0)
        count = self.decoding[0][0] - self.steps
        if self._has_room():
            then = self._next()
            if self.waiting:
                count = 1
            elif then is not None:
                count = min(count, int((then - self.now) / each) + 1)
        self._pass(len(self.decoding), 0, max(1, count), is_decoded=True)
        self._finish()

    def _pass(self, decodes: int, prompt_tokens: int, count: int, *, is_decoded: bool) -> None:
        # `count` equal steps; answers advance if these steps decode
        each = self._seconds(decodes, prompt_tokens)
        self.planned = self.now + each * (count - 1)
        self.now += each * count
        self.steps += count if is_decoded else 0

    def _finish(self) -> None:
        while self.decoding and self.decoding[0][0] <= self.steps:
            number = heapq.heappop(self.decoding)[1]
            self.done[number] = self.now
            self.order.append(number)
            if self.held:
                self.held -= 1
                heapq.heappush(self.back, self.now + self.server.request)
            else:
                self.free += 1

    def _seconds(self, decodes: int, prompt_tokens: int) -> float:
        key = (decodes, prompt_tokens)
        if key not in self.seconds:
            self.seconds[key] = self.server.step(max(1e-9, decodes), prompt_tokens)
        return self.seconds[key]
