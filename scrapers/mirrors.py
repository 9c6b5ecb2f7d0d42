"""Ungated copies of gated repositories: who might have one. Trusted only once totals agree."""

from __future__ import annotations

import csv
from functools import cache

from gpusizer.paths import DATA_DIR


@cache
def _mirrors() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    with (DATA_DIR / "mirrors.csv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            key = row["repo"].casefold()
            found[key] = (*found.get(key, ()), row["mirror"])
    return found


def mirrors_of(repo_id: str) -> tuple[str, ...]:
    """Repositories that may hold the same weights without a gate, likeliest first."""
    return _mirrors().get(repo_id.casefold(), ())
