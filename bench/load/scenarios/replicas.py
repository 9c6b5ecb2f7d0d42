"""Two replicas over one cache folder, one of which is killed; and Redis, restarted."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from bench.load.hub import Hub, model_id
from bench.load.outcomes import Outcome
from bench.load.plan import Plan
from bench.load.servers import App, started
from bench.load.table import Row
from bench.load.visitors import Ask, Question, through_v1, visit, zipf
from tests.ports import free_port

_KILL_AFTER_SHARE = 0.5
"""Of the seconds of a measurement."""


def with_a_replica_killed(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Visitors of two replicas go to the other one when a connection breaks, as a proxy does."""
    models = [model_id(number) for number in range(plan.popular)]
    with ExitStack() as stack:
        apps = [] if plan.others else _two(hub, stack, {})
        addresses = list(plan.others) or [app.address for app in apps]
        broken: list[str] = []
        visiting = _visit(addresses, models, plan, apps[0].kill if apps else None, broken)
        outcomes, wall = asyncio.run(visiting)
        what = "a replica killed" if apps else "replicas, none killed by us"
        yield Row(what, outcomes, wall, remark=f"{len(broken)} calls went to the other one")


def with_redis_restarted(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Restart the Redis that two replicas share while visitors ask."""
    program = shutil.which("redis-server")
    if program is None:
        yield Row("Redis restarted", [], 1.0, remark="skipped: redis-server is not installed")
        return
    port = free_port()
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", ""]
    models = [model_id(number) for number in range(plan.popular)]
    with ExitStack() as stack:
        redis = [_quiet(command)]
        stack.callback(lambda: redis[-1].terminate())
        apps = _two(hub, stack, {plan.redis_variable: f"redis://127.0.0.1:{port}/0"})

        def restart() -> None:
            redis[-1].kill()
            redis[-1].wait()
            redis.append(_quiet(command))

        addresses = [app.address for app in apps]
        outcomes, wall = asyncio.run(_visit(addresses, models, plan, restart, []))
        yield Row("Redis restarted", outcomes, wall)


def _two(hub: Hub, stack: ExitStack, settings: dict[str, str]) -> list[App]:
    folder = Path(stack.enter_context(TemporaryDirectory()))
    apps = []
    for name in ("one", "two"):
        (folder / name).mkdir()
        shared = {"GPUSIZER_CACHE_DIR": str(folder / "cache"), **settings}
        apps.append(stack.enter_context(started(hub, folder / name, settings=shared)))
    for app in apps:
        app.wait_until_ready()
    return apps


async def _visit(
    addresses: Sequence[str],
    models: Sequence[str],
    plan: Plan,
    disturb: Callable[[], None] | None,
    broken: list[str],
) -> tuple[list[Outcome], float]:
    async def disturb_later() -> None:
        await asyncio.sleep(_KILL_AFTER_SHARE * plan.seconds)
        if disturb is not None:
            await asyncio.to_thread(disturb)

    visiting = visit(
        addresses, _failing_over(addresses, broken), zipf(models, 5), plan.visitors, plan.seconds
    )
    result, _ = await asyncio.gather(visiting, disturb_later())
    return result


def _failing_over(addresses: Sequence[str], broken: list[str]) -> Ask:
    """Ask the next address once where a connection breaks, and stay away from the broken one."""

    async def ask(client: httpx.AsyncClient, address: str, question: Question) -> Outcome:
        order = itertools.chain([address], (other for other in addresses if other != address))
        alive = [place for place in order if place not in broken[:1]] or [address]
        outcome = await through_v1(client, alive[0], question)
        if outcome.status == 0 and len(addresses) > 1:
            broken.append(alive[0])
            others = [place for place in addresses if place != alive[0]]
            outcome = await through_v1(client, others[0], question)
        return outcome

    return ask


def _quiet(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
