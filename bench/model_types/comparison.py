"""Comparison of gpusizer's answer about a case with its truth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench.model_types.cases import Case, Row, Truth
from gpusizer.api.base import AnswerContext
from gpusizer.api.model_profile import ArchitectureInfo
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile, build_profile

CONTEXTS = (1, 8_192, 131_072)  # tokens at which caches are compared
_NEAR, _NEAR_STATES = 0.01, 0.02  # relative; parameters are exact
_DOUBTFUL = "unknown_parts"
_DOUBTS = ("tied_matrix_stored_twice",)  # caveats that name a doubt of parameters
_GROWING = ("full", "sliding", "chunked", "mla")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fact with different values."""

    fact: str
    truth: str
    answer: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Faults of the answer about one case, and whether the answer states a doubt."""

    model_type: str
    class_name: str
    faults: tuple[Fault, ...]
    doubts: bool

    @property
    def is_right(self) -> bool:
        """Whether every measured fact agrees."""
        return not self.faults


def verdict_on(case: Case) -> Verdict:
    """Return the verdict on gpusizer's answer about a case."""
    try:
        profile = build_profile(case.snapshot())
    except Exception as error:
        broken = Fault("answer", "one", type(error).__name__)
        return Verdict(case.model_type, case.class_name, (broken,), False)
    architecture = profile.architecture
    said = {note.code for note in profile.caveats}
    unknown = architecture is None or architecture.confidence == _DOUBTFUL
    doubts = unknown or not said.isdisjoint(_DOUBTS)
    faults = tuple(_faults(case.truth, profile))
    return Verdict(case.model_type, case.class_name, faults, doubts)


def _faults(truth: Truth, profile: ModelProfile) -> Iterator[Fault]:
    extra = profile.parameters - truth.parameters
    if not 0 <= extra <= truth.buffers:
        yield _fault("parameters", truth.parameters, profile.parameters)
    active = truth.active_parameters
    said = profile.active_parameters
    if active and not active * (1 - _NEAR) <= said <= (active + truth.buffers) * (1 + _NEAR):
        yield _fault("active_parameters", active, profile.active_parameters)
    yield from _cache_faults(truth, profile.architecture)


def _cache_faults(truth: Truth, architecture: Architecture | None) -> Iterator[Fault]:
    writes = architecture is not None and architecture.generates
    layers = _layers(architecture) if architecture is not None and writes else []
    rows = _rows(layers)
    if truth.keeps is False:
        if _elements_at(rows, 8_192):
            yield Fault("keeps a cache", "no", "yes")
        return
    if truth.keeps and not writes:
        yield Fault("keeps a cache", "yes", "no" if architecture else "no architecture")
    if truth.cache is None or not writes:
        return
    for context in CONTEXTS:
        right, said = _elements_at(truth.cache, context), _elements_at(rows, context)
        if not _is_near(right, said, _NEAR):
            yield _fault(f"cache elements at {context:,} tokens", right, said)
    states = sum(layer["count"] * layer["state_elements"] for layer in layers)
    least, most = truth.state_elements or (states, states)
    if not least * (1 - _NEAR_STATES) <= states <= most * (1 + _NEAR_STATES):
        yield _fault("state elements", most, states)


def _layers(architecture: Architecture) -> list[dict[str, Any]]:
    # As in an answer's JSON.
    said = ArchitectureInfo.from_record(
        architecture, AnswerContext(lambda note: note.code)
    ).document()
    plan: list[dict[str, Any]] = said["layer_plan"]
    return plan


def _rows(layers: Iterable[dict[str, Any]]) -> list[Row]:
    # Cached elements of a token by kind of layer.
    rows: list[Row] = []
    for layer in layers:
        if layer["attention"] not in _GROWING:
            continue
        count, key, indexer = layer["count"], layer["key_width"], layer["indexer_width"]
        rows.append((count, key + layer["value_width"], layer.get("window")))
        if layer["compress_ratio"]:
            rows.append((count, (key + indexer) / layer["compress_ratio"], None))
        elif indexer:
            rows.append((count, indexer, None))
    return rows


def _elements_at(rows: Iterable[Row], context: int) -> float:
    return sum(
        layers * each * (context if window is None else min(context, window))
        for layers, each, window in rows
    )


def _is_near(truth: float, answer: float, tolerance: float) -> bool:
    return abs(truth - answer) <= tolerance * max(abs(truth), abs(answer), 1)


def _fault(fact: str, truth: float, answer: float) -> Fault:
    return Fault(fact, f"{truth:,.0f}", f"{answer:,.0f}")


def right_of(verdicts: Sequence[Verdict]) -> str:
    """Return the last line: the number of right cases, and of wrong ones with a doubt."""
    wrong = [verdict for verdict in verdicts if not verdict.is_right]
    doubted = sum(verdict.doubts for verdict in wrong)
    right = len(verdicts) - len(wrong)
    return f"{right} of {len(verdicts)} right, {doubted} of {len(wrong)} wrong ones say a doubt"
