"""The order of the rooms: a package of `gpusizer` imports only from those above it in ROOMS."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpusizer.memory.engines import ENGINES
from tests.each import each

ROOT = Path(__file__).resolve().parents[1]

ROOMS = (
    "core",
    "hub",
    "model",
    "gpus",
    "memory",
    "quality",
    "fit",
    "training",
    "answers",
    "text",
    "cli",
    "ui",
)
# Pairs of rooms that may not import each other: models and GPUs meet in `fit/` first, and the
# shell and the page do not use each other.
STRANGERS = {
    "gpus": {"hub", "model"},
    "memory": {"gpus"},
    "quality": {"gpus"},
    "text": {"hub", "model", "gpus", "memory", "quality", "fit", "training", "answers"},
    "ui": {"cli"},
}
SCRAPERS_MAY_KNOW = {"core", "hub"}
# The rooms of `scrapers/`, in order; beside them stand their bounds (`limits`), which all know, and
# what is asked of them all.
SCRAPER_ROOMS = ("formats", "client", "readme", "repository", "cache")
PRICES_MAY_KNOW = {"client", "prices"}
UI_ROOMS = ("presenters", "questions", "page", "server")
FEWEST_MODULES, MOST_MODULES = 2, 20

# Libraries with the only places (prefixes of paths) that may import them.
NETWORK = ("requests", "urllib3", "httpx", "huggingface_hub", "safetensors", "gguf")
ONLY_IN = {name: ("scrapers/",) for name in NETWORK} | {
    "gradio": ("gpusizer/ui/",),
    "fastapi": ("gpusizer/ui/",),
    "starlette": ("gpusizer/ui/",),
    "prometheus_client": ("gpusizer/ui/questions/metrics.py", "gpusizer/ui/server/serving.py"),
    "limits": ("gpusizer/ui/server/question_counter.py", "gpusizer/ui/server/shared_counter.py"),
    "redis": ("scrapers/cache/redis_link.py", "gpusizer/ui/server/shared_counter.py"),
    "scrapers": ("scrapers/", "gpusizer/composition/"),
    "socket": ("gpusizer/ui/server/doors/slow_readers.py",),
    "ssl": (),
    "httptools": (),
}
GRADIO_FREE = "gpusizer/ui/presenters/"

# What a command of the shell needs is loaded when one is asked for, and what needs an optional
# package once a setting asks for it.
LATE_IMPORTS = {"gpusizer/cli/__init__.py", "gpusizer/composition/shared.py"}
COMPOSITION = "composition"

# Slugs of engines stand with their rules, commands and logs; elsewhere `Engine.abilities` is asked.
# Two of them also mean a format of repositories and a training framework.
NAMES_ENGINES = ("gpusizer/memory/engines/", "gpusizer/answers/launch/", "gpusizer/answers/logs/")
ENGINE_SLUGS = ENGINES.keys() - {"diffusers", "transformers"}

MODULES = sorted({*ROOT.glob("gpusizer/**/*.py"), *ROOT.glob("scrapers/**/*.py")})


@dataclass(frozen=True)
class Import:
    """One imported module, and whether the import is inside a function."""

    module: str
    late: bool


def imports(path: Path, root: Path = ROOT) -> Iterator[Import]:
    """All that a module imports, relative names resolved, calls of `import_module` included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = path.relative_to(root).with_suffix("").parts[:-1]
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        late = id(node) in inside
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, late) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (Import(f"{module}.{alias.name}", late) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield Import(ast.unparse(node.args[0]).strip("'\""), late=True)


def breaches(path: Path, root: Path = ROOT) -> list[str]:
    """What a module imports against the order of the rooms or the list of libraries."""
    relative = path.relative_to(root).as_posix()
    return [
        f"{relative} imports {module}"
        for module in sorted({imported.module for imported in imports(path, root)})
        if not _is_allowed(relative, module)
    ]


def _is_allowed(relative: str, module: str) -> bool:
    top, *parts = module.split(".")
    if top in ONLY_IN and not relative.startswith(ONLY_IN[top]):
        return False
    if top == "scrapers" and relative.startswith("scrapers/"):
        return _is_allowed_in_scrapers(relative.split("/")[1], parts)
    if top == "gradio" and relative.startswith(GRADIO_FREE):
        return False
    if top != "gpusizer" or not parts or parts[0] not in ROOMS:
        return True
    room = relative.split("/")[1]
    if relative.startswith("scrapers/"):
        return parts[0] in SCRAPERS_MAY_KNOW
    if room not in ROOMS:
        return True  # `composition/` joins the rooms with the scrapers
    if room == parts[0] == "ui" and len(parts) > 1 and parts[1] in UI_ROOMS:
        own = relative.split("/")[2]
        return own == "__init__.py" or UI_ROOMS.index(parts[1]) <= UI_ROOMS.index(own)
    allowed_rooms = ROOMS[: ROOMS.index(room) + 1]
    return parts[0] in allowed_rooms and parts[0] not in STRANGERS.get(room, ())


def _is_allowed_in_scrapers(room: str, parts: list[str]) -> bool:
    if room.endswith(".py") or parts[0] == "limits":
        return True
    if room == "prices":
        return parts[0] in PRICES_MAY_KNOW
    return parts[0] in SCRAPER_ROOMS[: SCRAPER_ROOMS.index(room) + 1]


@each("path", MODULES)
def test_a_room_imports_only_from_rooms_above_it(path: Path) -> None:
    assert breaches(path) == []


def test_the_rules_catch_a_breach(tmp_path: Path) -> None:
    """Planted modules that break the rules are reported, late imports included."""
    planted = tmp_path / "gpusizer" / "memory" / "estimate.py"
    planted.parent.mkdir(parents=True)
    late = 'def load():\n    return import_module("gpusizer.fit.ranking")\n'
    planted.write_text(f"import gradio\nfrom gpusizer.gpus import Gpu\n{late}", encoding="utf-8")
    assert breaches(planted, tmp_path) == [
        "gpusizer/memory/estimate.py imports gpusizer.fit.ranking",
        "gpusizer/memory/estimate.py imports gpusizer.gpus.Gpu",
        "gpusizer/memory/estimate.py imports gradio",
    ]
    planted = tmp_path / "scrapers" / "formats" / "header.py"
    planted.parent.mkdir(parents=True)
    planted.write_text("from scrapers.client import http\nfrom scrapers.limits import Limits\n")
    assert breaches(planted, tmp_path) == [
        "scrapers/formats/header.py imports scrapers.client.http"
    ]


def test_every_module_is_in_a_room() -> None:
    entrances = {"__init__.py", "__main__.py"}
    rooms = {path.name for path in (ROOT / "gpusizer").iterdir() if path.suffix == ".py"}
    folders = {path.name for path in (ROOT / "gpusizer").iterdir() if path.is_dir()}
    assert rooms == entrances
    assert folders - {"__pycache__"} == {*ROOMS, COMPOSITION}


def test_a_hall_has_few_modules() -> None:
    """None so many that nobody knows them, none so few that they are another's thought."""
    for folder in {path.parent for path in MODULES} - {ROOT / "gpusizer", ROOT / "gpusizer" / "ui"}:
        modules = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert FEWEST_MODULES <= len(modules) <= MOST_MODULES, folder


def test_imports_stand_at_the_top_of_a_module() -> None:
    late = {
        f"{path.relative_to(ROOT).as_posix()}: {imported.module}"
        for path in MODULES
        for imported in imports(path)
        if imported.late and path.relative_to(ROOT).as_posix() not in LATE_IMPORTS
    }
    assert late == set()


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


@each("room", [*(f"gpusizer/{room}" for room in ROOMS), "scrapers"])
def test_a_module_name_means_one_thing_in_a_room(room: str) -> None:
    names = Counter(
        path.name for path in (ROOT / room).glob("**/*.py") if not path.name.startswith("__")
    )
    assert [name for name, count in names.items() if count > 1] == []
