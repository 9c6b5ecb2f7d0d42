"""A mix of everything for as long as asked, with memory over time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from bench.load.hub import Hub, model_id
from bench.load.plan import Plan
from bench.load.servers import App, ready
from bench.load.table import Row
from bench.load.visitors import Ask, through_gradio, through_v1, visit, zipf

_PARTS = 10
_IDLE_SECONDS = 5.0


def for_a_while(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Half of the time through Gradio, half over plain HTTP, a tenth of the soak to each row."""
    models = [model_id(number) for number in range(plan.distinct)]
    seconds = plan.soak_seconds / _PARTS
    with ready(hub) as app:
        yield _idle(app, "soak: idle before")
        ways: tuple[tuple[str, Ask], ...] = (("Gradio", through_gradio), ("/v1", through_v1))
        for part in range(_PARTS):
            way, ask = ways[part % len(ways)]
            before_bytes, hub_before = app.resident_bytes(), hub.requests()
            questions = zipf(models, 100 + part)
            outcomes, wall = asyncio.run(visit(app.address, ask, questions, plan.visitors, seconds))
            memory = (before_bytes, app.resident_bytes())
            name = f"soak: {(part + 1) * seconds:.0f} s, {way}"
            remark = f"{hub.requests() - hub_before} Hub requests"
            yield Row(name, outcomes, wall, None, *memory, remark=remark)
        yield _idle(app, "soak: idle after")


def _idle(app: App, name: str) -> Row:
    """Nobody asks: what the process takes of a processor."""

    async def wait() -> None:
        await asyncio.sleep(_IDLE_SECONDS)

    before = app.processor_seconds()
    asyncio.run(wait())
    share = (app.processor_seconds() - before) / _IDLE_SECONDS
    memory = app.resident_bytes()
    return Row(name, [], _IDLE_SECONDS, None, memory, memory, remark=f"{share:.1%} of a processor")
