"""Honest visitors: they ask at each door, and read what they are answered."""

from __future__ import annotations

import itertools
import json
from collections.abc import Coroutine, Iterator
from random import Random
from typing import Any
from uuid import uuid4

from tests.soak.doors import LANGUAGES, Doors

MODELS = (
    *("Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B-Instruct", "microsoft/phi-4"),
    *("openai/gpt-oss-20b", "google/gemma-4-31B-it", "black-forest-labs/FLUX.1-dev"),
)
_GPUS = ("4090", "h100", "l40s", "mi300x")
_ASK = json.dumps([["ask", ""]])


class Honest:
    """Visitors by turns, each with an address of its own; if `is_varied`, each asks otherwise."""

    def __init__(self, doors: Doors, *, is_varied: bool) -> None:
        self._doors = doors
        self._random = Random(1)
        self._is_varied = is_varied
        self._models = itertools.cycle(MODELS)
        self._languages = itertools.cycle(LANGUAGES)
        self._addresses: Iterator[str] = (
            f"198.51.{number // 250 % 250}.{number % 250}" for number in itertools.count()
        )

    def visits(self) -> Iterator[Coroutine[Any, Any, None]]:
        """All that visitors do, once."""
        yield self.opens_the_page()
        yield self.asks_over_http()
        yield self.calls_endpoints()

    def _fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"model": next(self._models)}
        if self._is_varied:
            fields["context"] = self._random.randrange(1_000, 100_000)
        return fields

    async def opens_the_page(self) -> None:
        """Open a page with address and names, ask a question, see its pictures and another tab."""
        visitor, language, session = next(self._addresses), next(self._languages), uuid4().hex
        doors, fields = self._doors, self._fields()
        page = await doors.get("" if language == "en" else language, visitor)
        assert "gs-form" in page.text
        context = {"gs-context": fields["context"]} if "context" in fields else {}
        asked = {"gs-model": fields["model"], "gs-size-wishes": _ASK, **context}
        for listener, stated in (
            ("names", {}),
            ("size", asked),
            ("draw", {"gs-query": f"model={fields['model']}"}),
            ("train", {"gs-train-model": fields["model"], "gs-train-wishes": _ASK}),
            ("reverse", {"gs-reverse-gpu": "4090", "gs-reverse-wishes": _ASK}),
        ):
            joined = await doors.join(language, listener, session, visitor, **stated)
            assert joined.status_code == 200, joined.text
            told = await doors.read(language, session, visitor)
            assert '"process_completed"' in told and '"success":true' in told, told[-500:]

    async def asks_over_http(self) -> None:
        """Ask a question of each kind below `/v1`, and a badge."""
        visitor, fields = next(self._addresses), self._fields()
        gpus = [_GPUS[0], self._random.choice(_GPUS[1:])]
        for question, stated in (
            ("size", fields),
            ("train", {"model": fields["model"]}),
            ("gpus", {"query": gpus[1]}),
            ("compare", {**fields, "gpus": gpus}),
            ("models-for", {"gpu": gpus[0], "top": 5}),
        ):
            answer = await self._doors.get(f"v1/{question}", visitor, **stated)
            assert answer.status_code == 200, answer.text
        badge = await self._doors.get("v1/badge", visitor, model=fields["model"], gpu=gpus[0])
        assert badge.json()["isError"] is False

    async def calls_endpoints(self) -> None:
        """Two endpoints by their streams, and a tool of MCP."""
        visitor, fields = next(self._addresses), self._fields()
        assert "event: complete" in await self._doors.call("size_model", visitor, **fields)
        assert "event: complete" in await self._doors.call("list_gpus", visitor, query="h100")
        answer = await self._doors.tool("size_model", visitor, **fields)
        assert '"isError":false' in answer, answer[:500]
