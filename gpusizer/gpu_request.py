"""GpuRequest: a GPU as people write it, with or without a number in front."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpusizer.errors import InvalidRequest

MAX_COUNT = 1024
# "2x4090", "2 × RTX 4090", "4 * L40S". A bare number is part of the name ("4090", "7900 XTX").
_COUNTED = re.compile(r"\s*(\d{1,5})\s*(?!xtx?\b)[x×*]\s*(\S.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """A GPU's name as written, and how many boards; None to find the number that fits."""

    name: str
    count: int | None = None


def parse_gpu_request(text: str) -> GpuRequest:
    """Split a leading count off a GPU's name.

    >>> parse_gpu_request("2 × RTX 4090")
    GpuRequest(name='RTX 4090', count=2)

    Raises InvalidRequest for a count outside 1 to 1024.
    """
    match = _COUNTED.fullmatch(text)
    if match is None:
        return GpuRequest(text.strip())
    count = int(match[1])
    if not 1 <= count <= MAX_COUNT:
        raise InvalidRequest(
            field="gpu", value=text[:80], reason="out_of_range", low=1, high=MAX_COUNT
        )
    return GpuRequest(match[2].strip(), count)
