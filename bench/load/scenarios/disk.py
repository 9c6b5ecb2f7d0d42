"""A disk that is full, a cache whose files are damaged, and a process that is killed."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.load.hub import Hub, model_id
from bench.load.outcomes import Outcome
from bench.load.plan import Plan
from bench.load.servers import App, ready, started
from bench.load.table import Row
from bench.load.visitors import Question, size, through_v1, visit

_MODELS = 60
_STORED_BEFORE_KILL = 20
_LOOK_SECONDS = 0.02


def _questions() -> Iterator[Question]:
    return (size(model_id(number)) for number in range(_MODELS))


def on_a_full_disk(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Every write to a file fails: each model is read, and nothing is stored."""
    with ready(hub, can_write=False) as app:
        outcomes, wall = asyncio.run(visit(app.address, through_v1, _questions(), 16))
        stored_bytes = sum(path.stat().st_size for path in app.cache.glob("*"))
        yield Row("disk full", outcomes, wall, remark=f"{stored_bytes} bytes on disk")


def with_a_corrupted_cache(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Cut half of the cache's files and overwrite parts of the others: all are read anew."""
    with TemporaryDirectory() as text:
        folder = Path(text)
        with started(hub, folder) as app:
            app.wait_until_ready()
            asyncio.run(visit(app.address, through_v1, _questions(), 16))
        damaged = _damage(app.cache)
        with started(hub, folder) as app:
            app.wait_until_ready()
            hub.reset()
            outcomes, wall = asyncio.run(visit(app.address, through_v1, _questions(), 16))
            requests = hub.requests() / _MODELS
            remark = f"{damaged} files damaged, {_unreadable(app.cache)} left"
            yield Row("cache corrupted", outcomes, wall, requests, remark=remark)


def after_kill_9(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Kill the process while it reads and stores models; a new one answers from what is left."""
    with TemporaryDirectory() as text:
        folder = Path(text)
        with started(hub, folder) as app:
            app.wait_until_ready()
            outcomes, wall = asyncio.run(_visit_and_kill(app))
            answered = sum(outcome.kind == "ok" for outcome in outcomes)
        unreadable = _unreadable(app.cache)
        stored = len(list(app.cache.glob("snapshot-*.json")))
        with started(hub, folder) as app:
            ready_seconds = app.wait_until_ready()
            outcomes, wall = asyncio.run(visit(app.address, through_v1, _questions(), 16))
            remark = (
                f"killed after {answered} answers: {unreadable} of {stored} snapshots unreadable;"
                f" ready after {ready_seconds:.1f} s"
            )
            yield Row("after kill -9", outcomes, wall, remark=remark)


async def _visit_and_kill(app: App) -> tuple[list[Outcome], float]:
    async def kill() -> None:
        while len(list(app.cache.glob("snapshot-*.json"))) < _STORED_BEFORE_KILL:
            await asyncio.sleep(_LOOK_SECONDS)
        app.process.kill()

    questions = itertools.islice(_questions(), _MODELS)
    result, _ = await asyncio.gather(visit(app.address, through_v1, questions, 16), kill())
    return result


def _damage(cache: Path) -> int:
    """Damage every file of a cache, each in one of three ways; return how many there are."""
    generator, paths = random.Random(1), sorted(cache.glob("*.json"))
    for number, path in enumerate(paths):
        data = bytearray(path.read_bytes())
        if number % 3 == 0:
            data = data[: len(data) // 2]
        elif number % 3 == 1:
            data[len(data) // 2 :] = generator.randbytes(len(data) - len(data) // 2)
        else:
            data = bytearray(b"[]")
        path.write_bytes(bytes(data))
    return len(paths)


def _unreadable(cache: Path) -> int:
    """Files of the cache that are no JSON object with a key; unfinished ones have other names."""
    count = 0
    for path in cache.glob("*.json"):
        try:
            count += "key" not in json.loads(path.read_bytes())
        except ValueError:
            count += 1
    return count
