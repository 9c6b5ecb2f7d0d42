"""Baselines: the largest errors that the tests allow, in a file beside this module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

Numbers = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Baseline:
    """A JSON file of errors: a name -> `n`, the number of measured rows, and error figures.

    Attributes:
        path: the file.
        parts: the figures whose absolute value may not grow.
        epsilon: growth that counts as rounding.
    """

    path: Path
    parts: tuple[str, ...]
    epsilon: float

    def read(self) -> dict[str, dict[str, float]]:
        """Return the errors in the file; an empty dict before the first update."""
        if not self.path.is_file():
            return {}
        errors: dict[str, dict[str, float]] = json.loads(self.path.read_text("utf-8"))
        return errors

    def write(self, errors: Mapping[str, Numbers]) -> None:
        """Replace the errors in the file."""
        lines = [f"{json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in errors.items()]
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")

    def raised(self, errors: Mapping[str, Numbers], *, with_more_rows: bool = True) -> list[str]:
        """Return a line per figure that grew, and per name that is missing or has fewer rows.

        `with_more_rows` False leaves out names that are measured on more rows than in the file:
        these errors are not comparable, and an explicit update may replace them.
        """
        problems = []
        for name, baseline in self.read().items():
            current = errors.get(name)
            if current is None:
                problems.append(f"{name}: no longer measured")
                continue
            if current["n"] < baseline["n"]:
                problems.append(f"{name}: {baseline['n']} rows became {current['n']}")
            if current["n"] > baseline["n"] and not with_more_rows:
                continue
            problems += [
                f"{name}: {part} {baseline[part]} became {current[part]}"
                for part in self.parts
                if part in baseline and abs(current[part]) > abs(baseline[part]) + self.epsilon
            ]
        return problems

    def update(self, errors: Mapping[str, Numbers]) -> str:
        """Replace the errors; raises SystemExit if one would grow on the same number of rows."""
        problems = self.raised(errors, with_more_rows=False)
        if problems:
            raise SystemExit("\n".join(["not written; these would grow:", *problems]))
        self.write(errors)
        return f"{len(errors)} groups in {self.path.name}"


ACCURACY = Baseline(Path(__file__).parent / "accuracy_baseline.json", ("error",), epsilon=1e-3)
