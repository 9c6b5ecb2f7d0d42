"""Two replicas behind nginx by the files of `deploy/`; one is killed under load."""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from bench.emulated_hub import Hub
from bench.load.visitors import (
    TIMEOUT_SECONDS,
    Ask,
    Met,
    Outcome,
    Question,
    model_id,
    size,
    through_gradio,
    through_v1,
)
from gpusizer.hub.model_ref import ModelRef
from scrapers.cache.redis_link import PREFIX, RedisEntries, RedisLink
from scrapers.cache.snapshot_cache import SnapshotCache
from tests.replicas import VISITORS, Deployment, Replica, deployed

_SETTINGS = {"GPUSIZER_QUESTIONS_PER_MINUTE": "off"}
_LATENCY_SECONDS = 0.2  # of a request to the Hub; a model takes three, one after another
_WARM = 20
_REST_SECONDS = 2.0  # mean time between an answer and a visitor's next question
_COLD_SHARE, _GRADIO_SHARE = 0.15, 0.2

# time in which visitors who ask about an unread model ask about the same one
_NEW_MODEL_SECONDS = 0.5

# models that one replica reads, and questions about them meanwhile
_READ_AT_ONCE, _ASKED_AT_ONCE = 6, 30
_READING_SECONDS = 0.2
_CARDS = ("4090", "3090", "a10", "l4", "a100")
_CALM_SECONDS = 5.0

# models of one round; the first of those that are read while others wait
_MODELS_A_ROUND, _AT_ONCE = 180, 150


@dataclass
class Round:
    """Outcomes before the end of a replica, and from then on."""

    first: int  # number of the first unread model
    start: float = field(default_factory=time.perf_counter)
    killed_at: float = float("inf")  # time of the replica's end
    is_over: bool = False
    asked_again: int = 0  # calls through Gradio that ended with the replica, and were repeated
    before: list[Outcome] = field(default_factory=list)
    after: list[Outcome] = field(default_factory=list)

    def question(self, generator: random.Random) -> Question:
        """Return the next question of a visitor."""
        number = generator.randrange(_WARM)
        if generator.random() < _COLD_SHARE:
            passed_seconds = time.perf_counter() - self.start
            number = self.first + int(passed_seconds / _NEW_MODEL_SECONDS)
        return size(model_id(number))

    async def ask(
        self, client: httpx.AsyncClient, address: str, question: Question, way: Ask
    ) -> None:
        """Ask, and repeat a question whose answer was lost with the replica."""
        outcome = await way(client, address, question)
        if way is through_gradio and _is_lost(outcome):
            self.asked_again += 1
            again = await way(client, address, question)
            outcome = replace(again, seconds=outcome.seconds + again.seconds)
        was_killed = time.perf_counter() > self.killed_at
        (self.after if was_killed else self.before).append(outcome)


def _is_lost(outcome: Outcome) -> bool:
    # A stream of Gradio's broke, or its event is unknown to the other replica.
    return outcome.status == 0 or outcome.code.startswith("event: error")


def models_of(rounds: int) -> int:
    """Return the number of models that the Hub needs."""
    return _WARM + rounds * _MODELS_A_ROUND


def kill_replicas(hub: Hub, rounds: int) -> Iterator[Met]:
    """Kill each replica by turns while it reads models that others wait for."""
    with TemporaryDirectory() as folder, deployed(Path(folder), hub, _SETTINGS) as running:
        for each in running.replicas:
            running.join(each)
        hub.reset(_LATENCY_SECONDS)
        for number, victim in zip(range(rounds), itertools.cycle(running.replicas)):
            now = Round(models_of(number))
            asyncio.run(_warm_up(running))
            now.start = time.perf_counter()
            asyncio.run(_visit_and_kill(running, victim, now))
            longest, usual = (max(o.seconds for o in part) for part in (now.after, now.before))
            yield Met(
                f"{victim.name} killed",
                now.after,
                time.perf_counter() - now.killed_at,
                f"longest wait {longest:.1f} s, without {usual:.1f} s;"
                f" {now.asked_again} asked Gradio again",
            )
            running.join(victim)
            time.sleep(_CALM_SECONDS)  # until nginx asks it again


async def _warm_up(running: Deployment) -> None:
    # Every replica learns the known models, in both ways.
    async with _client(VISITORS[0]) as client:
        for question in (size(model_id(number)) for number in range(_WARM)):
            for each in running.replicas:
                for way in (through_gradio, through_v1):
                    await way(client, f"http://{each.address}/", question)


async def _visit_and_kill(running: Deployment, victim: Replica, now: Round) -> None:
    async def kill() -> None:
        now.killed_at = time.perf_counter()
        await asyncio.to_thread(running.leave, victim)

    async def spare() -> None:
        """Leave the other replica alive."""

    async def crowds() -> None:
        await asyncio.sleep(_CALM_SECONDS)
        await _crowd(running, victim, now, now.first + _AT_ONCE, spare)
        await asyncio.sleep(_CALM_SECONDS)
        await _crowd(running, victim, now, now.first + _AT_ONCE + _READ_AT_ONCE, kill)
        await asyncio.sleep(2 * _CALM_SECONDS)
        now.is_over = True

    await asyncio.gather(crowds(), *(_visit(running, address, now) for address in VISITORS))


async def _visit(running: Deployment, address: str, now: Round) -> None:
    generator = random.Random(f"{address} {now.first}")
    async with _client(address) as client:
        while not now.is_over:
            await asyncio.sleep(generator.expovariate(1 / _REST_SECONDS))
            way = through_gradio if generator.random() < _GRADIO_SHARE else through_v1
            await now.ask(client, f"http://{running.proxy}/", now.question(generator), way)


async def _crowd(
    running: Deployment, victim: Replica, now: Round, first: int, end: Callable[[], Awaitable[None]]
) -> None:
    # One replica reads models and others ask about them; `end` comes before they are read.
    models = [model_id(first + number) for number in range(_READ_AT_ONCE)]
    async with AsyncExitStack() as stack:
        direct, *clients = [
            await stack.enter_async_context(_client(address))
            for address in (VISITORS[0], *VISITORS)
        ]
        readings = [
            asyncio.create_task(through_v1(direct, f"http://{victim.address}/", size(model)))
            for model in models
        ]
        await _until_read(running, models)
        waits = []
        for number in range(_ASKED_AT_ONCE):
            fields = {
                "model": models[number % _READ_AT_ONCE],
                "gpus": [_CARDS[number // _READ_AT_ONCE], "h100"],
            }
            question = Question("compare", "compare_gpus", fields)
            way = through_v1 if number % 4 else through_gradio
            client = clients[number % len(clients)]
            asked = now.ask(client, f"http://{running.proxy}/", question, way)
            waits.append(asyncio.create_task(asked))
        await asyncio.sleep(_READING_SECONDS)
        await end()
        await asyncio.gather(*readings, *waits)


async def _until_read(running: Deployment, models: list[str]) -> None:
    # Until a replica holds the locks of all models.
    cache = SnapshotCache(RedisEntries(RedisLink(running.redis.url)), running.hub.endpoint)
    names = [f"{PREFIX}{cache.flight_name(ModelRef(model))}" for model in models]
    with running.redis.client as client:
        while client.exists(*names) < len(names):
            await asyncio.sleep(0.01)


def _client(address: str) -> httpx.AsyncClient:
    # Its connections come from one address of loopback.
    transport = httpx.AsyncHTTPTransport(local_address=address, verify=False)
    return httpx.AsyncClient(transport=transport, timeout=TIMEOUT_SECONDS, trust_env=False)
