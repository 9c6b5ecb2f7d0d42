"""The errors of speeds that predictions may not exceed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from bench.speed_report import coverage, errors, median
from bench.speed_scores import Scores

BASELINE = Path(__file__).with_name("speed_baseline.json")
EPSILON = 1e-3
Held = Mapping[str, Mapping[str, float]]


def current(scores: Scores) -> dict[str, dict[str, float]]:
    """Rows, median blind error and share of rows in the band, by group."""
    held = {}
    for name, group in scores.groups().items():
        blind = median(errors(group, lambda one: one.blind))
        if blind is not None:
            inside = round(coverage(group) or 0.0, 4)
            held[name] = {"n": len(group), "median": round(blind, 4), "in_band": inside}
    return held


def raised(scores: Scores, baseline: Held, *, grown: bool = True) -> list[str]:
    """One line per group whose error grew or that lost rows.

    `grown` False leaves out groups measured on more rows than before.
    """
    now, worse = current(scores), []
    for name, held in baseline.items():
        found = now.get(name)
        if found is None or found["n"] < held["n"]:
            worse.append(f"{name}: {held['n']} rows became {found['n'] if found else 0}")
        elif (grown or found["n"] == held["n"]) and found["median"] > held["median"] + EPSILON:
            worse.append(f"{name}: median {held['median']} became {found['median']}")
    return worse


def read() -> dict[str, dict[str, float]]:
    """The errors held now; none before the first update."""
    if not BASELINE.is_file():
        return {}
    held: dict[str, dict[str, float]] = json.loads(BASELINE.read_text("utf-8"))
    return held


def write(scores: Scores) -> int:
    """Hold these errors from now on; how many groups there are."""
    held = current(scores)
    lines = [f"{json.dumps(name)}: {json.dumps(values)}" for name, values in held.items()]
    BASELINE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    return len(held)
