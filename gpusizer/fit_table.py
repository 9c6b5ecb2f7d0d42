"""FitTable: every way to run a model against every GPU, in a few array operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from gpusizer.fit import COUNTS, Fitter, asked_split, class_row, max_cards
from gpusizer.gpus import Catalogue
from gpusizer.memory import MemoryEstimate
from gpusizer.support import support_row

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A way to run the model that a ranking may choose.

    Attributes:
        estimate: what it takes.
        where: for each GPU of the catalogue, whether this engine is the usual one there (it
            runs the quantization, and none listed before it does) with these defaults.
    """

    estimate: MemoryEstimate
    where: Flags


@dataclass(frozen=True, slots=True, eq=False)
class FitTable:
    """Every candidate against every GPU at once. Rows are candidates, columns GPUs."""

    candidates: tuple[Candidate, ...]
    boards: npt.NDArray[np.int64]
    fits: Flags
    tight: Flags


def candidates(fitter: Fitter, catalogue: Catalogue) -> Iterator[Candidate]:
    """Every quantization x usual engine x GPU count x class of engine defaults."""
    asked = asked_split(fitter.workload)
    counts = COUNTS if asked is None else (asked.gpus,)
    for quant, native in fitter.quants:
        free = np.ones(len(catalogue.gpus), dtype=np.bool_)
        for engine in fitter.engines(quant):
            where = support_row(catalogue, engine.slug, quant.needs) & free
            if not where.any():
                continue
            free = free & ~where
            for device_class in engine.device_classes:
                here = where & (class_row(catalogue, engine.slug) == device_class)
                for count in counts if here.any() else ():
                    split = fitter.split(engine, count)
                    if split is None or count > _most_devices(catalogue)[here].max():
                        continue
                    made = fitter.estimate(quant, native, engine, split, device_class)
                    yield Candidate(made, here)


def fit_table(of: Sequence[Candidate], catalogue: Catalogue) -> FitTable:
    """Compare all candidates with all GPUs in a few array operations."""
    memory = catalogue.columns.device_memory_bytes[None, :]
    devices = catalogue.columns.devices_per_board[None, :]
    gpus = _column([c.estimate.split.gpus for c in of])
    utilization = np.array([c.estimate.utilization for c in of])[:, None]
    budget = memory * utilization
    boards = -(-gpus // devices)
    allowed = np.array([c.where for c in of], dtype=np.bool_).reshape(len(of), -1)
    allowed = allowed & (gpus % devices == 0) & (boards <= _column_of_max_cards(catalogue))
    totals = [c.estimate.per_gpu.total for c in of]
    budgeted = [c.estimate.budgeted for c in of]
    fits = allowed & (_column([t.high for t in totals]) <= memory)
    fits &= _column([b.high for b in budgeted]) <= budget
    tight = allowed & (_column([t.likely for t in totals]) <= memory)
    tight &= _column([b.likely for b in budgeted]) <= budget
    return FitTable(tuple(of), boards, fits, tight)


def _column(values: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)[:, None]


@lru_cache(maxsize=16)
def _column_of_max_cards(catalogue: Catalogue) -> npt.NDArray[np.int64]:
    return np.array([max_cards(gpu) for gpu in catalogue.gpus], dtype=np.int64)[None, :]


@lru_cache(maxsize=16)
def _most_devices(catalogue: Catalogue) -> npt.NDArray[np.int64]:
    """GPUs on the most boards of each kind that are worth planning with."""
    return np.asarray(_column_of_max_cards(catalogue)[0] * catalogue.columns.devices_per_board)
