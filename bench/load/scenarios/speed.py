"""Answers in a second of a warm server, next to an echo of the same size through Gradio."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Iterator, Sequence

import httpx

from bench.load.hub import Hub, model_id
from bench.load.outcomes import Outcome
from bench.load.plan import Plan
from bench.load.servers import echo, ready
from bench.load.table import Row
from bench.load.visitors import (
    TIMEOUT_SECONDS,
    Ask,
    Question,
    size,
    through_gradio,
    through_v1,
    visit,
    with_etags,
    zipf,
)


def compare_with_echo(hub: Hub, plan: Plan) -> Iterator[Row]:
    """Let all visitors ask by Zipf's law through Gradio, over plain HTTP, and with ETags."""
    models = [model_id(number) for number in range(plan.popular)]
    with echo() as echo_address, ready(hub) as app:
        for model in models:
            asyncio.run(visit(app.address, through_v1, iter([size(model)]), 1))
        answer = httpx.get(
            f"{app.address}v1/size",
            params={"model": models[0]},
            trust_env=False,
            timeout=TIMEOUT_SECONDS,
        ).json()
        echoes = itertools.repeat(Question("", "echo", {"value": answer}))
        kilobytes = len(json.dumps(answer)) / 1000
        ways: dict[str, tuple[str, Ask, Iterator[Question]]] = {
            f"echo of {kilobytes:.0f} kB through Gradio": (echo_address, through_gradio, echoes),
            "warm, through Gradio": (app.address, through_gradio, zipf(models, 1)),
            "warm, /v1": (app.address, through_v1, zipf(models, 2)),
            "warm, /v1 with ETags": (app.address, with_etags(), zipf(models, 3)),
        }
        for _, ask, questions in list(ways.values())[1:]:
            asyncio.run(visit(app.address, ask, itertools.islice(questions, 300), 8))
        results: dict[str, list[Outcome]] = {name: [] for name in ways}
        walls, processor = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0)
        before_bytes = app.resident_bytes()
        for _ in range(plan.rounds):
            for name, (address, ask, questions) in ways.items():
                started_at = app.processor_seconds()
                outcomes, wall = asyncio.run(
                    visit(address, ask, questions, plan.visitors, plan.seconds)
                )
                results[name] += outcomes
                walls[name] += wall
                processor[name] += app.processor_seconds() - started_at
        yield from _rows(results, walls, processor, (before_bytes, app.resident_bytes()))


def _rows(
    results: dict[str, list[Outcome]],
    walls: dict[str, float],
    processor: dict[str, float],
    memory: tuple[int, int],
) -> Iterator[Row]:
    """The rows, with how many times as many answers as the echo, or as Gradio, each way gives."""
    (echo_name, gradio_name, *others) = results
    rates = {name: _answered(of) / walls[name] for name, of in results.items()}
    yield Row(echo_name, results[echo_name], walls[echo_name])
    p95 = _p95(results[gradio_name]) / _p95(results[echo_name])
    remark = f"{rates[gradio_name] / rates[echo_name]:.2f} × the echo, p95 {p95:.2f} ×"
    of = (results[gradio_name], walls[gradio_name])
    yield Row(gradio_name, *of, None, *memory, processor[gradio_name], remark)
    for name in others:
        remark = f"{rates[name] / rates[gradio_name]:.2f} × through Gradio"
        of = (results[name], walls[name])
        yield Row(name, *of, processor_seconds=processor[name], remark=remark)


def _answered(outcomes: Sequence[Outcome]) -> int:
    return sum(outcome.kind == "ok" for outcome in outcomes)


def _p95(outcomes: Sequence[Outcome]) -> float:
    seconds = sorted(outcome.seconds for outcome in outcomes if outcome.kind == "ok")
    return seconds[int(0.95 * (len(seconds) - 1))]
