"""Errors of answers about speed without a row's source, its card, or its generation of cards.

Cards are boards whatever their memory; a generation is the narrowest class of a card
(`gpusizer.speed.classes`), such as Radeons since RDNA 4. Constants and bands are fitted again
without it, the row is asked for as a user would, and every source weighs the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any

import pandas as pd

from bench import left_out
from bench.errors import frame_of, one_per_group, shared
from bench.evaluation import COMPONENTS, SPEED, Accuracy, compared, speed_scores
from bench.front_door import catalogue
from bench.measurements import SPEEDS, Row, load
from bench.speed_tables import constants_without
from gpusizer.gpus import Gpu
from gpusizer.speed.classes import board_of, decode_classes

KINDS = ("source", "card", "generation")
_DIGITS = 4
_NOT_FITTED = "serving"  # totals of servers, whose constants are fitted elsewhere


def errors_left_out(accuracy: Accuracy) -> list[dict[str, Any]]:
    """Return a row per component: its count, and median and mean with each of KINDS left out."""
    answers = accuracy.comparisons
    answers = answers[(answers["engine"] == SPEED) & ~answers["apart"].astype(bool)]
    names = answers[["row_id", "component", "source_group"]]
    frame = names.assign(source=answers["left_out"])
    for kind, name_of in (("card", board_of), ("generation", _generation_of)):
        without = _answers_without(name_of).set_index(["row_id", "component"])["relative"]
        frame = frame.join(without.rename(kind), on=["row_id", "component"])
    return list(_rows(frame))


def _rows(frame: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for component in COMPONENTS:
        members = frame[frame["component"] == component]
        if members.empty or component == _NOT_FITTED:
            continue
        row: dict[str, Any] = {"component": component, "n": len(members)}
        for kind in KINDS:
            no_band = pd.Series(float("nan"), index=members.index)
            errors = shared(members[kind].astype(float), members["source_group"], no_band)
            row[kind] = [round(errors.median, _DIGITS), round(errors.mean, _DIGITS)]
        yield row


def _generation_of(gpu: Gpu) -> str:
    return decode_classes(gpu)[0]


@cache
def _answers_without(name_of: Callable[[Gpu], str]) -> pd.DataFrame:
    # By constants fitted without the GPU's name.
    members: defaultdict[str, list[Row]] = defaultdict(list)
    for row in load((SPEEDS,)):
        members[name_of(catalogue().find(row["gpu_slug"]))].append(row)
    return one_per_group(pd.concat([_without(name, rows) for name, rows in members.items()]))


def _without(name: str, rows: Sequence[Row]) -> pd.DataFrame:
    with left_out.without(name, constants_without(speed_scores(), name)):
        return frame_of(chain.from_iterable(map(compared, rows)))
