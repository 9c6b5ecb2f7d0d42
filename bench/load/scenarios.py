"""The scenarios by name, in order of their runs. Each yields rows as they are known."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from bench.emulated_hub import Hub
from bench.load.replicas import kill_replicas
from bench.load.servers import App, echo, ready, started
from bench.load.visitors import (
    TIMEOUT_SECONDS,
    Ask,
    Met,
    Outcome,
    Question,
    met,
    model_id,
    size,
    through_gradio,
    through_v1,
    visit,
    with_etags,
    zipf,
)
from tests.hub_emulator.faults import Fault
from tests.hub_emulator.models import llama_repo
from tests.hub_emulator.repos import FakeRepo


@dataclass(frozen=True, slots=True)
class Plan:
    """Duration and number of visitors of all measurements."""

    visitors: int = 200  # number that asks at the same time
    seconds: float = 10.0  # duration of a measurement
    rounds: int = 1  # rounds of the speeds by turns, and of killed replicas
    models: int = 2_000  # of the soak, each asked about at least once
    soak_calls: int = 4_000  # calls of the soak


# Models of a warm cache; known and unknown ones when the Hub fails; those that are stored during
# the kill.
_WARM, _KNOWN, _UNKNOWN, _STORED = 120, 40, 20, 60
MOST_NAMED = 120  # models that a scenario other than the soak needs in addition to one per visitor
_STORED_BEFORE_KILL = 20
_LOOK_SECONDS = 0.02
_SHORT_TIMEOUT = {"GPUSIZER_TIMEOUT_SECONDS": "5"}
_SOAK_PARTS = 10

# Parts of the soak in which caches fill. A part through Gradio, one over plain HTTP and another
# through Gradio reach every limit that counts sessions, events or answers.
_WARM_UP = 3
_IDLE_SECONDS = 5.0


# Layers and heads of 128 dimensions: 96 models of 1 to 11 billion parameters, so that caches by
# architecture have many entries.
_SHAPES = tuple((layers, heads) for heads in (16, 24, 32, 40) for layers in range(16, 40))


def repositories(models: int) -> list[FakeRepo]:
    """Return `models` repositories that share the files of a few shapes."""
    shapes = [
        llama_repo(
            f"load/shape-{layers}-{heads}",
            layers=layers,
            hidden=heads * 128,
            intermediate=heads * 448,
            heads=heads,
            kv_heads=8,
            vocab=128_256,
            shards=2,
        ).files
        for layers, heads in _SHAPES
    ]
    return [FakeRepo(model_id(number), shapes[number % len(shapes)]) for number in range(models)]


def _sizes(models: Iterator[int] | range) -> Iterator[Question]:
    return (size(model_id(number)) for number in models)


def compare_with_echo(hub: Hub, plan: Plan) -> Iterator[Met]:
    """Let all visitors ask by Zipf's law through Gradio, over plain HTTP, and with ETags."""
    models = [model_id(number) for number in range(_WARM)]
    with echo() as echo_address, ready(hub) as app:
        asyncio.run(visit(app.address, through_v1, _sizes(range(_WARM)), 1))
        answer = httpx.get(
            f"{app.address}v1/size",
            params={"model": models[0]},
            trust_env=False,
            timeout=TIMEOUT_SECONDS,
        ).json()
        echoes = itertools.repeat(Question("", "echo", {"value": answer}))
        echo_name = f"echo of {len(json.dumps(answer)) / 1000:.0f} kB through Gradio"
        ways: dict[str, tuple[str, Ask, Iterator[Question]]] = {
            echo_name: (echo_address, through_gradio, echoes),
            "warm, through Gradio": (app.address, through_gradio, zipf(models, 1)),
            "warm, /v1": (app.address, through_v1, zipf(models, 2)),
            "warm, /v1 with ETags": (app.address, with_etags(), zipf(models, 3)),
        }
        for address, ask, questions in list(ways.values())[1:]:
            asyncio.run(visit(address, ask, itertools.islice(questions, 300), 8))
        rounds = [
            [met(name, *way, plan.visitors, plan.seconds) for name, way in ways.items()]
            for _ in range(plan.rounds)
        ]
        plain, *others = (
            Met(
                each[0].name,
                [o for m in each for o in m.outcomes],
                sum(m.wall_seconds for m in each),
            )
            for each in zip(*rounds, strict=True)
        )
        yield plain
        gradio = others[0]
        p95 = gradio.milliseconds(0.95) / plain.milliseconds(0.95)
        times = f"{gradio.per_second / plain.per_second:.2f} × the echo, p95 {p95:.2f} ×"
        yield _remarked(gradio, f"{times}, {app.resident_bytes() / 1e6:.0f} MB after all")
        for other in others[1:]:
            ratio = other.per_second / gradio.per_second
            yield _remarked(other, f"{ratio:.2f} × through Gradio")


