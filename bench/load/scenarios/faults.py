"""A Hub that is down, or limits the rate."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.load.hub import Hub, model_id
from bench.load.plan import Plan
from bench.load.servers import started
from bench.load.table import Row
from bench.load.visitors import size, through_gradio, through_v1, visit

_KNOWN = 40
_UNKNOWN = 20
_SHORT_TIMEOUT = {"GPUSIZER_TIMEOUT_SECONDS": "5"}


def without_the_hub(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Every connection to the Hub is reset: known models are answered, others refused."""
    yield from _under(hub, plan, "Hub down", {"kind": "reset"})


def in_a_storm_of_429(hub: Hub, plan: Plan) -> Iterator[Row]:
    """The Hub answers 429 to everything: known models are answered, others refused."""
    headers = {"Retry-After": "30"}
    yield from _under(hub, plan, "429", {"kind": "status", "status": 429, "headers": headers})


def _under(hub: Hub, plan: Plan, name: str, fault: dict[str, object]) -> Iterator[Row]:
    """Fill a cache, let it expire, and ask a new process while the Hub fails."""
    known = [size(model_id(number)) for number in range(_KNOWN)]
    unknown = [size(model_id(number)) for number in range(_KNOWN, _KNOWN + _UNKNOWN)]
    with TemporaryDirectory() as text:
        folder = Path(text)
        with started(hub, folder) as app:
            app.wait_until_ready()
            asyncio.run(visit(app.address, through_v1, iter(known), 8))
        _let_expire(app.cache)
        hub.fail(fault)
        try:
            with started(hub, folder, settings=_SHORT_TIMEOUT) as app:
                app.wait_until_ready()
                asked = itertools.islice(itertools.cycle(known), 5 * plan.visitors)
                ways = (
                    ("known models, /v1", through_v1, asked, plan.visitors),
                    ("known models, Gradio", through_gradio, iter(known), 8),
                    ("unknown models, /v1", through_v1, iter(unknown), _UNKNOWN),
                )
                for way, ask, questions, visitors in ways:
                    outcomes, wall = asyncio.run(visit(app.address, ask, questions, visitors))
                    yield Row(f"{name}: {way}", outcomes, wall)
        finally:
            hub.fail()


def _let_expire(cache: Path) -> None:
    """Say of every commit on disk that it was checked long ago."""
    for path in cache.glob("commit-*.json"):
        resolution = json.loads(path.read_text("utf-8"))
        path.write_text(json.dumps({**resolution, "checked_at": 0}), "utf-8")
