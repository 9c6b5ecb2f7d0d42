"""The largest errors that tests allow: `accuracy_baseline.json`, by component, with its rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

Errors = Mapping[str, Mapping[str, float]]  # number of measured rows `n` and their `error`, by name

FILE = Path(__file__).parent / "accuracy_baseline.json"
_ROUNDING = 1e-3


def read(path: Path = FILE) -> dict[str, dict[str, float]]:
    """Return the errors in the file, empty before the first update."""
    held: dict[str, dict[str, float]] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return held


def raised(errors: Errors, path: Path = FILE, *, with_more_rows: bool = True) -> list[str]:
    """Return a line for each error that grew, and each name that is missing or has fewer rows.

    With `with_more_rows` False, names measured on more rows than in the file are left out: these
    errors are not comparable, and an update may replace them.
    """
    problems = []
    for name, held in read(path).items():
        now = errors.get(name)
        if now is None:
            problems.append(f"{name}: no longer measured")
            continue
        if now["n"] < held["n"]:
            problems.append(f"{name}: {held['n']} rows became {now['n']}")
        comparable = with_more_rows or now["n"] <= held["n"]
        if comparable and abs(now["error"]) > abs(held["error"]) + _ROUNDING:
            problems.append(f"{name}: error {held['error']} became {now['error']}")
    return problems


def update(errors: Errors, path: Path = FILE) -> str:
    """Replace the file; raises SystemExit if an error would grow on the same number of rows."""
    problems = raised(errors, path, with_more_rows=False)
    if problems:
        raise SystemExit("\n".join(["not written; these would grow:", *problems]))
    lines = [f"{json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in errors.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    return f"{len(errors)} groups in {path.name}"
