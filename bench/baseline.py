"""The errors that predictions may not exceed: read, compared, written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from bench.comparison import Summary
from bench.evaluation import Key

BASELINE = Path(__file__).with_name("accuracy_baseline.json")
EPSILON = 1e-4
"""Growth that is rounding, in shares and GiB."""

Errors = Mapping[str, float]

_HELD = ("median", "mean", "p95", "mean_amount", "p95_amount")
_DIGITS = 5


def name_of(key: Key) -> str:
    """One line of the file: "vllm weights all"."""
    return " ".join(key)


def errors_of(summary: Summary) -> dict[str, float]:
    """What is held, and the number of rows it was measured on."""
    return {"n": summary.n, **{name: round(getattr(summary, name), _DIGITS) for name in _HELD}}


def raised(
    sections: Mapping[Key, Summary], baseline: Mapping[str, Errors], *, grown: bool = True
) -> list[str]:
    """One line per number that grew, per component that vanished or lost rows.

    `grown` False leaves out components measured on more rows than before: their errors are of
    other rows, and an explicit update may take them as they are.
    """
    current = {name_of(key): errors_of(summary) for key, summary in sections.items()}
    worse = []
    for name, held in baseline.items():
        now = current.get(name)
        if now is None:
            worse.append(f"{name}: no longer measured")
            continue
        if now["n"] < held["n"]:
            worse.append(f"{name}: {held['n']} rows became {now['n']}")
        if now["n"] > held["n"] and not grown:
            continue
        for part in _HELD:
            if now[part] > held[part] + EPSILON:
                worse.append(f"{name}: {part} {held[part]} became {now[part]}")
    return worse


def read() -> dict[str, dict[str, float]]:
    """The errors held now."""
    held: dict[str, dict[str, float]] = json.loads(BASELINE.read_text("utf-8"))
    return held


def write(sections: Mapping[Key, Summary]) -> None:
    """Hold these errors from now on."""
    held = {name_of(key): errors_of(summary) for key, summary in sections.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(errors)}" for name, errors in held.items()]
    BASELINE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
