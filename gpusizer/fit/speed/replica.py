"""A replica under a stream of requests: users in flight, time to the first token, what it bears.

Requests come at random (a Poisson process) with prompts and answers of one length. A replica reads
prompts one after the other, before it goes on with answers, and every user waits meanwhile, as in
`speed/serving.py`. With requests per second r, seconds to read a prompt D and of a step s:

    busy reading  b = r x D
    users         n = r x answer x s(n) / (1 - b)               Little's law, L = r x W
    wait          b x D / (2 x (1 - b))                         Pollaczek-Khinchine, M/D/1
    first token   wait + D + s(n)

so that n users in flight are r(n) = n / (n x D + answer x s(n)) requests per second. Stages of a
pipeline and data-parallel ranks read prompts side by side: b = r x D / lanes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from gpusizer.fit.speed.rate import RateBand

_HALVINGS = 40
_ROUNDING = 1e-9  # relative error of a rate, by which no replica more is needed


@dataclass(frozen=True, slots=True)
class ReplicaPace:
    """How fast one replica works.

    Attributes:
        step: seconds in which each of so many users gets a token.
        prompt_seconds: reading one prompt.
        lanes: prompts that are read side by side.
        answer: tokens of an answer.
        most_users: sequences that fit at once.
    """

    step: Callable[[float], float]
    prompt_seconds: float
    lanes: int
    answer: int
    most_users: int

    def at_speeds(self, steps: RateBand, prompts: RateBand, end: str) -> ReplicaPace:
        """The pace at the "low" or "high" end of the bands of both speeds."""
        step, by = self.step, getattr(steps, end)
        reading = self.prompt_seconds / getattr(prompts, end)
        return replace(self, step=lambda users: step(users) / by, prompt_seconds=reading)

    def requests_per_second(self, users: float) -> float:
        """Requests per second at which so many users are in flight."""
        return self._rate(users, self.step(max(1.0, users)))

    def _rate(self, users: float, step_seconds: float) -> float:
        reading = users * self.prompt_seconds / self.lanes
        return users / (reading + self.answer * step_seconds)

    def first_token_seconds(self, users: float) -> float:
        """Mean seconds to the first token with so many users in flight."""
        step_seconds = self.step(max(1.0, users))
        busy = self._rate(users, step_seconds) * self.prompt_seconds / self.lanes
        wait = busy * self.prompt_seconds / (2 * (1 - busy))
        return wait + self.prompt_seconds + step_seconds

    def user_tokens_per_second(self, users: float) -> float:
        """Answer tokens per second of each user, others' prompts read in between."""
        return self.requests_per_second(users) * self.answer / users


def users_borne(pace: ReplicaPace, ttft_seconds: float | None) -> float:
    """Most users in flight that fit and get their first token in time; 0 where nobody does.

    Below one, a replica rests between requests: then waits are shorter.
    """
    if pace.most_users < 1:
        return 0.0
    if ttft_seconds is None:
        return float(pace.most_users)

    def holds(users: float) -> bool:
        return pace.first_token_seconds(users) <= ttft_seconds

    if holds(pace.most_users):
        return float(pace.most_users)
    if pace.prompt_seconds + pace.step(1.0) >= ttft_seconds:
        return 0.0
    low, high = (1.0, float(pace.most_users)) if holds(1.0) else (0.0, 1.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low


def users_at(pace: ReplicaPace, requests_per_second: float) -> float | None:
    """Users in flight at that rate; None where more come than the replica has room for."""
    high = float(pace.most_users)
    if high < 1 or pace.requests_per_second(high) < requests_per_second * (1 - _ROUNDING):
        return None
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if pace.requests_per_second(middle) < requests_per_second:
            low = middle
        else:
            high = middle
    return high


def replicas_for(
    pace: ReplicaPace, requests_per_second: float, ttft_seconds: float | None
) -> int | None:
    """Fewest replicas that bear a rate together; None where no number of them is in time."""
    users = users_borne(pace, ttft_seconds)
    if users <= 0:
        return None
    each = pace.requests_per_second(users)
    return max(1, math.ceil(requests_per_second / each - _ROUNDING))
