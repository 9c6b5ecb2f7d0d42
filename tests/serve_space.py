"""The application with sign-in as a Space serves it: `python -m tests.serve_space`.

It prints its address, its routes and its functions with values that read a private model, then
serves until it is stopped. The file TOKENS gets each visitor's token that the Hub would be asked
with.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fastapi.routing import iter_route_contexts
from starlette.routing import Mount

from gpusizer.composition.server import compose_from_environment
from gpusizer.ui import Application
from gpusizer.ui.server.doors import request_limits
from gpusizer.ui.serving import PagePath, launch
from scrapers.fetcher import Fetcher
from tests.ports import free_port
from tests.space import PRIVATE_MODEL

NEEDED = {
    "model": PRIVATE_MODEL,
    "models": [PRIVATE_MODEL],
    "gpu": "4090",
    "gpus": ["4090"],
}


def serve() -> None:
    """Serve on a free port until stopped."""
    request_limits.BODY_SECONDS = float(os.environ.get("BODY_SECONDS", "20"))
    note_tokens(Path(os.environ["TOKENS"]))
    application = compose_from_environment()
    url = launch(application, quiet=True, server_name="127.0.0.1", server_port=free_port())
    routes = list(routes_of(application.endpoints.app.routes))
    pages = ["", *(f"/{language}" for language in application.pages)]
    told = {"url": url, "routes": routes, "functions": functions_of(application), "pages": pages}
    print(json.dumps(told), flush=True)
    application.endpoints.block_thread()


def note_tokens(path: Path) -> None:
    """Write each token that a visitor's reading would use to a file."""
    for_visitor = Fetcher.for_visitor

    def noting(self: Fetcher, token: str | None) -> Fetcher:
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{token}\n")
        return for_visitor(self, token)

    Fetcher.for_visitor = noting  # type: ignore[method-assign]


def routes_of(routes: list[Any], prefix: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield path and methods of every route, of mounted pages too."""
    for context in iter_route_contexts(routes):
        route, path = context.original_route, prefix + str(context.path)
        inner = getattr(route, "app", None)
        while inner is not None and not isinstance(inner, PagePath):
            inner = getattr(inner, "app", None)
        if isinstance(inner, PagePath) and path.endswith("/{path:path}"):
            page: Any = inner._page
            yield from routes_of(page.routes, path.removesuffix("/{path:path}"))
        elif isinstance(route, Mount) and route.routes:
            yield from routes_of(route.routes, path)
        else:
            yield path, sorted(context.methods or {"GET", "POST"})


def functions_of(application: Application) -> list[dict[str, Any]]:
    """Return what callers may call on each page, with values that read a private model."""
    pages = {f"/{language}": blocks for language, blocks in application.pages.items()}
    functions = []
    for page, blocks in {"": application.endpoints, **pages}.items():
        described = blocks.get_api_info()["named_endpoints"]
        for number, function in blocks.fns.items():
            if function.fn is None:
                continue
            parameters = described.get(f"/{function.api_name}", {}).get("parameters")
            told = {"page": page, "number": number, "name": function.api_name}
            functions.append({**told, **values_of(function.inputs, parameters)})
    return functions


def values_of(inputs: list[Any], parameters: list[dict[str, Any]] | None) -> dict[str, Any]:
    """Return a call's values in order, and by name where the function is documented."""
    if parameters is None:
        return {"values": [value_of(part, len(inputs)) for part in inputs], "named": None}
    names = [parameter["parameter_name"] for parameter in parameters]
    defaults = [parameter.get("parameter_default") for parameter in parameters]
    values = [NEEDED.get(name, value) for name, value in zip(names, defaults, strict=True)]
    return {"values": values, "named": {name: NEEDED[name] for name in names if name in NEEDED}}


def value_of(part: Any, others: int) -> Any:
    """Return the value of a listener's component, of `others` with it, that asks for the model."""
    if str(part.elem_id).endswith("-wishes"):
        return json.dumps([["load", f"?model={PRIVATE_MODEL}&gpus=rtx-4090-24gb"]])
    if str(part.label) == "query":
        return "" if others > 3 else f"model={PRIVATE_MODEL}"
    return part.value


if __name__ == "__main__":
    serve()
