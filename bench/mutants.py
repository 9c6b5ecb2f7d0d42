"""Probes the unit tests with slips of a developer, one at a time (`mutants.toml`).

    python -m bench.mutants [--only 7 12]

Each slip is made in a copy of the working tree and undone. tests/unit runs there until a test
fails: first the file that the slip names, then those that import the changed module, then those
that import one of its importers, and so on. A slip is "killed" by the first test that fails,
"survived" without such a test, "stale" if its text is not in its file exactly once, and "unclear"
if that test also fails without a slip. The exit status is 1 if fewer than 95 % of the slips are
killed, or a slip is stale.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from shutil import copytree, ignore_patterns
from tempfile import TemporaryDirectory

from gpusizer.core.tables import toml_of

ROOT = Path(__file__).parent.parent
UNIT = "tests/unit"
LEAST_KILLED = 0.95
_NOT_COPIED = ignore_patterns(".git", ".venv", ".hypothesis", "*_cache")
_IMPORT = re.compile(r"^\s*(?:from (\S+) import \(?([^)]*?)(?:\)|$)|import (\S+))", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+)", re.MULTILINE)  # without parameters
_SECONDS = 1200  # of a batch of tests; a slip may make a loop endless
_PYTEST = ("-q", "--tb=no", "-rfE", "-p", "no:cacheprovider", "-W", "ignore")


@dataclass(frozen=True, slots=True)
class Slip:
    """A fault that a developer might write: `before` in `file` becomes `after`."""

    first: str  # the file of tests/unit that is likely to notice
    kind: str
    file: str
    before: str
    after: str
    says: str

    @property
    def first_file(self) -> str:
        """Path of `first` in the tree."""
        return f"{UNIT}/{self.first}.py"

    def stands_in(self, root: Path) -> bool:
        """Return whether `before` is in its file exactly once."""
        path = root / self.file
        return path.is_file() and path.read_text(encoding="utf-8").count(self.before) == 1

    @contextmanager
    def made(self, root: Path) -> Iterator[None]:
        """Make the slip in its file, and undo it.

        The compiled file is removed: Python would trust one for a source of the same size, written
        in the same second.
        """
        path = root / self.file
        text = path.read_text(encoding="utf-8")

        def write(changed: str) -> None:
            path.write_text(changed, encoding="utf-8")
            Path(cache_from_source(str(path))).unlink(missing_ok=True)

        write(text.replace(self.before, self.after))
        try:
            yield
        finally:
            write(text)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a slip, and the test that killed it."""

    state: str
    test: str = ""


def slips() -> tuple[Slip, ...]:
    """Return all slips in the order of their table."""
    return tuple(Slip(**row) for row in toml_of(__file__)["slip"])


def probe(slip: Slip, tree: Path) -> Outcome:
    """Run the unit tests of a tree with the slip in it, the nearest first."""
    if not slip.stands_in(tree):
        return Outcome("stale")
    with slip.made(tree):
        for files in nearest_tests(slip, tree):
            if failed := failures(tree, files, "-x"):
                return Outcome("killed", failed[0])
    return Outcome("survived")


def failures(tree: Path, tests: Sequence[str], *options: str) -> list[str]:
    """Return the tests that fail in a tree, or the first one if they do not end."""
    command = [sys.executable, "-m", "pytest", *_PYTEST, *options, *tests]
    keeps = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}  # what is compiled once is read again
    told = {"capture_output": True, "text": True}
    try:
        ran = subprocess.run(command, cwd=tree, env=keeps, timeout=_SECONDS, **told)
    except subprocess.TimeoutExpired:
        return list(tests[:1])
    failed: list[str] = _FAILED.findall(ran.stdout)
    if ran.returncode and not failed:
        raise RuntimeError(ran.stdout[-2000:] + ran.stderr[-2000:])
    return failed


def nearest_tests(slip: Slip, tree: Path) -> Iterator[list[str]]:
    """Yield the files of unit tests in batches.

    The first file comes first, then files by the number of imports between them and the changed
    file. A table counts as the module of its name.
    """
    yield [slip.first_file]
    importers = _importers(tree)
    left = {path.relative_to(tree).as_posix() for path in (tree / UNIT).rglob("test_*.py")}
    left.discard(slip.first_file)
    seen, near = set[str](), {str(Path(slip.file).with_suffix(".py"))}
    while near:
        if batch := sorted(left & near):
            yield batch
        left -= near
        seen |= near
        near = {user for one in near for user in importers.get(one, ())} - seen
    if left:
        yield sorted(left)


def _importers(tree: Path) -> dict[str, set[str]]:
    # By the file that they import.
    importers: dict[str, set[str]] = {}
    for path in (p for top in ("gpusizer", "scrapers", "bench", "tests") for p in tree.glob(top)):
        for user in path.rglob("*.py"):
            for name in _imported(user.read_text(encoding="utf-8")):
                place = name.replace(".", "/")
                for used in (f"{place}.py", f"{place}/__init__.py"):
                    importers.setdefault(used, set()).add(user.relative_to(tree).as_posix())
    return importers


def _imported(text: str) -> Iterator[str]:
    for package, names, module in _IMPORT.findall(text):
        yield package or module
        for name in re.findall(r"[\w]+", names) if package else ():
            yield f"{package}.{name}"


def probe_all(numbered: Iterable[tuple[int, Slip]], root: Path) -> list[Outcome]:
    """Probe slips in a copy of a tree and print their results.

    Then the tests that killed them run without a slip.
    """
    outcomes = []
    with TemporaryDirectory() as folder:
        tree = copytree(root, Path(folder) / "tree", ignore=_NOT_COPIED)
        for number, slip in numbered:
            outcomes.append(outcome := probe(slip, tree))
            found = outcome.test or slip.file
            print(f"{number:3} {outcome.state:8} {slip.says} ({found})", flush=True)
        killers = sorted({outcome.test for outcome in outcomes} - {""})
        always = failures(tree, killers) if killers else []
    for test in always:
        print(f"{test} fails without a slip")
    return [Outcome("unclear", one.test) if one.test in always else one for one in outcomes]


def main() -> None:
    """Probe the requested slips and print their counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", type=int, nargs="+", default=[], help="numbers of slips")
    asked = parser.parse_args()
    numbered = [(n, s) for n, s in enumerate(slips(), 1) if not asked.only or n in asked.only]
    counts = Counter(outcome.state for outcome in probe_all(numbered, ROOT))
    print(f"killed {counts['killed']} of {counts.total()}: {dict(counts)}")
    if counts["stale"] or counts["killed"] < LEAST_KILLED * counts.total():
        raise SystemExit(1)


if __name__ == "__main__":
    main()
