"""llms.txt: for programs, what gpusizer is and how to call it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import gradio as gr
from gradio.data_classes import APIEndpointInfo
from gradio.utils import get_function_description

from gpusizer.ui.server.doors.call_validation import Parameter

_INTRODUCTION = Path(__file__).with_suffix(".md")


def llms_text(blocks: gr.Blocks) -> str:
    """Write the document, with every public endpoint of an application."""
    endpoints = blocks.get_api_info()["named_endpoints"]
    meanings = {
        f"/{listener.api_name}": get_function_description(listener.fn)[1]
        for listener in blocks.fns.values()
        if listener.fn is not None
    }
    parts = (
        _endpoint(name, endpoint, meanings.get(name, {})) for name, endpoint in endpoints.items()
    )
    return _INTRODUCTION.read_text(encoding="utf-8") + "".join(parts)


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
