"""GPUs named for a machine of stated memory: how many there are, and what its memory and its disk
make of the fits on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpusizer.answers.request import SizeRequest
from gpusizer.fit.fit import Fitter, asked_split
from gpusizer.fit.host_memory import in_host_memory
from gpusizer.fit.mixed_gpus.machine import machine_of
from gpusizer.fit.ranking import Ranked


def boards_of(request: SizeRequest, count: int | None = None) -> int | None:
    """Boards of each GPU that is named without a number: `count`; None for the fewest that fit.

    A machine of stated memory has the GPUs that it has: one of each, unless more are asked for.
    """
    is_open = count is None and asked_split(request.workload) is None
    return 1 if is_open and request.ram_bytes is not None else count


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
