"""llms.txt tells programs what gpusizer is and how to call it."""

from collections.abc import Callable, Mapping

import gradio as gr
from gradio.data_classes import APIEndpointInfo
from gradio.utils import get_function_description

from gpusizer.ui.server.call_validation import Parameter

_INTRODUCTION = """# gpusizer

> Which GPUs run a Hugging Face model, how fast and for how much: exact parameters from the
> files' headers, memory as each engine allocates it, every number with its provenance and band.

Sizes are integers of bytes (GB is 10^9, GiB is 2^30). A failure is an answer too:
{"schema_version": 1, "error": {"code", "message"}}. By HTTP, a parameter's name that is
wrong or missing gets that object with status 422.

## Ways to call

- HTTP: GET /v1/size?model=ORG/NAME, /v1/train, /v1/compare, /v1/gpus, /v1/models-for, with
  every field as a query parameter; errors have a status; described in /v1/openapi.json.
- A badge for a model card: GET /badge?model=ORG/NAME&gpu=4090, an SVG.
- HTTP with events: POST a JSON object of named parameters to /gradio_api/call/v2/NAME, then
  read the events of /gradio_api/call/NAME/EVENT_ID.
- Python: gradio_client.Client(ADDRESS).predict(..., api_name="/NAME")
- Model Context Protocol (streamable HTTP): /gradio_api/mcp/. Tools have the names below. They
  answer in a short form of at most 12,000 characters: `answer` (the conclusion), the best entries
  (`top`), a line for each quantization that matters, caveats. `details=true` gives the whole
  answer. A failure has `isError`.

## Endpoints
"""


def llms_text(blocks: gr.Blocks) -> str:
    """Write the document, with every public endpoint of an application."""
    endpoints = blocks.get_api_info()["named_endpoints"]
    meanings = {f"/{listener.api_name}": _meanings(listener.fn) for listener in blocks.fns.values()}
    parts = (
        _endpoint(name, endpoint, meanings.get(name, {})) for name, endpoint in endpoints.items()
    )
    return _INTRODUCTION + "".join(parts)


def _meanings(function: Callable[..., object] | None) -> Mapping[str, str]:
    """Return the description of each parameter in a function's docstring."""
    return {} if function is None else get_function_description(function)[1]


def _endpoint(name: str, endpoint: APIEndpointInfo, meanings: Mapping[str, str]) -> str:
    summary = " ".join(str(endpoint.get("description") or "").split())
    parameters = (_parameter(parameter, meanings) for parameter in endpoint["parameters"])
    return "\n".join((f"\n### {name}\n", f"{summary}\n", *parameters)) + "\n"


def _parameter(parameter: Parameter, meanings: Mapping[str, str]) -> str:
    name, kind = parameter["parameter_name"], parameter["python_type"]["type"]
    default = (
        f", default {parameter['parameter_default']!r}"
        if parameter["parameter_has_default"]
        else ""
    )
    return f"- `{name}` ({kind}{default}): {meanings.get(name, '')}"
