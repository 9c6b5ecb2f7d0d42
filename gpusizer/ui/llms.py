"""llms.txt: what gpusizer is and how to call it, for readers that are programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import gradio as gr
from gradio.utils import get_function_description

_INTRODUCTION = """# gpusizer

> Which GPUs run a Hugging Face model, how fast and for how much: exact parameters from the
> files' headers, memory as each engine allocates it, every number with its provenance and band.

Sizes are integers of bytes (GB is 10^9, GiB is 2^30). A failure is an answer too:
{"schema_version": 1, "error": {"code", "message"}}. By HTTP, a parameter's name that is
wrong or missing gets that object with status 422.

## Ways to call

- HTTP: POST a JSON object of named parameters to /gradio_api/call/v2/NAME, then read the
  events of /gradio_api/call/NAME/EVENT_ID.
- Python: gradio_client.Client(ADDRESS).predict(..., api_name="/NAME")
- Model Context Protocol (streamable HTTP): /gradio_api/mcp/

## Endpoints
"""


def llms_text(demo: gr.Blocks) -> str:
    """The document, with every public endpoint of an application."""
    endpoints = demo.get_api_info()["named_endpoints"]
    meanings = {f"/{one.api_name}": _meanings(one.fn) for one in demo.fns.values()}
    parts = (_endpoint(name, of, meanings.get(name, {})) for name, of in endpoints.items())
    return _INTRODUCTION + "".join(parts)


def _meanings(function: Callable[..., Any] | None) -> Mapping[str, str]:
    """What the docstring says of each parameter."""
    return {} if function is None else get_function_description(function)[1]


def _endpoint(name: str, of: Mapping[str, Any], meanings: Mapping[str, str]) -> str:
    summary = " ".join(str(of.get("description") or "").split())
    parameters = (_parameter(one, meanings) for one in of["parameters"])
    return "\n".join((f"\n### {name}\n", f"{summary}\n", *parameters)) + "\n"


def _parameter(one: Mapping[str, Any], meanings: Mapping[str, str]) -> str:
    name, kind = one["parameter_name"], one["python_type"]["type"]
    default = f", default {one['parameter_default']!r}" if one["parameter_has_default"] else ""
    return f"- `{name}` ({kind}{default}): {meanings.get(name, '')}"
