"""Many calls about many models, with memory over time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator, Sequence

from bench.load.hub import Hub, model_id
from bench.load.plan import Plan
from bench.load.servers import App, ready
from bench.load.table import Row
from bench.load.visitors import Ask, Question, size, through_gradio, through_v1, visit, zipf

_PARTS = 10
_WARM_UP = 3
"""Parts in which caches fill. A part through Gradio, one over plain HTTP and another through Gradio
reach every bound that counts sessions, events or answers."""
_IDLE_SECONDS = 5.0


def for_many_calls(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Half of the calls through Gradio, half over plain HTTP, a tenth of them to each row."""
    models = [model_id(number) for number in range(plan.distinct)]
    questions = each_and_zipf(models, plan.soak_calls)
    ways: tuple[tuple[str, Ask], ...] = (("Gradio", through_gradio), ("/v1", through_v1))
    memory_bytes = []
    with ready(hub) as app:
        yield _idle(app, "soak: idle before")
        for part in range(_PARTS):
            way, ask = ways[part % len(ways)]
            before_bytes, hub_before = app.resident_bytes(), hub.requests()
            asked = itertools.islice(questions, plan.soak_calls // _PARTS)
            outcomes, wall = asyncio.run(visit(app.address, ask, asked, plan.visitors))
            memory_bytes.append(app.resident_bytes())
            name = f"soak: call {(part + 1) * plan.soak_calls // _PARTS:,}, {way}"
            remark = f"{hub.requests() - hub_before} Hub requests"
            yield Row(name, outcomes, wall, None, before_bytes, memory_bytes[-1], remark=remark)
        yield _idle(app, "soak: idle after")
    remark = f"memory after {_WARM_UP} of {_PARTS} parts: {spread(memory_bytes[_WARM_UP - 1 :])}"
    yield Row("soak", [], 1.0, remark=remark)


def each_and_zipf(models: Sequence[str], calls: int) -> Iterator[Question]:
    """So many questions: each model's size once, evenly among questions by Zipf's law.

    With fewer calls than models the last models are left out.
    """
    popular, asked = zipf(models, 100), 0
    for number in range(1, calls + 1):
        if asked < len(models) * number // calls:
            yield size(models[asked])
            asked += 1
        else:
            yield next(popular)


def spread(values: Sequence[int]) -> str:
    """The least and the most of readings of memory, and how far they are from their middle."""
    low, high = min(values), max(values)
    return f"{low / 1e6:.0f} to {high / 1e6:.0f} MB, ± {(high - low) / (high + low):.1%}"


def _idle(app: App, name: str) -> Row:
    """Nobody asks: what the process takes of a processor."""

    async def wait() -> None:
        await asyncio.sleep(_IDLE_SECONDS)

    before = app.processor_seconds()
    asyncio.run(wait())
    share = (app.processor_seconds() - before) / _IDLE_SECONDS
    memory = app.resident_bytes()
    return Row(name, [], _IDLE_SECONDS, None, memory, memory, remark=f"{share:.1%} of a processor")
