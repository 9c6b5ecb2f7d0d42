"""Who may import whom. Keeps arithmetic free of networks and pages, and stages in order."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NETWORK = ("requests", "urllib3", "httpx", "huggingface_hub", "socket", "http")

# Files (glob) -> names that nothing there may import, with the exceptions listed after.
FORBIDDEN: dict[str, tuple[str, ...]] = {
    "gpusizer/**/*.py": ("gradio", "scrapers", *NETWORK),
    "scrapers/**/*.py": (
        "gradio", "gpusizer.gpus", "gpusizer.fit", "gpusizer.memory", "gpusizer.quants",
        "gpusizer.ui", "gpusizer.profile", "gpusizer.sizer", "gpusizer.text", "gpusizer.costs",
    ),
    # The stages before fitting know no GPU; the catalogue knows no model.
    "gpusizer/architecture/*.py": ("gpusizer.gpus", "gpusizer.engines", "gpusizer.quants"),
    "gpusizer/quants/*.py": ("gpusizer.gpus", "gpusizer.engines"),
    "gpusizer/engines/**/*.py": ("gpusizer.gpus", "gpusizer.quants"),
    "gpusizer/profile.py": ("gpusizer.gpus", "gpusizer.engines", "gpusizer.quants"),
    "gpusizer/kv_cache.py": ("gpusizer.gpus", "gpusizer.engines"),
    "gpusizer/memory.py": ("gpusizer.gpus",),
    "gpusizer/gpus/*.py": (
        "gpusizer.profile", "gpusizer.quants", "gpusizer.memory", "gpusizer.snapshot",
        "gpusizer.engines", "gpusizer.fit",
    ),
    # Costs and purposes are of GPUs alone.
    "gpusizer/costs/*.py": (
        "gpusizer.profile", "gpusizer.quants", "gpusizer.memory", "gpusizer.engines",
        "gpusizer.fit", "gpusizer.speed",
    ),
    "gpusizer/purpose.py": ("gpusizer.profile", "gpusizer.memory", "gpusizer.fit"),
    # The core speaks codes; only the edges turn them into words.
    "gpusizer/*.py": ("gpusizer.text", "gpusizer.ui", "gpusizer.cli"),
    "gpusizer/figures/*.py": ("gpusizer.text", "gpusizer.ui", "gpusizer.cli"),
    "gpusizer/training/*.py": ("gpusizer.text", "gpusizer.ui", "gpusizer.cli"),
    "gpusizer/ui/**/*.py": ("gpusizer.cli",),
    "gpusizer/ui/presenters/**/*.py": ("gradio",),
}  # fmt: skip
ALLOWED: dict[str, tuple[str, ...]] = {
    "gpusizer/__main__.py": ("scrapers", "gpusizer.cli"),
    "gpusizer/ui/": ("gradio",),
}


def imported_names(path: Path) -> set[str]:
    """Absolute names of all that a module imports, now or when asked; relative ones resolved."""
    names: set[str] = set()
    package = path.relative_to(ROOT).with_suffix("").parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names.add(module)
            names.update(f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "import_module":
            names.update(one.value for one in node.args if isinstance(one, ast.Constant))
    return names


def breaches(path: Path) -> list[str]:
    """Imports of a module that the rules forbid."""
    relative = path.relative_to(ROOT).as_posix()
    excepted = tuple(
        name for prefix, names in ALLOWED.items() if relative.startswith(prefix) for name in names
    )
    if relative.startswith("gpusizer/ui/presenters/"):
        excepted = ()
    found = []
    for pattern, forbidden in FORBIDDEN.items():
        if path not in set(ROOT.glob(pattern)):
            continue
        for name in imported_names(path):
            for root in forbidden:
                if (name == root or name.startswith(f"{root}.")) and root not in excepted:
                    found.append(f"{relative} imports {name}")
    return found


MODULES = sorted({*ROOT.glob("gpusizer/**/*.py"), *ROOT.glob("scrapers/**/*.py")})


@pytest.mark.parametrize("path", MODULES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_imports_follow_the_flow(path: Path) -> None:
    assert breaches(path) == []


def test_the_rules_catch_a_breach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted module that breaks two rules is reported for both, late imports included."""
    planted = tmp_path / "gpusizer" / "memory.py"
    planted.parent.mkdir()
    late = 'import_module("gpusizer.gpus.table")\n'
    planted.write_text(f"import gradio\nfrom gpusizer.gpus import Gpu\n{late}", encoding="utf-8")
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    assert sorted(breaches(planted)) == [
        "gpusizer/memory.py imports gpusizer.gpus",
        "gpusizer/memory.py imports gpusizer.gpus.Gpu",
        "gpusizer/memory.py imports gpusizer.gpus.table",
        "gpusizer/memory.py imports gradio",
    ]


def test_every_pattern_guards_something() -> None:
    assert [pattern for pattern in FORBIDDEN if not list(ROOT.glob(pattern))] == []
