"""The steady state of a server under load, in closed form."""

# With d sequences that decode answers of A steps of T seconds, r = d / (A x T) requests per second
# come and go, and each brings P tokens of prompt. A mixed step holds the decodes and a piece of c
# prompt tokens, so a share f = d x P / (A x c) of the steps is mixed:
#     T = step(d, 0) + f x (step(d, c) - step(d, 0))
# Pieces grow with the load up to the limit of a step; beyond it (f = 1) prompts are the limit,
# fewer sequences decode and the rest waits. Engines that read prompts first stop all answers
# meanwhile:
#     T = step(d, 0) + d x P / (A x c) x step(0, c)
# The first token comes after the wait for the step that runs, for prompts before it, and its own
# pieces. Users and times satisfy Little's law: users = rate x (first token + (A - 1) x T).

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log, sqrt
from statistics import NormalDist

from gpusizer.serving.server import Server

# Arrival of users of a closed loop: one by one, all at the same time, or as a batch whose prompts
# are all read before any answer advances.
SPREAD, AT_ONCE, STATIC = 0.0, 1.0, 2.0
# Requests of each user of a load test, the first of them at the same time for all users: ten in the
# scripts of InferenceMAX (benchmark_serving.py, `--num-prompts` of ten times the concurrency) and
# of NVIDIA's Dynamo (perf.sh, `--request-count`).
ROUNDS = 10.0
ROUNDING = 1e-9  # Relative error of a rate: one that is beyond a limit by less is within it.
_ROUNDS = 60
_CLOSE = 1e-4
_NEAR = 1e-3
_BUSIEST = 0.98  # of the time, prompts: beyond it waits hardly end
_IDLE = 1e-3  # sequences of a rank that hardly anybody asks


@dataclass(frozen=True, slots=True)
class Steady:
    """A rank in its steady state."""

    users: float  # in flight, waiting ones included
    decoding: float  # sequences in a step
    # `ttft`, `step_seconds`: mean seconds to the first token, and between further steps of an
    # answer, each with a token, or several if a draft guesses
    ttft: float
    step_seconds: float
    queue: float  # seconds of `ttft` that are a wait for admission
    prompts: float  # share of `step_seconds` that prompts of others take
    saturated: bool  # prompts come in faster than steps can read them

    def requests_per_second(self, steps: float) -> float:
        """Return the rate by Little's law, for answers of `steps` steps."""
        return self.users / (self.ttft + (steps - 1) * self.step_seconds)


@dataclass(frozen=True, slots=True)
class _Work:
    """Effect of decoding sequences on a step; `busy` is prompts that come over readable ones."""

    decoding: float
    step_seconds: float
    plain: float
    turn: float  # seconds from the start of reading a prompt to its end
    each: float  # seconds that it takes of steps full of prompts
    busy: float
    saturated: bool


def closed_loop(
    server: Server, users: float, together: float = SPREAD, group: float = 1.0
) -> Steady:
    """Return the state of `users` of one rank who send the next request after an answer.

    `together`: `SPREAD` if prompts come one by one; `AT_ONCE` if all come at the same time, which
    moves half of the time that prompts take from further steps to the first token; `STATIC` if all
    prompts are read before any answer advances. `group`: prompts that come in the same step and are
    read together.
    """
    # Decoding sequences are found by false position: users grow with them, nearly in a line; the
    # end that stays counts half each time, so that both ends move (Illinois).
    admitted = min(users, float(server.most))
    best = _steady(server, admitted, admitted, together, group)
    low, few, high, many = 0.0, -admitted, admitted, best.users - admitted
    for _ in range(_ROUNDS if many > 0 else 0):
        middle = (low * many - high * few) / (many - few)
        best = _steady(server, middle, admitted, together, group)
        over = best.users - admitted
        if abs(over) < _CLOSE * admitted:
            break
        if over < 0:
            low, few, many = middle, over, many / 2
        else:
            high, many, few = middle, over, few / 2
    return _queued(server, best, users, admitted)


def load_test(server: Server, users: float, rounds: float = ROUNDS, alike: bool = True) -> Steady:
    """Return the averages of a client that keeps `users` in flight for `rounds` requests each."""
    # All begin at the same time. Answers that differ in length spread their users afterwards. If
    # they are `alike`, users stay together in an engine that reads prompts first: those who began
    # to decode in one step end in one step. In mixed steps those do whose prompts filled one
    # together; they queue again when they come back (`_lined_up`).
    inside = min(users, float(server.most))
    group = min(inside, _read_together(server)) if alike else 1.0
    start = closed_loop(server, users, AT_ONCE, group)
    later = closed_loop(server, users, SPREAD, group)
    if alike and server.scheduler.order == "prompts_first":
        later = start
    elif alike and not later.saturated:
        returned = later.queue + server.request + _lined_up(server, users)
        later = replace(later, ttft=max(later.ttft, min(start.ttft, returned)))
    share = 1 / max(1.0, rounds)
    return replace(
        later,
        ttft=share * (start.ttft - start.queue / 2) + (1 - share) * later.ttft,
        step_seconds=share * start.step_seconds + (1 - share) * later.step_seconds,
        queue=share * start.queue / 2 + (1 - share) * later.queue,
    )


