"""The steady state of a server under load, in closed form.

With d sequences that decode, r = d / (A x gap) requests per second come and go, and each brings P
tokens of prompt. A mixed step holds the decodes and a piece of c prompt tokens, so that a share
f = d x P / (A x c) of the steps is mixed:

    gap = step(d, 0) + f x (step(d, c) - step(d, 0))

Pieces grow with the load up to what a step takes; beyond it (f = 1) prompts are the limit, fewer
sequences decode and the rest waits. Engines that read prompts first stop all answers meanwhile:

    gap = step(d, 0) + d x P / (A x c) x step(0, c)

The first token comes after the wait for the step that runs, for prompts before it, and its own
pieces. Users and times satisfy Little's law: users = rate x (first token + (A - 1) x gap).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from gpusizer.fit.serving.server import Server

SPREAD, TOGETHER, AT_ONCE, STATIC = 0.0, 0.95, 1.0, 2.0
"""How far users of a closed loop come together: requests of one length that began together stay
so for a while, and runs differ in how long."""
GATHERED = 6.0
"""Steps full of prompts that users of a closed loop gather in at most; more are spread by their
own turns. Both were chosen with the sources of the runs left out (`python -m bench.serving`), over
0.4 to 1 and 2 to 8: errors of first tokens vary little, their spread between runs by a factor of
two (without a limit 15, with 5 and 8 full steps 8 and 9 from the 10th to the 90th percentile)."""
_ROUNDS = 60
_CLOSE = 1e-4


@dataclass(frozen=True, slots=True)
class Steady:
    """A rank in its steady state.

    Attributes:
        users: in flight, those that wait included.
        decoding: sequences in a step.
        ttft, gap: mean seconds to the first token, and between further ones.
        queue: seconds of `ttft` that are a wait for admission.
        prompts: share of the gap that prompts of others take.
        saturated: prompts come in faster than steps can read them.
    """

    users: float
    decoding: float
    ttft: float
    gap: float
    queue: float
    prompts: float
    saturated: bool

    def requests_per_second(self, answer: int) -> float:
        """Little's law."""
        return self.users / (self.ttft + (answer - 1) * self.gap)


@dataclass(frozen=True, slots=True)
class _Work:
    """What so many decoding sequences mean for a step.

    `turn`: seconds in which a prompt, once its turn has come, is read.
    `busy`: prompts that come over prompts that could be read.
    """

    decoding: float
    gap: float
    plain: float
    turn: float
    busy: float
    saturated: bool


def closed_loop(server: Server, users: float, together: float = TOGETHER) -> Steady:
    """`users` of one rank, each of whom sends the next request when the last was answered.

    `together`: `SPREAD` when prompts come one by one; `AT_ONCE` when all come at the same time,
    which moves half of the time that prompts take from the gaps to the first token; `STATIC` where
    all prompts are read before any answer goes on.
    """
    admitted = min(users, float(server.most))
    low, high = 0.0, admitted
    best = _steady(server, admitted, admitted, together)
    if best.users > admitted:
        for _ in range(_ROUNDS):
            middle = (low + high) / 2
            best = _steady(server, middle, admitted, together)
            if abs(best.users - admitted) < _CLOSE * admitted:
                break
            low, high = (middle, high) if best.users < admitted else (low, middle)
    return _queued(server, best, users, admitted)


def random_arrivals(server: Server, requests_per_second: float) -> Steady | None:
    """One rank under requests at random times (Poisson); None where more come than it answers."""
    limit, _ = limit_of(server)
    if requests_per_second >= limit:
        return None
    low, high = 0.0, float(server.most)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        rate = middle / (server.answer * _work(server, middle).gap)
        low, high = (middle, high) if rate < requests_per_second else (low, middle)
        if high - low < _CLOSE * high:
            break
    work = _work(server, high)
    ttft = server.request + 0.5 * min(1.0, high) * work.gap + work.turn + _random_wait(work)
    users = requests_per_second * (ttft + (server.answer - 1) * work.gap)
    prompts = 1 - work.plain / work.gap
    return Steady(users, high, ttft, work.gap, 0.0, prompts, False)


