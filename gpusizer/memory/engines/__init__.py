"""Inference engines behind one interface."""

from __future__ import annotations

import difflib

from gpusizer.core.errors import UnknownEngine
from gpusizer.memory.engines.abilities import Abilities
from gpusizer.memory.engines.base import (
    Engine,
    Loaded,
    Loader,
    Overhead,
    Placement,
    Split,
    SplitBy,
    StartLimit,
)
from gpusizer.memory.engines.diffusers import DIFFUSERS
from gpusizer.memory.engines.llama_cpp import LLAMA_CPP, OLLAMA
from gpusizer.memory.engines.local import EXLLAMA, MLX, TRANSFORMERS
from gpusizer.memory.engines.serving import SGLANG, TENSORRT_LLM, TGI
from gpusizer.memory.engines.vllm import VLLM

ENGINES: dict[str, Engine] = {
    engine.slug: engine
    for engine in (
        VLLM,
        SGLANG,
        TENSORRT_LLM,
        TGI,
        LLAMA_CPP,
        OLLAMA,
        EXLLAMA,
        MLX,
        TRANSFORMERS,
        DIFFUSERS,
    )
}


def find_engine(slug: str) -> Engine:
    """Return the engine with this slug. Raise UnknownEngine with close spellings."""
    engine = ENGINES.get(slug.strip().lower())
    if engine is None:
        close = difflib.get_close_matches(slug.lower(), ENGINES, n=5) or list(ENGINES)
        raise UnknownEngine(value=slug[:40], suggestions=close)
    return engine


def abilities_of(slug: str | None) -> Abilities:
    """Return an engine's abilities; the least if `slug` is unset or unknown."""
    return ENGINES[slug].abilities if slug in ENGINES else Abilities()


__all__ = [
    "DIFFUSERS",
    "ENGINES",
    "LLAMA_CPP",
    "VLLM",
    "Engine",
    "Loaded",
    "Loader",
    "Overhead",
    "Placement",
    "Split",
    "SplitBy",
    "StartLimit",
    "abilities_of",
    "find_engine",
]
