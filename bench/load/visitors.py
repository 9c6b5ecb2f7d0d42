"""Visitors: so many coroutines that ask one question after another, in one of three ways."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from bench.load.outcomes import Outcome

TIMEOUT_SECONDS = 60.0
_LONGEST_WAIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Question:
    """A question by its path below `/v1`, Gradio's endpoint and its fields."""

    path: str
    endpoint: str
    fields: dict[str, Any]
    token: str | None = None


Ask = Callable[[httpx.AsyncClient, str, Question], Awaitable[Outcome]]


def size(model: str, token: str | None = None) -> Question:
    """The question that most visitors have."""
    return Question("size", "size_model", {"model": model}, token)


def zipf(models: Sequence[str], seed: int) -> Iterator[Question]:
    """Questions without an end, models by Zipf's law; the same for the same seed."""
    generator = random.Random(seed)
    shares = list(itertools.accumulate(1 / rank for rank in range(1, len(models) + 1)))
    while True:
        (model,) = generator.choices(models, cum_weights=shares)
        yield _mixed(model, generator)


def _mixed(model: str, generator: random.Random) -> Question:
    """Seven visitors in ten ask for a model's size; the others share three questions."""
    kind = generator.random()
    if kind < 0.7:
        return size(model)
    if kind < 0.8:
        return Question("train", "train_model", {"model": model, "method": "lora"})
    if kind < 0.9:
        fields = {"gpus": ["4090", "h100"], "model": model}
        return Question("compare", "compare_gpus", fields)
    return Question("gpus", "list_gpus", {"query": generator.choice(("4090", "h100", "a10"))})


async def through_v1(client: httpx.AsyncClient, address: str, question: Question) -> Outcome:
    """Ask over plain HTTP."""
    return await _get(client, address, question, {})


def with_etags() -> Ask:
    """Ask over plain HTTP as a client does that keeps what it was answered."""
    etags: dict[str, str] = {}

    async def ask(client: httpx.AsyncClient, address: str, question: Question) -> Outcome:
        key = json.dumps([question.path, question.fields])
        known = {"if-none-match": etags[key]} if key in etags else {}

        def keep(response: httpx.Response) -> None:
            if "etag" in response.headers:
                etags[key] = response.headers["etag"]

        return await _get(client, address, question, known, keep)

    return ask


async def _get(
    client: httpx.AsyncClient,
    address: str,
    question: Question,
    headers: dict[str, str],
    on_response: Callable[[httpx.Response], None] = lambda response: None,
) -> Outcome:
    if question.token is not None:
        headers = {**headers, "authorization": f"Bearer {question.token}"}
    start = time.perf_counter()
    url = f"{address}v1/{question.path}"
    try:
        response = await client.get(url, params=question.fields, headers=headers)
    except httpx.TransportError as error:
        return Outcome(time.perf_counter() - start, 0, type(error).__name__)
    on_response(response)
    return _outcome(response, time.perf_counter() - start)


async def through_gradio(client: httpx.AsyncClient, address: str, question: Question) -> Outcome:
    """Ask as `gradio_client` and pages do: post the event, then read its stream to the end."""
    start, calls = time.perf_counter(), f"{address}gradio_api/call"
    fields = question.fields
    if question.token is not None:
        fields = {**fields, "oauth_token": question.token}
    try:
        posted = await client.post(f"{calls}/v2/{question.endpoint}", json=fields)
        if posted.status_code != httpx.codes.OK:
            return _outcome(posted, time.perf_counter() - start)
        stream = await client.get(f"{calls}/{question.endpoint}/{posted.json()['event_id']}")
    except httpx.TransportError as error:
        return Outcome(time.perf_counter() - start, 0, type(error).__name__)
    seconds = time.perf_counter() - start
    kind, _, data = stream.text.strip().rpartition("\n")
    if "event: complete" not in kind:
        return Outcome(seconds, stream.status_code, stream.text[:60])
    code = _code_of(data[len("data: [") : -1]) if '"error"' in data[:200] else ""
    return Outcome(seconds, stream.status_code, code, size_bytes=len(stream.content))


def _outcome(response: httpx.Response, seconds: float) -> Outcome:
    wait = response.headers.get("retry-after")
    ok = response.status_code in (httpx.codes.OK, httpx.codes.NOT_MODIFIED)
    return Outcome(
        seconds=seconds,
        status=response.status_code,
        code="" if ok else _code_of(response.text),
        retry_after_seconds=None if wait is None else float(wait),
        size_bytes=len(response.content),
    )


def _code_of(text: str) -> str:
    """The code of an error object; the beginning of a text that is none."""
    try:
        return str(json.loads(text)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return text[:60]


async def visit(
    address: str | Sequence[str],
    ask: Ask,
    questions: Iterator[Question],
    visitors: int,
    seconds: float | None = None,
) -> tuple[list[Outcome], float]:
    """Let visitors ask until `seconds` have passed, or until there are no more questions.

    Visitors are spread over several addresses. Whoever is refused waits as long as the answer
    says, at most five seconds. Returns the outcomes, and the seconds that all took together.
    """
    addresses = [address] if isinstance(address, str) else list(address)
    outcomes: list[Outcome] = []
    start = time.perf_counter()
    # A server closes idle connections after five seconds: a client must be the first to do so.
    limits = httpx.Limits(max_keepalive_connections=visitors, keepalive_expiry=2.0)
    options = {"limits": limits, "timeout": TIMEOUT_SECONDS, "trust_env": False}

    async def one_visitor(client: httpx.AsyncClient, number: int) -> None:
        for question in questions:
            outcome = await ask(client, addresses[number % len(addresses)], question)
            outcomes.append(outcome)
            if seconds is not None and time.perf_counter() - start >= seconds:
                return
            if outcome.kind == "refused":
                wait = outcome.retry_after_seconds or _LONGEST_WAIT_SECONDS
                await asyncio.sleep(min(wait, _LONGEST_WAIT_SECONDS))

    async with httpx.AsyncClient(**options) as client:  # type: ignore[arg-type]
        await asyncio.gather(*(one_visitor(client, number) for number in range(visitors)))
    return outcomes, time.perf_counter() - start
