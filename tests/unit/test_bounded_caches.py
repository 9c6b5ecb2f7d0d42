"""Caches of functions: those without a bound are asked with our own words alone."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OWN_WORDS = {
    "gpusizer.answers.request_docs.described_fields": "models of requests",
    "gpusizer.answers.request_docs.described_groups": "models of requests",
    "gpusizer.memory.engines.bands.band": "engines, families of their versions, components",
    "gpusizer.memory.quants.recipes.first": "divisors of recipes",
    "gpusizer.core.tables._types": "records of our own tables",
    "gpusizer.text.languages.sentences": "languages",
    "gpusizer.text.notation._dollar": "locales",
    "gpusizer.text.notation._pattern": "two patterns, and as many decimals as are ever written",
}
"""Functions with arguments whose results are all kept, and what they are asked with."""


def modules() -> Iterator[str]:
    for room in ("gpusizer", "scrapers"):
        for path in sorted((ROOT / room).rglob("*.py")):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            if not name.endswith("__main__"):
                yield name.removesuffix(".__init__")


@pytest.fixture(scope="module")
def cached() -> dict[str, Any]:
    """Every function with a cache, by its name."""
    functions = {}
    for name in modules():
        for value in vars(importlib.import_module(name)).values():
            if isinstance(value, functools._lru_cache_wrapper):
                functions[f"{value.__module__}.{value.__qualname__}"] = value
    return functions


def test_what_visitors_name_is_kept_up_to_a_bound(cached: dict[str, Any]) -> None:
    endless = {
        name
        for name, function in cached.items()
        if function.cache_parameters()["maxsize"] is None and inspect.signature(function).parameters
    }
    assert len(cached) > 40
    assert endless == set(OWN_WORDS)