def _remarked(row: Met, remark: str) -> Met:
    return Met(row.name, row.outcomes, row.wall_seconds, remark)


def ask_of_unknown_models(hub: Hub, plan: Plan) -> Iterator[Met]:
    """Let every visitor ask about a model of its own, at the same time."""
    yield from _cold(hub, plan, "cold, a model each", range(plan.visitors))


def ask_by_popularity(hub: Hub, plan: Plan) -> Iterator[Met]:
    """Let all visitors ask a new server at once, by Zipf's law through Gradio."""
    with ready(hub) as app:
        hub.reset()
        asked = zipf([model_id(number) for number in range(_WARM)], 4)
        way = (app.address, through_gradio, asked)
        row = met("cold, by Zipf's law through Gradio", *way, plan.visitors, plan.seconds)
        yield _remarked(row, f"{hub.requests()} requests to the Hub")


def ask_of_one_unknown_model(hub: Hub, plan: Plan) -> Iterator[Met]:
    """Let all visitors ask about one model at the same time."""
    yield from _cold(hub, plan, "cold, one model for all", [0] * plan.visitors)


def _cold(hub: Hub, plan: Plan, name: str, models: Sequence[int]) -> Iterator[Met]:
    with ready(hub) as app:
        hub.reset()
        row = met(name, app.address, through_v1, _sizes(iter(models)), plan.visitors)
        yield _remarked(row, f"{hub.requests() / len(set(models)):.2f} requests to the Hub a model")


def without_the_hub(hub: Hub, plan: Plan) -> Iterator[Met]:
    """Reset every connection to the Hub: known models are answered, others refused."""
    yield from _under(hub, plan, "Hub down", Fault("reset"))


def in_a_storm_of_429(hub: Hub, plan: Plan) -> Iterator[Met]:
    """Let the Hub answer 429: known models are answered, others refused."""
    headers = {"Retry-After": "30"}
    yield from _under(hub, plan, "429", Fault("status", status=429, headers=headers))


def _under(hub: Hub, plan: Plan, name: str, fault: Fault) -> Iterator[Met]:
    # Fills a cache, lets it expire, and asks a new process while the Hub fails.
    known = list(_sizes(range(_KNOWN)))
    with TemporaryDirectory() as text:
        folder = Path(text)
        with started(hub, folder) as app:
            asyncio.run(visit(app.address, through_v1, iter(known), 8))
        for path in app.cache.glob("commit-*.json"):  # every commit was checked long ago
            path.write_text(json.dumps({**json.loads(path.read_bytes()), "checked_at": 0}))
        hub.fail(fault)
        try:
            with started(hub, folder, _SHORT_TIMEOUT) as app:
                asked = itertools.islice(itertools.cycle(known), 5 * plan.visitors)
                yield met(f"{name}: known, /v1", app.address, through_v1, asked, plan.visitors)
                yield met(f"{name}: known, Gradio", app.address, through_gradio, iter(known), 8)
                unknown = _sizes(range(_KNOWN, _KNOWN + _UNKNOWN))
                yield met(f"{name}: unknown, /v1", app.address, through_v1, unknown, _UNKNOWN)
        finally:
            hub.fail()


