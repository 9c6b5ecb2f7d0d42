"""Models that the server does not know yet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from bench.load.hub import Hub, model_id
from bench.load.plan import Plan
from bench.load.servers import ready
from bench.load.table import Row
from bench.load.visitors import size, through_v1, visit

_PART = 4
"""Parts of the distinct models, between which memory is read."""


def ask_of_unknown_models(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Every visitor asks about a model of its own, at the same time."""
    models = [model_id(number) for number in range(plan.visitors)]
    with ready(hub) as app:
        hub.reset()
        questions = (size(model) for model in models)
        outcomes, wall = asyncio.run(visit(app.address, through_v1, questions, plan.visitors))
        yield Row("cold, a model each", outcomes, wall, hub.requests() / len(models))


def ask_of_one_unknown_model(hub: Hub, plan: Plan) -> Iterator[Row]:
    """All visitors ask about one model at the same time."""
    with ready(hub) as app:
        hub.reset()
        questions = (size(model_id(0)) for _ in range(plan.visitors))
        outcomes, wall = asyncio.run(visit(app.address, through_v1, questions, plan.visitors))
        yield Row("cold, one model for all", outcomes, wall, hub.requests())


def ask_of_distinct_models(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Ask about many models once each; memory is read after every quarter of them."""
    with ready(hub) as app:
        asyncio.run(visit(app.address, through_v1, iter([size(model_id(0))]), 1))
        step = max(plan.distinct // _PART, 1)
        for start in range(0, plan.distinct, step):
            numbers = range(start, min(start + step, plan.distinct))
            before_bytes = app.resident_bytes()
            hub.reset()
            started_at = app.processor_seconds()
            questions = (size(model_id(number)) for number in numbers)
            outcomes, wall = asyncio.run(visit(app.address, through_v1, questions, 16))
            processor_seconds = app.processor_seconds() - started_at
            requests = hub.requests() / len(numbers)
            name = f"distinct models {numbers.start + 1:,} to {numbers.stop:,}"
            memory = (before_bytes, app.resident_bytes())
            yield Row(name, outcomes, wall, requests, *memory, processor_seconds)