def limit_of(server: Server) -> tuple[float, Steady]:
    """Most requests per second that one rank answers, and its state then."""
    state = _steady(server, float(server.most), float(server.most), SPREAD)
    return state.decoding / (server.answer * state.gap), state


def _random_wait(work: _Work) -> float:
    """Pollaczek-Khinchine for prompts that are read one after the other in equal turns."""
    busy = min(work.busy, 0.999)
    return busy * work.turn / (2 * (1 - busy))


def _steady(server: Server, decoding: float, admitted: float, together: float) -> Steady:
    """The state with so many decoding; its users are a result.

    The wait for prompts lies between the own one's turn, where users are spread, and half of
    everybody's, where all come at once; between them its logarithm goes by `together`, and at
    most `GATHERED` steps are waited for. What is waited for before the first token does not
    interrupt the answer.
    """
    work = _work(server, decoding)
    extra = work.gap - work.plain
    wave = max(work.turn, extra * (server.answer - 1) / 2)
    if together > AT_ONCE:
        first, gap = max(work.turn, extra * (server.answer - 1)), work.plain
    else:
        if together < AT_ONCE:
            full = server.step(0.0, float(server.scheduler.step_tokens))
            wave = max(work.turn, min(wave, GATHERED * full))
        first = work.turn * float((wave / work.turn) ** together)
        gap = work.gap - together * extra / 2
    behind = max(0.0, admitted - 1)
    wait = max(0.0, 1 - together) * min(_random_wait(work), behind / 2 * work.turn)
    if work.saturated:
        first, wait, gap = work.turn, 0.0, work.gap
    running = work.gap * behind / (behind + 1)
    ttft = server.request + running + first + wait
    rate = work.decoding / (server.answer * work.gap)
    users = rate * (ttft + (server.answer - 1) * gap)
    prompts = extra / work.gap if work.gap else 0.0
    return Steady(users, work.decoding, ttft, gap, 0.0, prompts, work.saturated)


def _queued(server: Server, state: Steady, users: float, admitted: float) -> Steady:
    """The state with all users: whoever is not admitted, or whose prompt is not read, waits."""
    rate = state.decoding / (server.answer * state.gap)
    inside = admitted if users > admitted else users
    ttft = state.ttft
    if state.saturated:
        ttft = max(ttft, inside / rate - (server.answer - 1) * state.gap)
    cycle = ttft + (server.answer - 1) * state.gap
    queue = max(0.0, (users - inside) / inside * cycle) if inside else float("inf")
    return Steady(
        users, state.decoding, ttft + queue, state.gap, queue, state.prompts, state.saturated
    )


def _most_decoding(server: Server) -> float:
    """Sequences at which every step is full of prompts."""
    budget = server.scheduler.step_tokens
    each = server.prompt / server.answer
    return budget / (1 + each)


def _work(server: Server, decoding: float) -> _Work:
    """Gap and turn with so many decoding; the prompts of the others interrupt each."""
    plain = server.step(max(decoding, 1e-9))
    brought = decoding * server.prompt / server.answer  # prompt tokens for each decode step
    others = max(0.0, decoding - 1) * server.prompt / server.answer
    budget = float(server.scheduler.step_tokens)
    if server.scheduler.order == "prompts_first":
        piece = min(max(float(server.prompt), brought), budget)
        reading = server.step(0.0, piece)
        gap = plain + others / piece * reading
        busy = brought / budget * server.step(0.0, budget) / gap
        return _Work(decoding, gap, plain, ceil(server.prompt / piece) * reading, busy, False)
    saturated = decoding + brought > budget
    if saturated:
        decoding = min(decoding, _most_decoding(server))
        brought = decoding * server.prompt / server.answer
        others = brought
        plain = server.step(max(decoding, 1e-9))
    space = max(1.0, budget - decoding)
    pieces = ceil(server.prompt / space)
    piece = min(max(server.prompt / pieces, brought), space)
    mixed = server.step(decoding, piece)
    gap = plain + min(1.0, others / piece) * (mixed - plain)
    turn = ceil(server.prompt / piece) * mixed
    return _Work(decoding, gap, plain, turn, brought / space, saturated)