def after_kill_9(hub: Hub, plan: Plan) -> Iterator[Met]:
    """Kill the process while it reads and stores models; a new one answers from the rest."""
    with TemporaryDirectory() as text:
        folder = Path(text)
        with started(hub, folder) as app:
            outcomes = asyncio.run(_visit_and_kill(app))
        answered = sum(outcome.kind == "ok" for outcome in outcomes)
        snapshots = list(app.cache.glob("snapshot-*.json"))
        unreadable = sum(not _is_entry(path) for path in snapshots)
        with started(hub, folder) as app:
            row = met("after kill -9", app.address, through_v1, _sizes(range(_STORED)), 16)
            left = f"{unreadable} of {len(snapshots)} snapshots unreadable"
            ready_after = f"ready after {app.ready_seconds:.1f} s"
            yield _remarked(row, f"killed after {answered} answers: {left}; {ready_after}")


async def _visit_and_kill(app: App) -> list[Outcome]:
    async def kill() -> None:
        while len(list(app.cache.glob("snapshot-*.json"))) < _STORED_BEFORE_KILL:
            await asyncio.sleep(_LOOK_SECONDS)
        app.process.kill()

    visiting = visit(app.address, through_v1, _sizes(range(_STORED)), 16)
    (outcomes, _), _ = await asyncio.gather(visiting, kill())
    return outcomes


def _is_entry(path: Path) -> bool:
    try:
        return "key" in json.loads(path.read_bytes())
    except ValueError:
        return False


def soak(hub: Hub, plan: Plan) -> Iterator[Met]:
    """Send half of the calls through Gradio, half over plain HTTP, a tenth of them to each row."""
    questions = each_and_zipf([model_id(number) for number in range(plan.models)], plan.soak_calls)
    ways: tuple[tuple[str, Ask], ...] = (("Gradio", through_gradio), ("/v1", through_v1))
    resident_mb = []
    with ready(hub) as app:
        yield _idle(app, "soak: idle before")
        for part in range(_SOAK_PARTS):
            way, ask = ways[part % len(ways)]
            asked = itertools.islice(questions, plan.soak_calls // _SOAK_PARTS)
            name = f"soak: call {(part + 1) * plan.soak_calls // _SOAK_PARTS:,}, {way}"
            row = met(name, app.address, ask, asked, plan.visitors)
            resident_mb.append(app.resident_bytes() / 1e6)
            yield _remarked(row, f"{resident_mb[-1]:.0f} MB")
        yield _idle(app, "soak: idle after")
    low, high = min(resident_mb[_WARM_UP - 1 :]), max(resident_mb[_WARM_UP - 1 :])
    spread = f"{low:.0f} to {high:.0f} MB, ± {(high - low) / (high + low):.1%}"
    yield Met("soak", [], 1.0, f"memory after {_WARM_UP} of {_SOAK_PARTS} parts: {spread}")


def each_and_zipf(models: Sequence[str], calls: int) -> Iterator[Question]:
    """Yield `calls` questions: each model's size once, evenly among questions by Zipf's law.

    With fewer calls than models the last models are left out.
    """
    popular, asked = zipf(models, 100), 0
    for number in range(1, calls + 1):
        if asked < len(models) * number // calls:
            yield size(models[asked])
            asked += 1
        else:
            yield next(popular)


def _idle(app: App, name: str) -> Met:
    # Processor time of the process without any question.
    before = app.processor_seconds()
    asyncio.run(asyncio.sleep(_IDLE_SECONDS))
    share = (app.processor_seconds() - before) / _IDLE_SECONDS
    memory = f"{app.resident_bytes() / 1e6:.0f} MB"
    return Met(name, [], _IDLE_SECONDS, f"{share:.1%} of a processor, {memory}")


SCENARIOS: Mapping[str, Callable[[Hub, Plan], Iterator[Met]]] = {
    "speed": compare_with_echo,
    "cold": ask_of_unknown_models,
    "rush": ask_by_popularity,
    "flight": ask_of_one_unknown_model,
    "hub-down": without_the_hub,
    "rate-limit": in_a_storm_of_429,
    "kill": after_kill_9,
    "replicas": lambda hub, plan: kill_replicas(hub, plan.rounds),
    "soak": soak,
}
