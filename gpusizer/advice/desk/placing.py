"""Placing: which models stay loaded, in which option and on which devices, by branch and bound.

The least cost (`rooms.py`) decides, then what is left of the fullest device. The result is the best
over all options, unless the search is cut short (`is_proven`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, product

from gpusizer.advice.desk.bounds import Relaxed
from gpusizer.advice.desk.rooms import (
    HUNDREDTHS,
    IMPOSSIBLE,
    IN_PART_COST,
    NEVER_LOADED,
    PlaceOption,
    PlaceRequest,
    Room,
    RoomLeft,
    Seat,
)
from gpusizer.core.cpu_limiter import CPU_LIMITER

MOST_STEPS = 20_000
"""Placements that are looked at before the search is cut short."""
_MOST_CHECKS = 4_000  # of those, for the question whether all can stay at all
_STEPS_OF_A_TURN = 256  # before others' shorter work is let through
# Modes of a model: it stays on devices alone, or with a part in system memory, or it waits.
_ON_DEVICES, _IN_PART, _WAITS = range(3)


@dataclass(frozen=True, slots=True)
class Placing:
    """The seats of all models, None for one that nothing loads; what is left beside those that
    stay, and whether no other placing is better."""

    seats: tuple[Seat | None, ...]
    state: RoomLeft
    cost: int
    spare: int
    is_proven: bool = True

    @property
    def all_stay(self) -> bool:
        """Whether every model stays loaded."""
        return all(seat is not None and seat.stays for seat in self.seats)


def place(
    rooms: Sequence[Room],
    ram_bytes: int | None,
    requests: Sequence[PlaceRequest],
    most_steps: int = MOST_STEPS,
) -> Placing:
    """Place models on devices and in `ram_bytes` of system memory (None: unknown, never short)."""
    search, start = _Search(tuple(rooms), tuple(requests), most_steps), _empty(rooms, ram_bytes)
    search.try_in_turn(start)
    # Who waits, and who has a part in system memory, decides before anything else.
    for least, modes in sorted(search.modes()):
        if least > search.cost:
            break
        search.try_modes(modes, start)
    assert search.best is not None  # models in turn are a placing
    return replace(search.best, is_proven=search.steps < most_steps)


def can_all_stay(
    rooms: Sequence[Room],
    ram_bytes: int | None,
    requests: Sequence[PlaceRequest],
    most_steps: int = _MOST_CHECKS,
) -> bool | None:
    """Return whether there is a placing in which every model stays loaded, None where the search
    for one is cut short."""
    search = _Search(tuple(rooms), tuple(requests), most_steps)
    small = [_smallest(request.options) for request in requests]
    return search.is_possible(small, _empty(rooms, ram_bytes))


def _empty(rooms: Sequence[Room], ram_bytes: int | None) -> RoomLeft:
    left, none = tuple(room.free_bytes for room in rooms), (0,) * len(rooms)
    return RoomLeft(left, ram_bytes, none, (HUNDREDTHS,) * len(rooms))


@dataclass
class _Search:
    rooms: tuple[Room, ...]
    requests: tuple[PlaceRequest, ...]
    most_steps: int
    best: Placing | None = None
    steps: int = 0

    @property
    def cost(self) -> int:
        """Cost of the best placing so far."""
        return IMPOSSIBLE if self.best is None else self.best.cost

    def try_in_turn(self, start: RoomLeft) -> None:
        """Take the smallest option that fits for one model after another, the largest first."""
        by_size = [sorted(it, key=lambda option: option.total_bytes) for it in self._by_cost]
        order = sorted(
            range(len(self.requests)),
            key=lambda n: (not self.requests[n].must_stay, -_least_bytes(by_size[n])),
        )
        state, cost, seats = start, 0, dict[int, Seat]()
        for number in order:
            seat = self._loaded_alone(by_size[number], state)
            after = None if seat is None else state.taken(seat.option, seat.group)
            if seat is None or after is None:
                cost += self.requests[number].waiting_cost
                continue
            seats[number] = replace(seat, stays=True)
            state, cost = after, cost + seat.option.cost
        waiting = tuple(number for number in order if number not in seats)
        task = _Task(tuple(seats), waiting, [], [])
        self._consider(task, state, cost, [*seats.values()])

    def modes(self) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Yield every way to let models stay on devices, in part, or wait, with the least cost."""
        able = [
            [mode for mode in (_ON_DEVICES, _IN_PART) if options[mode]] + [_WAITS]
            for options in self._by_mode
        ]
        costs = [(0, IN_PART_COST, request.waiting_cost) for request in self.requests]
        for modes in product(*able):
            yield sum(own[mode] for own, mode in zip(costs, modes, strict=True)), modes

    def try_modes(self, modes: Sequence[int], start: RoomLeft) -> None:
        """Look for the best placing of models in these modes."""
        waiting = tuple(number for number, mode in enumerate(modes) if mode == _WAITS)
        staying = [number for number, mode in enumerate(modes) if mode != _WAITS]
        small = [self._small[number][modes[number]] for number in staying]
        if not self.is_possible(small, start):
            return
        options = {number: self._by_mode[number][modes[number]] for number in staying}
        staying.sort(key=lambda number: -_least_bytes(options[number]))
        ordered = [options[number] for number in staying]
        relaxed = [Relaxed.from_models(ordered[depth:]) for depth in range(len(ordered))]
        cost = sum(self.requests[number].waiting_cost for number in waiting)
        self._walk(_Task(tuple(staying), waiting, ordered, relaxed), 0, start, cost, [])

    def is_possible(self, models: Sequence[Sequence[PlaceOption]], start: RoomLeft) -> bool | None:
        """Return whether models may stay together, each in one of these options; None where the
        steps are used up before one is found."""
        if any(not options for options in models):
            return False
        in_ram = sum(min(option.ram_bytes for option in options) for options in models)
        if start.ram_bytes is not None and in_ram > start.ram_bytes:
            return False
        small = sorted(models, key=lambda options: -_least_bytes(options))
        needed = [*accumulate(map(_least_bytes, reversed(small)), initial=0)][::-1]
        with_ram = [*accumulate(map(_least_with_ram, reversed(small)), initial=0)][::-1]

        def fits(depth: int, state: RoomLeft) -> bool:
            self.steps += 1
            if depth == len(small):
                return True
            left = sum(state.left_bytes)
            if needed[depth] > left or self.steps > self.most_steps:
                return False
            if state.ram_bytes is not None and with_ram[depth] > left + state.ram_bytes:
                return False
            if any(not any(map(state.has_room, options)) for options in small[depth:]):
                return False
            return any(
                fits(depth + 1, after)
                for option in small[depth]
                for _, after in self._groups(option, state)
            )

        if fits(0, start):
            return True
        return None if self.steps > self.most_steps else False

    @cached_property
    def _by_cost(self) -> list[list[PlaceOption]]:
        return [
            sorted(request.options, key=lambda option: option.cost) for request in self.requests
        ]

    @cached_property
    def _by_mode(self) -> list[tuple[list[PlaceOption], list[PlaceOption]]]:
        return [
            ([it for it in options if not it.in_part], [it for it in options if it.in_part])
            for options in self._by_cost
        ]

    @cached_property
    def _small(self) -> list[tuple[list[PlaceOption], list[PlaceOption]]]:
        return [(_smallest(whole), _smallest(part)) for whole, part in self._by_mode]

    def _walk(self, task: _Task, depth: int, state: RoomLeft, cost: int, path: list[Seat]) -> None:
        self.steps += 1
        if not self.steps % _STEPS_OF_A_TURN:
            CPU_LIMITER.give_way()
        if self.steps > self.most_steps:
            return
        if depth == len(task.staying):
            self._consider(task, state, cost, path)
            return
        if self._is_beaten(task, depth, state, cost):
            return
        for option in task.options[depth]:
            for group, after in self._groups(option, state):
                path.append(Seat(option, group, stays=True))
                self._walk(task, depth + 1, after, cost + option.cost, path)
                path.pop()

    def _groups(
        self, option: PlaceOption, state: RoomLeft
    ) -> Iterator[tuple[tuple[int, ...], RoomLeft]]:
        # Of devices that are alike and have as much left, one is tried for all; those with the
        # most left come first.
        if option.pools and not state.has_room(option):
            return
        groups = self._of_alike(option, state) if option.alike else option.groups
        seen: set[tuple[object, ...]] = set()
        kinds = [self._kind_of(state, device) for device in range(len(self.rooms))]
        for group in groups:
            alike = tuple(map(kinds.__getitem__, group))
            if alike in seen:
                continue
            seen.add(alike)
            after = state.taken(option, group)
            if after is not None:
                yield group, after

    def _of_alike(self, option: PlaceOption, state: RoomLeft) -> Iterator[tuple[int, ...]]:
        classes: dict[tuple[int, ...], list[int]] = {}
        for device in state.with_room(option):
            classes.setdefault(self._kind_of(state, device), []).append(device)
        by_left = sorted(classes.values(), key=lambda same: -state.left_bytes[same[0]])

        def chosen(place: int, missing: int) -> Iterator[tuple[int, ...]]:
            if not missing:
                yield ()
            elif place < len(by_left):
                same = by_left[place]
                for count in range(min(missing, len(same)), -1, -1):
                    for more in chosen(place + 1, missing - count):
                        yield (*same[:count], *more)

        return (tuple(sorted(group)) for group in chosen(0, len(option.takings)))

    def _kind_of(self, state: RoomLeft, device: int) -> tuple[int, ...]:
        left, share, most = state.left_bytes, state.shares, state.most_shares
        return self.rooms[device].kind, left[device], share[device], most[device]

    def _is_beaten(self, task: _Task, depth: int, state: RoomLeft, cost: int) -> bool:
        alone = 0
        for options in task.options[depth:]:
            least = next((option.cost for option in options if state.has_room(option)), None)
            if least is None:
                return True
            alone += least
        together = task.relaxed[depth].least_cost(sum(state.left_bytes))
        waiting = sum(self._alone_cost(number, state) for number in task.waiting)
        bound = cost + max(alone, together) + waiting
        if bound != self.cost:
            return bound > self.cost
        return self.best is not None and self._spare(state) <= self.best.spare

    def _alone_cost(self, number: int, state: RoomLeft) -> int:
        options = self._by_cost[number]
        return next((it.cost for it in options if state.has_room(it)), NEVER_LOADED)

    def _consider(self, task: _Task, state: RoomLeft, cost: int, path: Sequence[Seat]) -> None:
        seats: dict[int, Seat | None] = dict(zip(task.staying, path, strict=True))
        for number in task.waiting:
            seat = seats[number] = self._loaded_alone(self._by_cost[number], state)
            cost += seat.option.cost if seat else NEVER_LOADED
        spare = self._spare(state)
        if self.best is None or (cost, -spare) < (self.best.cost, -self.best.spare):
            ordered = tuple(seats[number] for number in range(len(self.requests)))
            self.best = Placing(ordered, state, cost, spare)

    def _loaded_alone(self, options: Sequence[PlaceOption], state: RoomLeft) -> Seat | None:
        for option in options:
            for group, _ in self._groups(option, state):
                return Seat(option, group, stays=False)
        return None

    def _spare(self, state: RoomLeft) -> int:
        # Hundredths that are left of the fullest device in use.
        used = (
            HUNDREDTHS * left // room.free_bytes
            for room, left in zip(self.rooms, state.left_bytes, strict=True)
            if left < room.free_bytes
        )
        return min(used, default=HUNDREDTHS)


