"""Errors of speeds by constants fitted without a row's source, card, or generation.

Cards are boards whatever their memory; a generation is the narrowest class of a card
(`gpusizer.fit.speed.classes`), such as Radeons since RDNA 4. Errors are those of the fit, which
public answers repeat but for what a request rounds; every source weighs the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from bench.errors import relative_errors, shared
from bench.evaluation import COMPONENTS
from bench.speed_answers import component_of
from bench.speed_samples import Left, Sample
from bench.speed_scores import Scores, decoded, prompted
from gpusizer.fit.speed.tables import DECODE, PREFILL

KINDS = ("source", "card", "generation")
_DIGITS = 4


def errors_left_out(scores: Scores) -> list[dict[str, Any]]:
    """Return a row per component: its count, and median and mean with each of KINDS left out."""
    frame = pd.DataFrame(_lines(scores), columns=["component", "source_group", *KINDS])
    rows = []
    for component in COMPONENTS:
        members = frame[frame["component"] == component]
        if members.empty:
            continue
        row: dict[str, Any] = {"component": component, "n": len(members)}
        for kind in KINDS:
            no_band = pd.Series(float("nan"), index=members.index)
            errors = shared(members[kind].astype(float), members["source_group"], no_band)
            row[kind] = [round(errors.median, _DIGITS), round(errors.mean, _DIGITS)]
        rows.append(row)
    return rows


def _lines(scores: Scores) -> Iterator[tuple[Any, ...]]:
    for quantity, predicted in ((DECODE, decoded), (PREFILL, prompted)):
        for sample in scores.samples[quantity]:
            fit, measured = scores.fits[sample.case.work.family], 1 / sample.measured
            rates = [predicted(fit, sample, left) for left in _without(sample)]
            errors = relative_errors(pd.Series(measured, range(len(rates))), pd.Series(rates))
            component = component_of(sample.case.row, quantity)
            yield component, sample.case.source, *errors


def _without(sample: Sample) -> Iterator[Left]:
    """What is left out for each of KINDS."""
    for name in (sample.case.source, sample.board, sample.classes[0]):
        yield frozenset({name})
