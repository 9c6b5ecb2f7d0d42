"""What the system memory and the disk of a machine make of the fits on GPUs named for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpusizer.answers.request import SizeRequest
from gpusizer.fit.fit import Fitter
from gpusizer.fit.host_memory import in_host_memory
from gpusizer.fit.mixed_gpus.machine import machine_of
from gpusizer.fit.ranking import Ranked


def in_machine(
    ranking: Sequence[Ranked], fitter: Fitter, request: SizeRequest
) -> tuple[Ranked, ...]:
    """The same, with what a machine of the request's `ram_gb` holds beside the GPUs.

    Suggestions to leave a part in system memory go where that is too small for it.
    """
    if request.ram_bytes is None:
        return tuple(ranking)
    placed = []
    for item in ranking:
        gpu, boards = item.fit.gpu, item.fit.count
        rig = machine_of(gpu, boards, request.ram_bytes, request.disk_bytes_per_second)
        held = in_host_memory(fitter, item, rig)
        if not held.fit.verdict.in_memory:
            advice = tuple(s for s in held.advice if s.note.code != "try_offload")
            held = replace(held, advice=advice)
        placed.append(held)
    return tuple(placed)
