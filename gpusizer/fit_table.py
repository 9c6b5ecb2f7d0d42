"""FitTable: every way to run a model against every GPU, in a few array operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gpusizer.fit import Candidate, max_cards
from gpusizer.gpus import Catalogue
from gpusizer.memory import MemoryEstimate
from gpusizer.support import supported_matrix


@dataclass(frozen=True, slots=True)
class FitTable:
    """Every candidate against every GPU at once. Rows are candidates, columns GPUs."""

    candidates: tuple[Candidate, ...]
    boards: npt.NDArray[np.int64]
    fits: npt.NDArray[np.bool_]
    tight: npt.NDArray[np.bool_]


def fit_table(candidates: Sequence[Candidate], catalogue: Catalogue) -> FitTable:
    """Compare all candidates with all GPUs in a few array operations."""
    memory = catalogue.columns.device_memory_bytes[None, :]
    devices = catalogue.columns.devices_per_board[None, :]
    gpus = _column([c.estimate.split.gpus for c in candidates])
    utilization = np.array([c.estimate.utilization for c in candidates])[:, None]
    budget = memory * utilization
    boards = -(-gpus // devices)
    allowed = (gpus % devices == 0) & (boards <= _column_of_max_cards(catalogue))
    allowed &= _right_class(candidates, memory)
    allowed &= _usual_engine(candidates, catalogue)
    totals = [c.estimate.per_gpu.total for c in candidates]
    budgeted = [c.estimate.per_gpu.budgeted for c in candidates]
    fits = allowed & (_column([t.high for t in totals]) <= memory)
    fits &= _column([b.high for b in budgeted]) <= budget
    tight = allowed & (_column([t.likely for t in totals]) <= memory)
    tight &= _column([b.likely for b in budgeted]) <= budget
    return FitTable(tuple(candidates), boards, fits, tight)


def _usual_engine(candidates: Sequence[Candidate], catalogue: Catalogue) -> npt.NDArray[np.bool_]:
    """Where a candidate's engine is the first of its quantization's that runs on the GPU."""
    supported = supported_matrix([c.estimate for c in candidates], catalogue)
    taken: dict[tuple[str, int], npt.NDArray[np.bool_]] = {}
    for candidate, row in zip(candidates, supported, strict=True):
        taken[(candidate.estimate.quant.slug, candidate.engine_choice)] = row
    result = supported.copy()
    for place, candidate in enumerate(candidates):
        for earlier in range(candidate.engine_choice):
            result[place] &= ~taken[(candidate.estimate.quant.slug, earlier)]
    return result


def _right_class(
    candidates: Sequence[Candidate], memory: npt.NDArray[np.int64]
) -> npt.NDArray[np.bool_]:
    """A GPU belongs to the largest device class of the engine it reaches."""
    lower = _column([c.estimate.device_class for c in candidates])
    upper = _column([_next_class(c.estimate) for c in candidates])
    return np.asarray((memory >= lower) & (memory < upper))


def _next_class(estimate: MemoryEstimate) -> int:
    above = [size for size in estimate.engine.device_classes if size > estimate.device_class]
    return min(above, default=2**62)


def _column(values: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)[:, None]


def _column_of_max_cards(catalogue: Catalogue) -> npt.NDArray[np.int64]:
    return np.array([max_cards(gpu) for gpu in catalogue.gpus], dtype=np.int64)[None, :]
