"""Rules of all modules. `lint-imports` holds the order of rooms."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from gpusizer.memory.engines import ENGINES

ROOT = Path(__file__).resolve().parents[1]

# Modules with rules, commands and logs name engines; others ask `Engine.abilities`. Two slugs also
# mean a format of repositories and a training framework.
NAMES_ENGINES = ("gpusizer/memory/engines/", "gpusizer/launch/", "gpusizer/logs/")
ENGINE_SLUGS = ENGINES.keys() - {"diffusers", "transformers"}

ROOMS = sorted({*(ROOT / "gpusizer").glob("[a-z]*/"), ROOT / "scrapers"})
MODULES = sorted({*ROOT.glob("gpusizer/**/*.py"), *ROOT.glob("scrapers/**/*.py")})


def named_engines(path: Path) -> list[str]:
    """Slugs of engines that are string constants of a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [value for value in constants if isinstance(value, str) and value in ENGINE_SLUGS]


def test_engines_are_asked_what_they_can_do() -> None:
    naming = [
        path.relative_to(ROOT).as_posix()
        for path in MODULES
        if path.is_relative_to(ROOT / "gpusizer") and named_engines(path)
    ]
    assert [module for module in naming if not module.startswith(NAMES_ENGINES)] == []
    assert all(any(module.startswith(place) for module in naming) for place in NAMES_ENGINES)


def test_a_public_class_has_a_name_of_its_own() -> None:
    names = Counter(
        node.name
        for path in MODULES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_a_module_name_means_one_thing_in_a_room(room: Path) -> None:
    names = Counter(path.name for path in room.glob("**/*.py") if not path.name.startswith("__"))
    assert [name for name, count in names.items() if count > 1] == []
