"""A seeded simulation of a server's scheduler, request by request, for what means do not say.

Requests of one length come from so many users, each of whom sends the next when the last was
answered, or at random times. Steps hold what the engine's scheduler puts into them and take the
seconds of the server model. Steps between two events are alike and pass at once.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from gpusizer.fit.serving.server import Server
from gpusizer.fit.serving.steady import random_arrivals

_SEED = 20261123
_FEWEST, _MOST = 240, 1200  # requests that are counted
_ROUNDS = 4  # of every user
_MOST_STEPS = 60_000
_NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class Sample:
    """Times of the requests that were counted, each sorted, in seconds.

    Attributes:
        ttft, each, e2e: to the first token, between further ones, to the end.
        requests_per_second: answered while they were counted.
        mean_users: in flight meanwhile, on average.
    """

    ttft: tuple[float, ...]
    each: tuple[float, ...]
    e2e: tuple[float, ...]
    requests_per_second: float
    mean_users: float


def percentile(values: tuple[float, ...], share: float) -> float:
    """The value below which that share of sorted values lies (nearest rank)."""
    return values[min(len(values) - 1, max(0, round(share * len(values)) - 1))]


def mean(values: tuple[float, ...]) -> float:
    """The arithmetic mean."""
    return sum(values) / len(values)


@lru_cache(maxsize=512)
def simulated(
    server: Server, users: int | None, requests_per_second: float | None
) -> Sample | None:
    """Requests of one rank under `users`, or at random times; None where nothing was answered.

    Users begin at random times within the first answers' time, so that they are spread as those
    of a server that has run for a while, and the first round is not counted. Requests at random
    times find as many answers under way as the steady state has.
    """
    if server.most < 1:
        return None
    run = _Run(server, users, requests_per_second)
    run.go()
    return run.sample()


class _Run:
    """The state of one simulation.

    `decoding` holds (decode step at which a request ends, its number); `reading` the requests
    whose prompts are read, with the tokens that are left.
    """

    def __init__(self, server: Server, users: int | None, rate: float | None) -> None:
        random = Random(_SEED)
        self.server, self.users, self.rate, self.random = server, users, rate, random
        self.now, self.steps, self.turns = 0.0, 0, 0
        self.waiting: deque[int] = deque()
        self.reading: deque[list[int]] = deque()
        self.decoding: list[tuple[int, int]] = []
        self.sent: list[float] = []
        self.first: list[float] = []
        self.done: list[float] = []
        self.order: list[int] = []
        self.seconds: dict[tuple[int, int], float] = {}
        self.before = 0
        if users is None:
            state = random_arrivals(server, rate or 1.0)
            for _ in range(round(state.decoding) if state else server.most):
                self._send(0.0)
                left = random.randint(1, max(1, round(server.steps)))
                heapq.heappush(self.decoding, (left, self.waiting.popleft()))
            self.before = len(self.sent)
            times = [random.expovariate(rate or 1.0)]
            self.wanted = self.before + _MOST
        else:
            spread = server.steps * server.step(min(users, server.most))
            times = sorted(random.uniform(0.0, spread) for _ in range(users))
            self.wanted = users + max(_FEWEST, min(_MOST, users * (_ROUNDS - 1)))
        self.coming = times  # a heap, as sorted times are

    def go(self) -> None:
        """Take steps until enough requests are answered, or too many steps were taken."""
        while len(self.order) < self.wanted and self.turns < _MOST_STEPS:
            self._arrive()
            self._admit()
            if self.reading:
                self._read()
            elif self.decoding:
                self._decode()
            elif self.coming:
                self.now = self.coming[0]
            else:
                return
            self.turns += 1

    def sample(self) -> Sample | None:
        """What was counted: answers after the first round of users, or the first quarter."""
        answered = [number for number in self.order if number >= self.before]
        skipped = len(answered) // 4 if self.users is None else min(self.users, len(answered))
        counted = answered[skipped:]
        if len(counted) < 2:
            return None
        begin, end = self.done[answered[max(0, skipped - 1)]], self.done[counted[-1]]
        door, further = self.server.request, max(1, self.server.answer - 1)
        e2e = [self.done[i] - self.sent[i] + door for i in counted]
        rate = (len(counted)) / (end - begin) if end > begin else 0.0
        return Sample(
            ttft=tuple(sorted(self.first[i] - self.sent[i] + door for i in counted)),
            each=tuple(sorted((self.done[i] - self.first[i]) / further for i in counted)),
            e2e=tuple(sorted(e2e)),
            requests_per_second=rate,
            mean_users=rate * sum(e2e) / len(e2e),
        )

    def _arrive(self) -> None:
        while self.coming and self.coming[0] <= self.now:
            at = heapq.heappop(self.coming)
            self._send(at)
            if self.users is None:  # without an end, so that the last counted have company
                heapq.heappush(self.coming, at + self.random.expovariate(self.rate or 1.0))

    def _send(self, at: float) -> None:
        self.waiting.append(len(self.sent))
        self.sent.append(at)
        self.first.append(_NEVER)
        self.done.append(_NEVER)

    def _admit(self) -> None:
        while self.waiting and len(self.reading) + len(self.decoding) < self.server.most:
            self.reading.append([self.waiting.popleft(), self.server.prompt])

    def _read(self) -> None:
        """Steps with pieces of prompts, in the order in which they came: those that the first fills
        up to its end, or to the next end of an answer; else one."""
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
            heapq.heappush(self.decoding, (self.steps + self._further(), number))
        self._finish()

    def _further(self) -> int:
        """Steps of an answer after its first token: a whole number whose mean is the server's."""
        further = self.server.steps - 1
        return int(further + self.random.random()) if self.server.guesses else round(further)

    def _decode(self) -> None:
        """Steps without prompts, up to the next end of an answer or the next arrival."""
        each = self._seconds(len(self.decoding), 0)
        count = self.decoding[0][0] - self.steps
        if self.coming and len(self.decoding) < self.server.most:
            count = min(count, int((self.coming[0] - self.now) / each) + 1)
        self._pass(len(self.decoding), 0, max(1, count), is_decoded=True)
        self._finish()

    def _pass(self, decodes: int, prompt_tokens: int, count: int, *, is_decoded: bool) -> None:
        """Take `count` steps that are alike; answers go on where they are decoded in these."""
        self.now += self._seconds(decodes, prompt_tokens) * count
        self.steps += count if is_decoded else 0

    def _finish(self) -> None:
        while self.decoding and self.decoding[0][0] <= self.steps:
            number = heapq.heappop(self.decoding)[1]
            self.done[number] = self.now
            self.order.append(number)
            if self.users is not None:
                heapq.heappush(self.coming, self.now + self.server.request)

    def _seconds(self, decodes: int, prompt_tokens: int) -> float:
        key = (decodes, prompt_tokens)
        if key not in self.seconds:
            self.seconds[key] = self.server.step(max(1e-9, decodes), prompt_tokens)
        return self.seconds[key]
