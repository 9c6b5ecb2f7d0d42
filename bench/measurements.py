"""Rows of `data/measurements` (its README describes them), read from the tables or any file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpusizer.paths import DATA_DIR

FOLDER = DATA_DIR / "measurements"
TABLES = tuple(
    FOLDER / f"{name}.jsonl" for name in ("serving", "llama_cpp", "gguf_sizes", "pipelines")
)

TRAINING = FOLDER / "training.jsonl"
"""Peaks of training runs: predicted by other code, and counted apart."""

Row = Mapping[str, Any]


def load(paths: Iterable[Path] = TABLES) -> list[Row]:
    """Every row of the files; what a row measures is its `kind`. Raises ValueError on bad JSON."""
    rows: list[Row] = []
    for path in paths:
        rows += [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return rows
