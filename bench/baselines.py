"""Baselines: the errors that answers may not exceed, in a file beside this module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

Numbers = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Baseline:
    """One file of errors: a name -> `n`, the rows measured, and numbers.

    Attributes:
        path: the file.
        parts: the numbers whose absolute value may not grow.
        epsilon: growth that is rounding.
    """

    path: Path
    parts: tuple[str, ...]
    epsilon: float

    def read(self) -> dict[str, dict[str, float]]:
        """The errors held now; none before the first update."""
        if not self.path.is_file():
            return {}
        held: dict[str, dict[str, float]] = json.loads(self.path.read_text("utf-8"))
        return held

    def write(self, errors: Mapping[str, Numbers]) -> None:
        """Hold these errors from now on."""
        lines = [f"{json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in errors.items()]
        self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")

    def raised(self, errors: Mapping[str, Numbers], *, grown: bool = True) -> list[str]:
        """One line per number that grew, per name that vanished or lost rows.

        `grown` False leaves out names measured on more rows than before: their errors are of
        other rows, and an explicit update may take them as they are.
        """
        worse = []
        for name, held in self.read().items():
            now = errors.get(name)
            if now is None:
                worse.append(f"{name}: no longer measured")
                continue
            if now["n"] < held["n"]:
                worse.append(f"{name}: {held['n']} rows became {now['n']}")
            if now["n"] > held["n"] and not grown:
                continue
            worse += [
                f"{name}: {part} {held[part]} became {now[part]}"
                for part in self.parts
                if part in held and abs(now[part]) > abs(held[part]) + self.epsilon
            ]
        return worse

    def update(self, errors: Mapping[str, Numbers]) -> str:
        """Hold these errors; raises SystemExit where one would grow on the same rows."""
        worse = self.raised(errors, grown=False)
        if worse:
            raise SystemExit("\n".join(["not written; these would grow:", *worse]))
        self.write(errors)
        return f"{len(errors)} groups in {self.path.name}"


ACCURACY = Baseline(Path(__file__).parent / "accuracy_baseline.json", ("error",), epsilon=1e-3)
