"""Refresh all data that ages, and test it: `python -m scripts.refresh [STEP …]`.

Steps are models (embedded snapshots, read from the Hub again), prices (to rent and to buy) and
accuracy (errors against measurements, written to docs/accuracy.md). A source that cannot be read or
is refused keeps its rows, and the other steps go on. At the end the integrity tests must pass,
else the exit status is 1 and nothing should be published. `--summary FILE` writes the results in
Markdown.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpusizer.core.paths import DATA_DIR

# Runs `python ARGUMENTS`; returns its exit status and output.
Run = Callable[[Sequence[str]], tuple[int, str]]

# Integrity tests: refreshed data are whole, plausible, and predict as well as before.
GATE = (
    *("-m", "pytest", "-q", "tests/data", "tests/unit/test_embedded.py"),
    *("tests/test_accuracy.py", "tests/test_publication.py"),
    *("tests/test_training_accuracy.py", "tests/test_documents.py"),
)

# Commands by step, in their order: errors are measured on refreshed snapshots.
STEPS: Mapping[str, tuple[str, ...]] = {
    "models": ("-m", "scripts.add_model", "--all"),
    "prices": ("-m", "scripts.prices"),
    "accuracy": ("-m", "bench.accuracy", "--publish", "--write-docs"),
}


@dataclass(frozen=True, slots=True)
class StepResult:
    """Exit status of a step, and the last lines that it printed."""

    name: str
    status: int
    lines: tuple[str, ...]


def main(argv: Sequence[str]) -> int:
    """Run the steps, then the integrity tests; return 1 if they fail, else 0."""
    arguments = _parser().parse_args(argv)
    unknown = sorted(set(arguments.steps) - set(STEPS))
    if unknown:
        _parser().error(f"no step {', '.join(unknown)}")
    results = refresh(_run, arguments.steps or list(STEPS))
    text = summary(results)
    print(text)
    if arguments.summary:
        arguments.summary.write_text(text, "utf-8")
    return 1 if results[-1].status else 0


def refresh(run: Run, steps: Sequence[str]) -> list[StepResult]:
    """Run the steps in their order, even after a failure, and the integrity tests at last."""
    commands = {name: STEPS[name] for name in STEPS if name in steps} | {"tests": GATE}
    results = []
    for name, command in commands.items():
        status, output = run(command)
        lines = [line for line in output.splitlines() if line.strip()]
        results.append(StepResult(name, status, tuple(lines[-12:])))
    return results


def summary(results: Sequence[StepResult]) -> str:
    """Return the result and output of each step in Markdown."""
    sections = []
    for result in results:
        ending = "done" if result.status == 0 else f"exit status {result.status}"
        output = "\n".join(result.lines)
        sections.append(f"## {result.name}: {ending}\n\n```\n{output}\n```\n")
    return "\n".join(sections)


def _run(arguments: Sequence[str]) -> tuple[int, str]:
    print(f"$ python {' '.join(arguments)}", flush=True)
    process = subprocess.run(
        [sys.executable, *arguments],
        cwd=DATA_DIR.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return process.returncode, process.stdout


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scripts.refresh", description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"of {', '.join(STEPS)}")
    parser.add_argument("--summary", type=Path, help="file for what happened, in Markdown")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
