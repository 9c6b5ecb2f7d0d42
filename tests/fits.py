"""Fits of one quantization and engine on equal boards, for tests that choose these themselves."""

from __future__ import annotations

from gpusizer.fit.fit import Fit
from gpusizer.fit.machine import Machine
from gpusizer.fit.run_configs import config_on_gpus
from gpusizer.fit.study import QuantOption, Study
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine
from gpusizer.memory.quants import Quant


def fit_on(
    study: Study, gpu: Gpu, boards: int, quant: Quant, native: bool, engine: Engine
) -> Fit | None:
    """Return the fit of a whole model on `boards` boards, or None if they cannot share it."""
    config = config_on_gpus(
        study, Machine.with_boards(gpu, boards), QuantOption(quant, native, engine)
    )
    return None if config is None else Fit.from_config(study, config)
