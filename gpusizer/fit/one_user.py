"""Speeds of one user on a machine, whether its devices are alike or not and whatever of the model
lies in system memory."""

from __future__ import annotations

from gpusizer.fit.part_speed import part_decode_rate, part_prefill_rate
from gpusizer.fit.placement.device_shares import Arrangement, Load
from gpusizer.fit.speed import Rate, decode_rate, prefill_rate
from gpusizer.fit.study import Study
from gpusizer.fit.way import Way
from gpusizer.fit.ways import keeps_part_in_memory, load_of

Placed = tuple[Load, Arrangement]
"""A model, and where its layers lie."""


def one_user_rate(study: Study, way: Way) -> Rate | None:
    """Tokens/s of one user alone: where layers lie on unlike devices or in system memory, the times
    that each place takes for its own added up.

    None where the model does not run, and where the speed of a device is not known.
    """
    if not way.verdict.runs:
        return None
    placed = placed_layers(study, way)
    if placed is not None:
        return part_decode_rate(*placed)
    if not way.verdict.all_on_gpu or not way.machine.gpus:
        return None
    return decode_rate(study.profile, way.estimate, study.workload, way.gpu)


def one_prompt_rate(study: Study, way: Way) -> Rate | None:
    """Prompt tokens/s of one prompt likewise; None where the disk is read too."""
    if not way.verdict.in_memory:
        return None
    placed = placed_layers(study, way)
    if placed is not None:
        return part_prefill_rate(*placed)
    if not way.verdict.all_on_gpu or not way.machine.gpus:
        return None
    return prefill_rate(study.profile, way.estimate, study.workload, way.gpu)


def placed_layers(study: Study, way: Way) -> Placed | None:
    """Where llama.cpp puts each layer; None where devices alike divide the whole model, and for
    what has no layers."""
    estimate, arch, workload = way.estimate, study.profile.architecture, study.workload
    in_part = keeps_part_in_memory(study.profile, workload, estimate)
    if arch is None or (way.arranged is None and not in_part):
        return None
    if way.arranged is not None and way.machine.is_uniform and way.verdict.all_on_gpu:
        return None
    load, machine = load_of(study, way.machine, estimate), way.machine
    if way.arranged is not None:
        return load, way.arranged.how
    layers = arch.layers + 1 if workload.gpu_layers is None else workload.gpu_layers
    held_back = arch.layers if workload.cpu_moe and arch.experts else 0
    equal = (1,) * max(1, len(machine.gpus))
    return load, Arrangement(equal, min(layers, arch.layers + 1), held_back)
