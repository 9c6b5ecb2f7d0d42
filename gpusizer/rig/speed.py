"""Decoding speed of a model spread over unlike cards: they work one after the other."""

from __future__ import annotations

from gpusizer.rig.arranging import Arranged
from gpusizer.rig.shares import Load
from gpusizer.speed import Rate, decode_rate
from gpusizer.units import significant


def rig_rate(load: Load, made: Arranged) -> Rate | None:
    """Tokens/s of one user: the times that each card takes for its part of the weights, added up.

    None where part of the model is in system memory, and where a card's speed is not known.
    """
    if not made.verdict.all_on_gpu or not made.devices:
        return None
    whole = sum(share.weights.likely for share in made.devices)
    seconds = [0.0, 0.0, 0.0]
    for gpu, share in zip(load.rig.gpus, made.devices, strict=True):
        if not share.weights.likely:
            continue
        alone = decode_rate(load.profile, load.estimate, load.workload, gpu)
        if alone is None or not alone.low:
            return None
        part = share.weights.likely / whole
        for place, rate in enumerate((alone.low, alone.likely, alone.high)):
            seconds[place] += part / rate
    return Rate(*(significant(1 / time) for time in seconds))