@dataclass(frozen=True, slots=True)
class _Task:
    """Models that stay, in the order in which they are placed, and those that wait; options of the
    former, the cheapest first, and the bound from each on."""

    staying: tuple[int, ...]
    waiting: tuple[int, ...]
    options: list[list[PlaceOption]]
    relaxed: list[Relaxed]


def _least_bytes(options: Sequence[PlaceOption]) -> int:
    return min((option.total_bytes for option in options), default=0)


def _least_with_ram(options: Sequence[PlaceOption]) -> int:
    return min((option.total_bytes + option.ram_bytes for option in options), default=0)


def _smallest(options: Sequence[PlaceOption]) -> list[PlaceOption]:
    # Options that take less than any other of the same devices.
    return [
        option
        for place, option in enumerate(options)
        if not any(
            _takes_less(other, option, is_before=number < place)
            for number, other in enumerate(options)
            if other is not option
        )
    ]


def _takes_less(other: PlaceOption, option: PlaceOption, *, is_before: bool) -> bool:
    # Of options that take the same, the first is kept.
    if other.groups != option.groups or other.ram_bytes > option.ram_bytes:
        return False
    pairs = [*zip(other.takings, option.takings, strict=True)]
    if any(o.held_bytes > t.held_bytes or o.share > t.share for o, t in pairs):
        return False
    is_same = other.takings == option.takings and other.ram_bytes == option.ram_bytes
    return is_before or not is_same
