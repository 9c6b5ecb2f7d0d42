"""GpuFilter: the GPUs and plans that a request allows in a ranking.

Groups (vendor, segment, software, status, rentable) reduce the catalogue. Limits (budget, rent,
watts) set a largest number of boards for each GPU.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import get_args

from gpusizer.core.errors import InvalidRequest
from gpusizer.gpus import Catalogue, Gpu, Status
from gpusizer.gpus.costs import rental_quote

STATUSES: tuple[str, ...] = get_args(Status)
# Short for the statuses of cards that are still made and sold.
IN_PRODUCTION = "in_production"
_MADE = ("current", "export-only")


@dataclass(frozen=True, slots=True)
class GpuFilter:
    """Groups and limits of a request; empty and None mean no restriction."""

    # vendors, segments, software: names as in the catalogue, in any case
    vendors: tuple[str, ...] = ()
    segments: tuple[str, ...] = ()
    software: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()  # values of `Status`, or "in_production"
    rentable: bool | None = None  # True for boards that a provider rents out, False for the others
    max_usd: float | None = None  # purchase price of all boards of a plan together
    max_usd_per_hour: float | None = None  # on-demand rent of all boards of a plan together
    max_watts: float | None = None  # rated power of all boards of a plan together

    def __bool__(self) -> bool:
        return self != NO_FILTER

    @property
    def groups(self) -> GpuFilter:
        """The part of the filter that reduces the catalogue."""
        return replace(self, max_usd=None, max_usd_per_hour=None, max_watts=None)


NO_FILTER = GpuFilter()


@lru_cache(maxsize=16)
def narrowed(catalogue: Catalogue, groups: GpuFilter) -> Catalogue:
    """Return the GPUs of the named groups; cached.

    Raises InvalidRequest naming the field for an unknown vendor, segment or software.
    """
    if not groups:
        return catalogue
    vendors = _known("vendor", groups.vendors, (gpu.vendor for gpu in catalogue.gpus))
    segments = _known("segment", groups.segments, (gpu.segment for gpu in catalogue.gpus))
    software = _known("software", groups.software, (gpu.software for gpu in catalogue.gpus))
    statuses = set(groups.statuses)
    if IN_PRODUCTION in statuses:
        statuses.update(_MADE)
    wanted = (
        gpu
        for gpu in catalogue.gpus
        if (not vendors or gpu.vendor in vendors)
        and (not segments or gpu.segment in segments)
        and (not software or gpu.software in software)
        and (not statuses or gpu.status in statuses)
        and (groups.rentable is None or (rental_quote(gpu) is not None) == groups.rentable)
    )
    return Catalogue(tuple(wanted))


def most_boards(gpu: Gpu, limits: GpuFilter) -> int | None:
    """Return the boards within budget, rent and power; None if a limited figure is unknown."""
    quote = rental_quote(gpu)
    limited = [
        (limits.max_usd, gpu.buy_usd),
        (limits.max_usd_per_hour, quote.likely_usd if quote else None),
        (limits.max_watts, gpu.power_watts),
    ]
    stated_limits = [(limit, per_board) for limit, per_board in limited if limit is not None]
    if any(per_board is None for _, per_board in stated_limits):
        return None
    # A billionth of a board is allowed for rounding of the limit.
    boards = (int(limit / each + 1e-9) for limit, each in stated_limits if each)
    return min(boards, default=_ANY)


def board_limits(catalogue: Catalogue, limits: GpuFilter) -> tuple[int | None, ...] | None:
    """Return `most_boards` of every GPU of the catalogue, None without limits."""
    if limits == limits.groups:
        return None
    return tuple(most_boards(gpu, limits) for gpu in catalogue.gpus)


_ANY = 10**6


def _known(field: str, texts: Iterable[str], values: Iterable[str]) -> frozenset[str]:
    # The part of a name before a bracket is enough ("DTK").
    spellings: dict[str, str] = {}
    for value in values:
        spellings.setdefault(value.casefold(), value)
        spellings.setdefault(value.casefold().split(" (")[0], value)
    names = []
    for text in texts:
        name = spellings.get(text.casefold())
        if name is None:
            choices = ", ".join(sorted(set(spellings.values()), key=str.casefold))
            raise InvalidRequest(field=field, value=text[:80], reason="not_one_of", choices=choices)
        names.append(name)
    return frozenset(names)
