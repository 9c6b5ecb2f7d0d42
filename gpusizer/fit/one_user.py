"""Tokens/s of one user on a machine, whether its devices are alike or not."""

from __future__ import annotations

from gpusizer.core.units import significant
from gpusizer.fit.speed import Rate, decode_rate
from gpusizer.fit.study import Study
from gpusizer.fit.way import Way


def one_user_rate(study: Study, way: Way) -> Rate | None:
    """Tokens/s of one user alone: where layers lie on unlike devices, the times that each takes for
    its part of the weights added up.

    None where part of the model is in system memory, and where the speed of a device is not known.
    """
    if not way.verdict.all_on_gpu or not way.machine.gpus:
        return None
    profile, estimate, workload = study.profile, way.estimate, study.workload
    if way.arranged is None or way.machine.is_uniform:
        return decode_rate(profile, estimate, workload, way.gpu)
    devices = way.arranged.devices
    weight_bytes = sum(share.weights.likely for share in devices)
    seconds = [0.0, 0.0, 0.0]
    for gpu, share in zip(way.machine.gpus, devices, strict=True):
        if not share.weights.likely:
            continue
        alone = decode_rate(profile, estimate, workload, gpu)
        if alone is None or not alone.low:
            return None
        part = share.weights.likely / weight_bytes
        for place, rate in enumerate((alone.low, alone.likely, alone.high)):
            seconds[place] += part / rate
    return Rate(*(significant(1 / time) for time in seconds))
