"""Doors: how the soak asks a running application, and what statuses it has met."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx

LANGUAGES = ("en", "zh", "pt")
_EVENTS = "gradio_api/queue"
_JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


class Doors:
    """Asks as visitors at the addresses that a proxy has seen; counts the statuses of answers."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = httpx.AsyncClient()
        self.statuses: Counter[int] = Counter()
        self._pages: dict[str, Mapping[str, Any]] = {}

    @asynccontextmanager
    async def opened(self, timeout_seconds: float) -> AsyncIterator[None]:
        """Keep connections until the context is left; only within it can be asked."""
        async with httpx.AsyncClient(
            base_url=self._address, timeout=timeout_seconds, trust_env=False
        ) as self._client:
            yield

    async def get(self, path: str, visitor: str, **query: Any) -> httpx.Response:
        """Ask for a path."""
        return await self._sent("GET", path, visitor, params=query)

    async def post(self, path: str, visitor: str, body: object) -> httpx.Response:
        """Send JSON to a path; of a text its bytes, whatever these are."""
        content = body if isinstance(body, str) else json.dumps(body)
        return await self._sent("POST", path, visitor, content=content, headers=_JSON)

    async def call(self, endpoint: str, visitor: str, **fields: Any) -> str:
        """Call an endpoint as `gradio_client` does, and return the last event of its stream."""
        posted = await self.post(f"gradio_api/call/v2/{endpoint}", visitor, fields)
        if posted.status_code != httpx.codes.OK:
            return ""
        told = await self.get(f"gradio_api/call/{endpoint}/{posted.json()['event_id']}", visitor)
        return told.text

    async def tool(self, name: str, visitor: str, **arguments: Any) -> str:
        """Call a tool of MCP, and return what it answers."""
        call = {"name": name, "arguments": arguments}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        return (await self.post("gradio_api/mcp/", visitor, body)).text

    async def join(
        self, language: str, listener: str, session: str, visitor: str, **stated: Any
    ) -> httpx.Response:
        """Call a listener of a page: its fields as they are first shown, but for those stated."""
        page = await self._page(language)
        name = f"ui_{listener}_{language}"
        called = next(each for each in page["dependencies"] if each["api_name"] == name)
        shown = {each["id"]: each["props"] for each in page["components"]}
        taken = enumerate(shown[each] for each in called["inputs"])
        fields = {each.get("elem_id") or f"field-{n}": each.get("value") for n, each in taken}
        assert stated.keys() <= fields.keys(), fields
        data = [*(fields | stated).values()]
        body = {"data": data, "fn_index": called["id"], "session_hash": session}
        return await self.post(f"{language}/{_EVENTS}/join", visitor, body)

    async def read(self, language: str, session: str, visitor: str) -> str:
        """Read the events of a page's session until all of its calls are answered."""
        path = f"{language}/{_EVENTS}/data"
        return (await self.get(path, visitor, session_hash=session)).text

    async def _page(self, language: str) -> Mapping[str, Any]:
        if language not in self._pages:
            self._pages[language] = (await self.get(f"{language}/config", "198.51.100.1")).json()
        return self._pages[language]

    async def _sent(self, method: str, path: str, visitor: str, **options: Any) -> httpx.Response:
        headers = {"x-forwarded-for": visitor, **options.pop("headers", {})}
        response = await self._client.request(method, path, headers=headers, **options)
        self.statuses[response.status_code] += 1
        return response