def _read_together(server: Server) -> float:
    # users whose prompts filled one end of a step come back together
    return max(1.0, float(server.scheduler.step_tokens) // server.prompt)


def _lined_up(server: Server, users: float) -> float:
    # Mean seconds to the first token of users who come back group after group. A group is as many
    # prompts as a step takes. Groups that were read a full step apart end their answers a decode
    # step apart, so that several are back within `server.request` seconds. From then on each full
    # step reads one group while one more ends: the line keeps its length. A prompt also waits for
    # half of the step that runs.
    budget = float(server.scheduler.step_tokens)
    inside = min(users, float(server.most))
    together = _read_together(server)
    groups = max(1.0, inside / together)
    pieces = ceil(server.prompt / budget)
    full = pieces * server.step(0.0, min(budget, min(inside, together) * server.prompt))
    line = min(groups, _planned(server) + server.request / server.step(inside))
    return full * (0.5 + line - line * (line - 1) / (2 * groups))


def random_arrivals(server: Server, requests_per_second: float) -> Steady | None:
    """Return one rank under Poisson arrivals; None if more come than it answers."""
    limit, busiest = limit_of(server)
    if requests_per_second > limit * (1 + ROUNDING):
        return None
    low, high = 0.0, busiest.decoding
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        rate = _rate(server, _work_at_random(server, middle))
        low, high = (middle, high) if rate < requests_per_second else (low, middle)
        if high - low < _CLOSE * high:
            break
    return _at_random(server, _work_at_random(server, high), requests_per_second)


def most_at_random(server: Server, ttft_seconds: float | None, share: float) -> Steady | None:
    """Return the fullest state under random arrivals within the latency target, or None."""
    # That share of requests is admitted at once and, if a time is given, has its first token within
    # it. Users at random times are a Poisson number, so the mean must leave room for its
    # fluctuations (square-root staffing: n + z x sqrt(n)).
    z = NormalDist().inv_cdf(share)
    limit, busiest = limit_of(server)

    def state(decoding: float) -> Steady | None:
        work = _work_at_random(server, decoding)
        rate = _rate(server, work)
        found = _at_random(server, work, rate)
        full = rate > limit or found.users + z * sqrt(found.users) > server.most
        late = ttft_seconds is not None and _late(server, work, share) > ttft_seconds
        return None if full or late else found

    high = busiest.decoding
    low = min(_IDLE, high)
    best = state(low)
    if best is None:
        return None
    while high - low > _NEAR * high:
        middle = (low + high) / 2
        found = state(middle)
        low, high = (low, middle) if found is None else (middle, high)
        best = found or best
    return best


def _rate(server: Server, work: _Work) -> float:
    # prompts take less than all of the time
    return min(_ended(server, work), _BUSIEST / work.each)


def _ended(server: Server, work: _Work) -> float:
    # answers per second
    return work.decoding / (server.steps * work.step_seconds)


def _work_at_random(server: Server, decoding: float) -> _Work:
    # at random times, each request finds `decoding` others, and no prompt of its own interrupts its
    # answer
    return _work(server, decoding, decoding)


def _at_random(server: Server, work: _Work, requests_per_second: float) -> Steady:
    running = (_planned(server) - 0.5) * min(1.0, work.decoding) * work.step_seconds
    wait = _random_wait(work.turn, requests_per_second * work.each)
    ttft = server.request + running + work.turn + wait
    users = requests_per_second * (ttft + (server.steps - 1) * work.step_seconds)
    prompts = 1 - work.plain / work.step_seconds
    return Steady(users, work.decoding, ttft, work.step_seconds, 0.0, prompts, False)


def late_at_random(server: Server, state: Steady, share: float) -> float:
    """Return the time of that share of first tokens in a state of `random_arrivals`."""
    # by the closed form
    return _late(server, _work_at_random(server, state.decoding), share)


def _late(server: Server, work: _Work, share: float) -> float:
    # A request waits for the rest of a step with prompts, which is uniform, and its own step holds
    # the prompts that came meanwhile. Prompts queue up if a step holds less than two: then the wait
    # of the waiting ones is about exponential, with Pollaczek-Khinchine's mean.
    rate, missed = _rate(server, work), 1 - share
    reading = min(1.0, rate * work.turn)
    wait = max(0.0, 1 - missed / reading) * work.turn + reading * max(0.0, work.turn - work.plain)
    if 2 * server.prompt > server.scheduler.step_tokens - work.decoding * server.width:
        mean = work.turn / (2 * (1 - min(rate * work.each, 0.999)))
        wait = max(wait, mean * log(max(1.0, reading / missed)))
    return server.request + min(1.0, work.decoding) * work.step_seconds + work.turn + wait


def limit_of(server: Server) -> tuple[float, Steady]:
    """Return the most requests per second that one rank answers, and its state then."""
    # More sequences end more answers and leave a step less room for prompts: beyond the number of
    # equal rates, each further one costs requests.
    low, high = 0.0, float(server.most)
    work = _work_at_random(server, high)
    for _ in range(_ROUNDS if _ended(server, work) > _BUSIEST / work.each else 0):
        middle = (low + high) / 2
        tried = _work_at_random(server, middle)
        if _ended(server, tried) > _BUSIEST / tried.each:
            high = middle
        else:
            low, work = middle, tried
        if high - low < _CLOSE * high:
            break
    rate = _rate(server, work)
    return rate, _at_random(server, work, rate)


def _random_wait(turn: float, busy: float) -> float:
    # Pollaczek-Khinchine for prompts that are read one after the other in equal turns
    busy = min(busy, 0.999)
    return busy * turn / (2 * (1 - busy))


def _planned(server: Server) -> int:
    # a prompt waits for the running step, and for the next if it is planned already
    return 2 if server.ahead else 1


def _steady(
    server: Server, decoding: float, admitted: float, together: float, group: float
) -> Steady:
    # If users come one by one, a prompt waits for its turn, and interrupts all others; if all come
    # at the same time, and their prompts fill n steps, it waits for half of them and its own, (1 +
    # 1 / n) / 2, which do not interrupt its answer.
    work = _work(server, decoding, max(0.0, decoding - 1), group)
    extra = work.step_seconds - work.plain
    prompts = extra * (server.steps - 1)
    first, step_seconds = work.turn, work.step_seconds
    if together == STATIC:
        first, step_seconds = max(work.turn, prompts), work.plain
    elif together == AT_ONCE:
        steps = max(1.0, admitted * server.prompt / server.scheduler.step_tokens)
        first = max(work.turn, prompts * (1 + 1 / steps) / 2)
        step_seconds = work.step_seconds - extra * (1 + 1 / steps) / 2
    behind = max(0.0, admitted - 1)
    wait = 0.0
    if together == SPREAD:
        wait = min(_random_wait(work.turn, work.busy), behind / 2 * work.turn)
    if work.saturated:
        first, wait, step_seconds = work.turn, 0.0, work.step_seconds
    running = _planned(server) * work.step_seconds * behind / (behind + 1)
    ttft = server.request + running + first + wait
    rate = work.decoding / (server.steps * work.step_seconds)
    users = rate * (ttft + (server.steps - 1) * step_seconds)
    prompts = extra / work.step_seconds if work.step_seconds else 0.0
    return Steady(users, work.decoding, ttft, step_seconds, 0.0, prompts, work.saturated)


def _queued(server: Server, state: Steady, users: float, admitted: float) -> Steady:
    # users wait if they are not admitted, or if their prompts are not read
    rate = state.decoding / (server.steps * state.step_seconds)
    inside = admitted if users > admitted else users
    ttft = state.ttft
    if state.saturated:
        ttft = max(ttft, inside / rate - (server.steps - 1) * state.step_seconds)
    cycle = ttft + (server.steps - 1) * state.step_seconds
    queue = max(0.0, (users - inside) / inside * cycle) if inside else float("inf")
    return Steady(
        users,
        state.decoding,
        ttft + queue,
        state.step_seconds,
        queue,
        state.prompts,
        state.saturated,
    )


def _most_decoding(server: Server) -> float:
    # sequences at which every step is full of prompts
    budget = server.scheduler.step_tokens
    each = server.prompt / server.steps
    return budget / (server.width + each)


def _work(server: Server, decoding: float, others: float, group: float = 1.0) -> _Work:
    # prompts of `others` interrupt each of `decoding` sequences, `group` of them at a time
    plain = server.step(max(decoding, 1e-9))
    brought = decoding * server.prompt / server.steps  # prompt tokens for each decode step
    others *= server.prompt / server.steps
    budget = float(server.scheduler.step_tokens)
    if server.scheduler.order == "prompts_first":
        piece = min(max(group * server.prompt, brought), budget)
        reading = server.step(0.0, piece)
        step_seconds = plain + others / piece * reading
        each = server.prompt / budget * server.step(0.0, budget)
        busy = decoding / server.steps * each / step_seconds
        turn = ceil(server.prompt / piece) * reading
        return _Work(decoding, step_seconds, plain, turn, each, busy, False)
    saturated = decoding * server.width + brought > budget
    if saturated:
        decoding = min(decoding, _most_decoding(server))
        brought = decoding * server.prompt / server.steps
        others = brought
        plain = server.step(max(decoding, 1e-9))
    space = max(1.0, budget - decoding * server.width)
    whole = min(group, space // server.prompt) * server.prompt
    piece = min(max(server.prompt / ceil(server.prompt / space), whole, brought), space)
    mixed = server.step(decoding, piece)
    step_seconds = plain + min(1.0, others / piece) * (mixed - plain)
    turn = ceil(server.prompt / piece) * mixed
    each = server.prompt / space * server.step(decoding, space)
    return _Work(decoding, step_seconds, plain, turn, each, brought / space, saturated)
