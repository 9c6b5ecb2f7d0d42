"""Fits of one quantization and engine on equal boards, for tests that choose these themselves."""

from __future__ import annotations

from gpusizer.fit.fit import Fit
from gpusizer.fit.machine import Machine
from gpusizer.fit.study import QuantOption, Study
from gpusizer.fit.ways import whole_way
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine
from gpusizer.memory.quants import Quant


def fit_on(
    study: Study, gpu: Gpu, boards: int, quant: Quant, native: bool, engine: Engine
) -> Fit | None:
    """How all of the model fits so many boards, None where they cannot share it."""
    way = whole_way(study, Machine.of(gpu, boards), QuantOption(quant, native, engine))
    return None if way is None else Fit.of(study, way)
