"""Runs whose requests are all sent at the start, followed until the last answer ends.

No new request replaces a finished one, so that the batch empties: a run of answers of different
lengths ends with the longest ones, a few at a time, and its tokens per second are far fewer than
those of a full server. Times of each token are means over requests, in which short answers, given
while prompts are still read, count as much as long ones.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from functools import cache

from gpusizer.serving.server import Server

_GROUPS = 40  # most groups of a run; requests of a group have one length and run together

# Tokens of the shortest answer that vLLM's and SGLang's clients take from ShareGPT
# (`is_valid_sequence` of vllm/benchmarks/datasets.py, `sample_sharegpt_requests` of
# sglang/bench_serving.py).
_SHORTEST = 4.0
_LONGEST_IN_ALL = 2048.0  # tokens of the longest prompt and answer together that both clients take
_GOLDEN = (math.sqrt(5) - 1) / 2
_HALVINGS = 50


@dataclass(frozen=True, slots=True)
class Burst:
    """A run of requests that were sent at once."""

    rate: float  # answer tokens per second until the last answer ends
    step_seconds: float  # mean seconds over requests of each further token
    ttft: float  # mean seconds over requests to the first token


def burst(server: Server, requests: float, spread: bool, longest: float | None = None) -> Burst:
    """Return the run of `requests` on one rank of a server, all sent at once.

    `spread` lets answers differ in length around the server's mean; `longest` is the number of
    tokens at which the client ends an answer, if the source states it.
    """
    count = max(1, min(_GROUPS, round(requests)))
    size = requests / count
    answers = (
        answers_of_mean(server.answer, count, longest or longest_answer(server)) if spread else None
    )
    run = _Run(server, size, answers or (float(server.answer),) * count)
    run.go()
    return Burst(requests * server.answer / run.now, run.step_seconds / count, run.ttft / count)


def longest_answer(server: Server) -> float:
    """Return tokens of the longest answer that clients take from texts."""
    return max(4.0 * server.answer, _LONGEST_IN_ALL - server.prompt)


@cache
def answers_of_mean(mean: float, count: int, longest: float) -> tuple[float, ...]:
    """Return answers of that mean in an order without a trend.

    They are quantiles of an exponential distribution that ends at `longest`.
    """
    places = [-math.log(1 - (i + 0.5) / count) for i in range(count)]
    if mean >= longest:
        return (mean,) * count
    low, high = 0.0, 100.0 * longest
    for _ in range(_HALVINGS):
        scale = (low + high) / 2
        lengths = [min(longest, max(_SHORTEST, scale * place)) for place in places]
        low, high = (scale, high) if sum(lengths) < mean * count else (low, scale)
    order = sorted(range(count), key=lambda i: i * _GOLDEN % 1)
    return tuple(lengths[i] for i in order)


class _Run:
    """Groups of a burst, admitted in order; `steps` counts steps with decodes."""

    def __init__(self, server: Server, size: float, answers: tuple[float, ...]) -> None:
        self.server, self.size, self.answers = server, size, answers
        self.now = self.steps = self.decoding = self.step_seconds = self.ttft = 0.0
        self.running: list[tuple[float, float, float]] = []
        self.seconds: dict[float, float] = {}

    def go(self) -> None:
        """Read each group as soon as it is admitted, and decode until the last one is done."""
        most = max(float(self.server.most), self.size)
        for answer in self.answers:
            while self.decoding + self.size > most:
                self._decode()
            self._read(answer)
        while self.running:
            self._decode()
        self.now += self.server.request

    def _read(self, answer: float) -> None:
        # Steps full of a group's prompts, with running decodes if the engine mixes them.
        mixed = self.server.scheduler.order == "mixed"
        decodes = self.decoding if mixed else 0.0
        space = max(1.0, self.server.scheduler.step_tokens - decodes)
        count = self.size * self.server.prompt / space
        seconds = count * self.server.step(max(decodes, 1e-9), space)
        self.now += seconds
        if mixed:
            self.steps += count
        waited = seconds * (self.size - 1) / (2 * self.size)
        first = self.now - waited
        self.ttft += first + self.server.request
        self.decoding += self.size
        heapq.heappush(self.running, (self.steps + answer - 1, first, answer))
        self._finish()

    def _decode(self) -> None:
        # Steps up to the next end of an answer.
        if self.decoding not in self.seconds:
            self.seconds[self.decoding] = self.server.step(self.decoding)
        self.now += (self.running[0][0] - self.steps) * self.seconds[self.decoding]
        self.steps = self.running[0][0]
        self._finish()

    def _finish(self) -> None:
        while self.running and self.running[0][0] <= self.steps:
            _, first, answer = heapq.heappop(self.running)
            self.step_seconds += (self.now - first) / max(1.0, answer - 1)
            self.decoding = self.size * len(self.running)
