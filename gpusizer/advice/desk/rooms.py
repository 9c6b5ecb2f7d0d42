"""Rooms: devices and system memory, what models may take of them, and what is left.

What is preferred is in the costs, in this order: models that must stay do; every other one can be
loaded; few wait; few have a part in system memory; few need weights that have to be made or found
first; little is lost; few span unlike devices; options that their own model prefers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

MOST_MODELS = 8
_MOST_PLACE, _MOST_LOSS, _MOST_UNREADY = 63, 15, 7  # larger ones count as these
# Each is more than all models together cost by what comes before it.
_SPAN_COST = MOST_MODELS * (_MOST_PLACE + 1)
_LOSS_COST = 2 * MOST_MODELS * _SPAN_COST
_UNREADY_COST = MOST_MODELS * (_MOST_LOSS + 1) * _LOSS_COST
IN_PART_COST = MOST_MODELS * (_MOST_UNREADY + 1) * _UNREADY_COST
_WAITING_COST = 2 * MOST_MODELS * IN_PART_COST
NEVER_LOADED = 2 * MOST_MODELS * _WAITING_COST
_MUST_STAY_COST = 2 * MOST_MODELS * NEVER_LOADED
IMPOSSIBLE = 2 * MOST_MODELS * _MUST_STAY_COST
HUNDREDTHS = 100  # of a device, as engines receive shares of one


@dataclass(frozen=True, slots=True)
class Room:
    """A device; those of one `kind` are alike."""

    kind: int
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Taking:
    """Amounts that one option takes of a device.

    Attributes:
        held_bytes: at the high end.
        share: hundredths of the device that its engine receives as an option, 0 without one.
    """

    held_bytes: int
    share: int = 0


@dataclass(frozen=True, slots=True)
class PlaceOption:
    """One way to run a model.

    Attributes:
        groups: sets of devices that it may take, each in the order of `takings`.
        pools: devices of each of its kinds and how many it takes of them, if the groups are all
            such sets, each in the order of the devices; otherwise ().
        alike: devices of one kind, if the groups are all their sets of one size and it takes the
            same of each; otherwise ().
        takings: what it takes of each device of a group.
        ram_bytes: what it takes of system memory.
        most_share: hundredths that engines on one device may receive together.
        in_part: a part of it is in system memory.
        unready: steps further from running than the option that its model prefers.
        spans: its devices are unlike, which only llama.cpp joins, at the pace of the slowest; those
            of several vendors under Vulkan, in no container.
        loss: how much more is lost than in the option that its model prefers.
        place: its place among the options of its model.
    """

    groups: tuple[tuple[int, ...], ...]
    takings: tuple[Taking, ...]
    pools: tuple[tuple[tuple[int, ...], int], ...] = ()
    alike: tuple[int, ...] = ()
    ram_bytes: int = 0
    most_share: int = HUNDREDTHS
    in_part: bool = False
    unready: int = 0
    spans: bool = False
    loss: int = 0
    place: int = 0

    @property
    def cost(self) -> int:
        """Cost of taking this option, by the order of this module."""
        return (
            self.in_part * IN_PART_COST
            + min(self.unready, _MOST_UNREADY) * _UNREADY_COST
            + min(self.loss, _MOST_LOSS) * _LOSS_COST
            + self.spans * _SPAN_COST
            + min(self.place, _MOST_PLACE)
        )

    @property
    def total_bytes(self) -> int:
        """Bytes on all its devices."""
        return sum(taking.held_bytes for taking in self.takings)


@dataclass(frozen=True, slots=True)
class PlaceRequest:
    """A model to place: its options, and whether it must stay loaded."""

    options: tuple[PlaceOption, ...]
    must_stay: bool = True

    @property
    def waiting_cost(self) -> int:
        """Cost of not keeping it loaded."""
        return _WAITING_COST + self.must_stay * _MUST_STAY_COST


@dataclass(frozen=True, slots=True)
class Seat:
    """Place of a loaded model; one that waits shares its devices only with those that stay."""

    option: PlaceOption
    group: tuple[int, ...]
    stays: bool


@dataclass(frozen=True, slots=True)
class RoomLeft:
    """Rest of the machine: of devices, of system memory (None: unknown), of shares."""

    left_bytes: tuple[int, ...]
    ram_bytes: int | None
    shares: tuple[int, ...]
    most_shares: tuple[int, ...]

    def has_room(self, option: PlaceOption) -> bool:
        """Whether some group has enough left for an option."""
        if self.ram_bytes is not None and option.ram_bytes > self.ram_bytes:
            return False
        if option.alike:
            return len(self.with_room(option)) >= len(option.takings)
        if option.pools:
            return self._has_room_in_pools(option)
        return any(
            self._has_room_in(option.takings, option.most_share, group) for group in option.groups
        )

    def with_room(self, option: PlaceOption) -> list[int]:
        """Return the devices that have enough left for an option that takes as much of each."""
        takings = option.takings[:1]
        return [n for n in option.alike if self._has_room_in(takings, option.most_share, (n,))]

    def _has_room_in_pools(self, option: PlaceOption) -> bool:
        # Of each kind the first device that has room for it takes the next part: a later one would
        # leave fewer for those that follow.
        takings = iter(option.takings)
        for devices, count in option.pools:
            left = iter(devices)
            for taking in islice(takings, count):
                if not any(self._has_room_in((taking,), option.most_share, (n,)) for n in left):
                    return False
        return True

    def _has_room_in(
        self, takings: Sequence[Taking], most_share: int, group: Sequence[int]
    ) -> bool:
        for device, taking in zip(group, takings, strict=True):
            if taking.held_bytes > self.left_bytes[device]:
                return False
            most = min(self.most_shares[device], most_share)
            if taking.share and self.shares[device] + taking.share > most:
                return False
        return True

    def taken(self, option: PlaceOption, group: Sequence[int]) -> RoomLeft | None:
        """Return the state after an option took a group, or None if too little is left."""
        ram = self.ram_bytes
        if ram is not None and option.ram_bytes > ram:
            return None
        if not self._has_room_in(option.takings, option.most_share, group):
            return None
        left, shares, most = map(list, (self.left_bytes, self.shares, self.most_shares))
        for device, taking in zip(group, option.takings, strict=True):
            left[device] -= taking.held_bytes
            shares[device] += taking.share
            if taking.share:
                most[device] = min(most[device], option.most_share)
        ram = None if ram is None else ram - option.ram_bytes
        return RoomLeft(tuple(left), ram, tuple(shares), tuple(most))
