"""Desks of embedded models, and their files as programs read them."""

from __future__ import annotations

from functools import cache
from typing import Any

import yaml

from gpusizer.api.desk import desk_answer
from gpusizer.text import say_note
from gpusizer.usecases.desk import Desk, desk
from gpusizer.usecases.requests.desk_request import DeskRequest
from tests.sizers import embedded_sizer

CHAT, MEDIUM, MIDDLE = "Qwen/Qwen3-30B-A3B", "Qwen/Qwen3-14B", "Qwen/Qwen3-32B"
SMALL, TINY = "Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B"
LARGE = "Qwen/Qwen2.5-72B-Instruct"
WHISPER, BGE, FLUX = (
    "openai/whisper-large-v3",
    "BAAI/bge-large-en-v1.5",
    "black-forest-labs/FLUX.1-dev",
)
MIXED = (f"{CHAT} users=2 context=32768", BGE, f"{WHISPER} resident=no", FLUX)
SERVERS = tuple(f"{model} engine=vllm" for model in (SMALL, TINY, WHISPER))


@cache
def placed(*models: str, gpu: str = "", **more: Any) -> Desk:
    return desk(embedded_sizer(), DeskRequest.from_fields({"models": models, "gpu": gpu, **more}))


@cache
def answered(*models: str, gpu: str = "") -> dict[str, Any]:
    return desk_answer(placed(*models, gpu=gpu), say_note).document()


def compose_of(found: Desk) -> dict[str, Any]:
    services = yaml.safe_load(found.files.compose)["services"]
    assert isinstance(services, dict)
    return services


def swapped(found: Desk) -> dict[str, Any]:
    models = yaml.safe_load(found.files.llama_swap)["models"]
    assert isinstance(models, dict)
    return models
