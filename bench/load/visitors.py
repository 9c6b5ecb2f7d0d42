"""Visitors: coroutines that ask one question after another in one of three ways."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx
import pandas as pd

TIMEOUT_SECONDS = 60.0
_LONGEST_WAIT_SECONDS = 5.0

# codes of errors that are neither the caller's nor ours: Gradio's answers have no status
REFUSALS = frozenset({"hub_rate_limited", "hub_unreachable", "server_busy", "too_many_requests"})
_RETRY_STATUSES = frozenset({429, 503})
_OK = frozenset({200, 304})


@dataclass(frozen=True, slots=True)
class Outcome:
    """One call."""

    seconds: float  # from the first byte sent to the last byte received
    status: int  # of HTTP; 0 if the connection broke
    code: str = ""  # of the error object, or ""
    retry_after_seconds: float | None = None  # of the header `Retry-After`, or None

    @property
    def kind(self) -> str:
        """The outcome: "refused" with a time to come again, "ok" or "error"."""
        if self.status in _OK:
            return "refused" if self.code in REFUSALS else "error" if self.code else "ok"
        is_explicit = self.status in _RETRY_STATUSES and self.retry_after_seconds is not None
        return "refused" if is_explicit else "error"


@dataclass(frozen=True)
class Met:
    """Results of visitors' calls."""

    name: str
    outcomes: Sequence[Outcome]
    wall_seconds: float  # duration of all calls together
    remark: str = ""  # further findings

    @cached_property
    def kinds(self) -> Counter[str]:
        """Calls by their kind."""
        return Counter(outcome.kind for outcome in self.outcomes)

    @property
    def per_second(self) -> float:
        """Answers per second."""
        return self.kinds["ok"] / self.wall_seconds

    def milliseconds(self, share: float) -> float:
        """Return a quantile of the time of answers; NaN without any."""
        answered = [outcome.seconds for outcome in self.outcomes if outcome.kind == "ok"]
        return 1000 * float(pd.Series(answered, dtype=float).quantile(share))

    def row(self) -> str:
        """Return a row of the table; kinds of errors go to standard error."""
        errors = Counter(f"{o.status} {o.code}" for o in self.outcomes if o.kind == "error")
        for kind, count in errors.most_common(5):
            print(f"{self.name}: {count} × {kind}", file=sys.stderr)
        times = (f"{self.milliseconds(share):.1f}" for share in (0.50, 0.95, 0.99))
        refused, wrong = self.kinds["refused"], self.kinds["error"]
        counts = (f"{len(self.outcomes):,}", f"{self.per_second:.1f}", *times, refused, wrong)
        return f"| {' | '.join(map(str, (self.name, *counts, self.remark)))} |"


HEAD = (
    "| | calls | per s | p50 ms | p95 ms | p99 ms | refused | errors | remark |\n"
    f"|---|{'---:|' * 7}---|"
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question by its path below `/v1`, Gradio's endpoint and its fields."""

    path: str
    endpoint: str
    fields: dict[str, Any]


Ask = Callable[[httpx.AsyncClient, str, Question], Awaitable[Outcome]]


def model_id(number: int) -> str:
    """Return the ID of a model of the Hub under load."""
    return f"load/model-{number:05}"


def size(model: str) -> Question:
    """Return the question of most visitors."""
    return Question("size", "size_model", {"model": model})


def zipf(models: Sequence[str], seed: int) -> Iterator[Question]:
    """Yield questions without end, models by Zipf's law; equal for equal seeds."""
    generator = random.Random(seed)
    shares = list(itertools.accumulate(1 / rank for rank in range(1, len(models) + 1)))
    while True:
        (model,) = generator.choices(models, cum_weights=shares)
        yield _mixed(model, generator)


def _mixed(model: str, generator: random.Random) -> Question:
    # Seven visitors in ten ask for a model's size; the others share three questions.
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
    """Return a function that asks over plain HTTP and keeps ETags, as a caching client does."""
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
    try:
        posted = await client.post(f"{calls}/v2/{question.endpoint}", json=question.fields)
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
    return Outcome(seconds, stream.status_code, code)


def _outcome(response: httpx.Response, seconds: float) -> Outcome:
    wait = response.headers.get("retry-after")
    ok = response.status_code in (httpx.codes.OK, httpx.codes.NOT_MODIFIED)
    return Outcome(
        seconds=seconds,
        status=response.status_code,
        code="" if ok else _code_of(response.text),
        retry_after_seconds=None if wait is None else float(wait),
    )


def _code_of(text: str) -> str:
    # The beginning of a text that is no error object.
    try:
        return str(json.loads(text)["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return text[:60]


async def visit(
    address: str,
    ask: Ask,
    questions: Iterator[Question],
    visitors: int,
    seconds: float | None = None,
) -> tuple[list[Outcome], float]:
    """Let visitors ask until `seconds` have passed, or until there are no more questions.

    A refused visitor waits as long as the answer says, at most five seconds. Returns the outcomes,
    and the duration of all together in seconds.
    """
    outcomes: list[Outcome] = []
    start = time.perf_counter()
    # An echo closes idle connections after five seconds: a client must be the first to do so.
    limits = httpx.Limits(max_keepalive_connections=visitors, keepalive_expiry=2.0)
    options = {"limits": limits, "timeout": TIMEOUT_SECONDS, "trust_env": False}

    async def one_visitor(client: httpx.AsyncClient) -> None:
        for question in questions:
            outcome = await ask(client, address, question)
            outcomes.append(outcome)
            if seconds is not None and time.perf_counter() - start >= seconds:
                return
            if outcome.kind == "refused":
                wait = outcome.retry_after_seconds or _LONGEST_WAIT_SECONDS
                await asyncio.sleep(min(wait, _LONGEST_WAIT_SECONDS))

    async with httpx.AsyncClient(**options) as client:  # type: ignore[arg-type]
        await asyncio.gather(*(one_visitor(client) for _ in range(visitors)))
    return outcomes, time.perf_counter() - start


def met(
    name: str,
    address: str,
    ask: Ask,
    questions: Iterator[Question],
    visitors: int,
    seconds: float | None = None,
) -> Met:
    """Return the results of visitors who ask as in `visit`."""
    return Met(name, *asyncio.run(visit(address, ask, questions, visitors, seconds)))
