"""The errors that predictions of training runs may not exceed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from bench.measurements import Row
from bench.training import Errors, predictions, sections, verdicts

BASELINE = Path(__file__).with_name("training_baseline.json")
EPSILON = 1e-4
_HELD = ("mean", "median", "p90", "bias")
_DIGITS = 5


def held(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    """What is held: errors per section, and the wrong verdicts."""
    listed = list(rows)
    errors = {name: _rounded(of) for name, of in sections(predictions(listed)).items()}
    out, ran = verdicts(listed)
    wrong = {
        "n": len(out) + len(ran),
        "out_of_memory_said_to_fit": sum(bool(one.fits) for one in out),
        "ran_said_not_to_fit": sum(not one.fits for one in ran),
    }
    return {**errors, "verdicts": wrong}


def raised(
    now: Mapping[str, Mapping[str, float]], before: Mapping[str, Mapping[str, float]]
) -> list[str]:
    """One line per number that grew, per section that vanished or lost runs."""
    worse = []
    for name, numbers in before.items():
        current = now.get(name)
        if current is None or current["n"] < numbers["n"]:
            worse.append(f"{name}: fewer runs than before")
            continue
        worse += [
            f"{name}: {part} {numbers[part]} became {current[part]}"
            for part in numbers
            if part != "n" and abs(current[part]) > abs(numbers[part]) + EPSILON
        ]
    return worse


def read() -> dict[str, dict[str, float]]:
    """The baseline."""
    data: dict[str, dict[str, float]] = json.loads(BASELINE.read_text("utf-8"))
    return data


def update(rows: Iterable[Row]) -> str:
    """Write what is held now; an explicit decision, so also numbers that grew, which are named."""
    now = held(rows)
    worse = raised(now, read()) if BASELINE.is_file() else []
    BASELINE.write_text(json.dumps(now, indent=1) + "\n", "utf-8")
    return "\n".join([f"{len(now)} sections in {BASELINE.name}", *worse])


def _rounded(errors: Errors) -> dict[str, float]:
    values = asdict(errors)
    return {"n": errors.n, **{name: round(values[name], _DIGITS) for name in _HELD}}
