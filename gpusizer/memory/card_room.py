"""CardRoom: what an engine may use of one device of which other programs hold a part.

Most engines take what they need, or a share of what is free. vLLM takes a share of the total:

- since 0.9.1 it refuses to start where less is free than that share (`request_memory`,
  vllm/v1/worker/utils.py; issue 20305), and does not count what others hold (`gpu_worker.py`);
- before, what others hold is subtracted from the share (`determine_available_memory` of 0.8).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from gpusizer.memory.engines.base import FreeRule

_STEPS = 100  # a share is lowered to whole hundredths, as people write it


@dataclass(frozen=True, slots=True)
class CardRoom:
    """Room on one device, in bytes.

    Attributes:
        free_bytes: what other programs leave.
        budget_bytes: what the engine's share allows.
        utilization: that share of the memory, as the engine has to be told.
        refused_bytes: by how much too little is free for the engine to start, else 0.
    """

    free_bytes: int
    budget_bytes: int
    utilization: float
    refused_bytes: int = 0


def room_of(
    rule: FreeRule, utilization: float, *, stated: bool, memory_bytes: int, free_bytes: int | None
) -> CardRoom:
    """The room on a device of that memory; `free_bytes` is None where nobody said what is free.

    A share that the request states is kept; the engine's own default is lowered to what it starts
    with.
    """
    if free_bytes is None:
        return CardRoom(memory_bytes, int(memory_bytes * utilization), utilization)
    free = min(free_bytes, memory_bytes)
    if rule.kind == "share_of_free":
        return CardRoom(free, int(free * utilization), utilization)
    if rule.kind == "others_subtracted":
        budget = int(memory_bytes * utilization) - (memory_bytes - free)
        return CardRoom(free, max(0, budget), utilization)
    at_start = max(0, free - rule.start_bytes)
    if stated:
        refused = max(0, ceil(memory_bytes * utilization) - at_start)
        return CardRoom(free, int(memory_bytes * utilization), utilization, refused)
    lowered = min(utilization, floor(at_start / memory_bytes * _STEPS) / _STEPS)
    return CardRoom(free, int(memory_bytes * lowered), lowered)
