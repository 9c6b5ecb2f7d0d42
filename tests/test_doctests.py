"""The doctests of all modules pass."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

from tests.each import each

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("gpusizer", "scrapers", "bench", "scripts")
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in PACKAGES
    for path in sorted((ROOT / package).rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@each("name", MODULES)
def test_examples_are_right(name: str) -> None:
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0
    assert results.failed == 0
