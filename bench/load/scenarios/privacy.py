"""A visitor's token and private repository, looked for everywhere afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import httpx

from bench.load.hub import PRIVATE_MODEL, PRIVATE_TOKEN, Hub, model_id
from bench.load.plan import Plan
from bench.load.servers import App, ready
from bench.load.table import Row
from bench.load.visitors import TIMEOUT_SECONDS, size, through_gradio, through_v1, visit

_TIMES = 10


def search_for_a_visitors_secrets(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Ask about a private model with a token and others without, then look for both names."""
    with ready(hub) as app:
        secret = [size(PRIVATE_MODEL, PRIVATE_TOKEN)] * _TIMES
        others = [size(model_id(number)) for number in range(_TIMES)]
        mixed = [question for pair in zip(secret, others, strict=True) for question in pair]
        outcomes, wall = asyncio.run(visit(app.address, through_v1, iter(mixed), 4))
        gradio, gradio_wall = asyncio.run(visit(app.address, through_gradio, iter(mixed), 4))
        refusals, _ = asyncio.run(visit(app.address, through_v1, iter([size(PRIVATE_MODEL)]), 1))
        places = _places(app)
        named = [
            place
            for place, content in places.items()
            for word in (PRIVATE_TOKEN, PRIVATE_MODEL, PRIVATE_MODEL.partition("/")[2])
            if word.encode() in content
        ]
        remark = (
            f"without the token: {refusals[0].status} {refusals[0].code};"
            f" {len(named)} of {len(places)} places name the token or the model"
        )
        yield Row("private model", [*outcomes, *gradio], wall + gradio_wall, remark=remark)


def _places(app: App) -> dict[str, bytes]:
    """All that is kept, and what anybody may read: log, cache, metrics, health."""
    folder = app.log.parent
    paths = [path for path in folder.rglob("*") if path.is_file()]
    places = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    for name in ("metrics", "healthz", "gradio_api/queue/status", "monitoring/summary"):
        response = httpx.get(f"{app.address}{name}", trust_env=False, timeout=TIMEOUT_SECONDS)
        places[name] = response.content
    return places
