"""Predicts without one source: constants that only this source supports are undone.

`data/measurements/rule_sources.csv` lists constants of edited tables that rest on runs, with the
sources of these runs and the value without them: that of the row before, or of the plain stack; a
rule about a publisher's files is removed. Constants that a program fits are fitted again without
the source (`bench.throughput`). Constants that rest on a source line of an engine are not in the
file, and constants inside formulas cannot be undone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar
from unittest.mock import patch

from bench import front_door
from bench.measurements import FOLDER
from bench.speed_tables import Constants
from gpusizer.core.tables import read_table
from gpusizer.memory.engines.vllm import releases
from gpusizer.memory.quants import publishers
from gpusizer.speed import tables
from gpusizer.training.stacks import TrainingStack, stacks

FILE = FOLDER / "rule_sources.csv"

_K = TypeVar("_K")
_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class Support:
    """One constant, and the sources of its runs."""

    # `table`, `row`: name of its file, and the first column of its row; for publishers their
    # publisher, models, recipes and tensor
    table: str
    row: str
    constant: str  # field of the row's dataclass; "" for the whole rule
    sources: frozenset[str]  # groups of sources
    without: str  # its value without these sources, as text

    def falls_with(self, source: str) -> bool:
        """Whether `source` is the only source of the constant."""
        return self.sources == {source}

    def value_like(self, present: object) -> Any:
        """Convert `without` to the type of the constant's present value."""
        if isinstance(present, bool):
            return self.without == "true"
        return type(present)(self.without)  # type: ignore[call-arg]


@cache
def supports() -> tuple[Support, ...]:
    """Read all lines of the file."""
    return read_table(
        FILE, lambda row: row.record(Support, sources=frozenset(row.parts("sources")))
    )


def supported_alone(source: str, table: str) -> list[Support]:
    """Return the constants of a table that only this source supports."""
    return [s for s in supports() if s.table == table and s.falls_with(source)]


def matters(source: str) -> bool:
    """Whether this source is the only one of some constant."""
    return any(support.falls_with(source) for support in supports())


@contextmanager
def without(source: str, speeds: Constants | None = None) -> Iterator[None]:
    """Replace the constants that only this source supports; answers are cached separately.

    `speeds` are constants fitted without the source, None if it has measured no speeds.
    """
    with ExitStack() as stack:
        if speeds is not None:
            stack.enter_context(swapped(tables.decode_table(), speeds.decode))
            stack.enter_context(swapped(tables.prefill_table(), speeds.prefill))
            stack.enter_context(swapped(tables.band_table(), speeds.bands))
        stack.enter_context(_eras_without(source))
        stack.enter_context(_publishers_without(source))
        stack.enter_context(swapped(stacks(), _stacks_without(source)))
        stack.enter_context(front_door.separate_answers(source))
        yield


@contextmanager
def swapped(table: MutableMapping[_K, _V], replacement: Mapping[_K, _V]) -> Iterator[None]:
    """Replace the contents of a table in memory, and restore them at the end."""
    original = dict(table)
    table.clear()
    table.update(replacement)
    try:
        yield
    finally:
        table.clear()
        table.update(original)


def _stacks_without(source: str) -> dict[str, TrainingStack]:
    changed = dict(stacks())
    for support in supported_alone(source, "training_stacks"):
        stack = changed[support.row]
        value = support.value_like(getattr(stack, support.constant))
        changed[support.row] = replace(stack, **{support.constant: value})
    return changed


@contextmanager
def _eras_without(source: str) -> Iterator[None]:
    changed = {_number(release): release for release in releases.all_releases()}
    for support in supported_alone(source, "vllm_eras"):
        release = changed[support.row]
        value = support.value_like(getattr(release, support.constant))
        changed[support.row] = replace(release, **{support.constant: value})
    rows = tuple(changed.values())
    with patch.object(releases, "all_releases", lambda: rows):
        releases.vllm_release.cache_clear()
        yield
    releases.vllm_release.cache_clear()


def _number(release: releases.VllmRelease) -> str:
    return ".".join(map(str, release.since))


@contextmanager
def _publishers_without(source: str) -> Iterator[None]:
    fallen = {support.row for support in supported_alone(source, "gguf_publishers")}
    rules = tuple(rule for rule in publishers.all_rules() if _name(rule) not in fallen)
    with patch.object(publishers, "all_rules", lambda: rules):
        yield


def _name(rule: publishers.PublisherRule) -> str:
    models, recipes = " ".join(sorted(rule.models)), " ".join(sorted(rule.recipes))
    return f"{rule.publisher}/{models}/{recipes}/{rule.tensor}"
