"""Placing is the best there is: by hand, and against every placing of small machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gpusizer.advice.desk.placing import Placing, can_all_stay, place
from gpusizer.advice.desk.rooms import (
    PlaceOption,
    PlaceRequest,
    Room,
    RoomLeft,
    Seat,
    Taking,
)


def option(
    held: int, *groups: Sequence[int], place_: int = 0, share: int = 0, **more: Any
) -> PlaceOption:
    takings = (Taking(held, share),) * len(groups[0])
    return PlaceOption(tuple(map(tuple, groups)), takings, place=place_, **more)


def rooms(*free_bytes: int) -> tuple[Room, ...]:
    kinds = list(dict.fromkeys(free_bytes))
    return tuple(Room(kinds.index(free), free) for free in free_bytes)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_pools_have_room_where_some_group_has(data: st.DataObject) -> None:
    devices, takings = st.integers(0, 12), st.builds(Taking, st.integers(1, 12), st.integers(0, 40))
    left = data.draw(st.tuples(*[devices] * 5))
    shares = data.draw(st.tuples(*[st.integers(0, 92)] * 5))
    pools = (((0, 1, 2), data.draw(st.integers(1, 3))), ((3, 4), data.draw(st.integers(1, 2))))
    held = tuple(data.draw(takings) for _, count in pools for _ in range(count))
    groups = tuple(
        (*first, *last) for first, last in product(*(combinations(them, n) for them, n in pools))
    )
    state = RoomLeft(left, None, shares, (92,) * 5)
    by_group = state.has_room(PlaceOption(groups, held))
    assert state.has_room(PlaceOption(groups, held, pools)) is by_group


def test_the_large_model_gets_the_large_device() -> None:
    large = PlaceRequest((option(20, (0,), (1,)),))
    small = PlaceRequest((option(10, (0,), (1,)),))
    found = place(rooms(24, 12), None, (small, large))
    assert [seat and seat.group for seat in found.seats] == [(1,), (0,)]
    assert found.all_stay and found.is_proven and found.state.left_bytes == (4, 2)
    assert found.spare == 16  # 4 of 24, and 2 of 12


def test_models_spread_over_devices_that_are_alike() -> None:
    alike = {"alike": (0, 1)}
    request = PlaceRequest((option(6, (0,), (1,), **alike),))
    found = place(rooms(16, 16), None, (request, request))
    assert {seat.group for seat in found.seats if seat} == {(0,), (1,)}
    assert found.spare == 62  # 10 of 16; on one device 4 of 16 would be left


def test_a_smaller_quantization_comes_before_waiting() -> None:
    wide, narrow = option(16, (0,)), option(9, (0,), place_=1, loss=2)
    other = PlaceRequest((option(8, (0,)),))
    found = place(rooms(20), None, (PlaceRequest((wide, narrow)), other))
    assert found.all_stay and found.seats[0] == Seat(narrow, (0,), stays=True)


def test_what_must_stay_does_and_the_other_waits_in_what_is_left() -> None:
    must = PlaceRequest((option(12, (0,)),))
    may = PlaceRequest((option(14, (0,)), option(7, (0,), place_=1, loss=1)), must_stay=False)
    third = PlaceRequest((option(5, (0,)),))
    found = place(rooms(20), None, (may, must, third))
    assert [seat and seat.stays for seat in found.seats] == [None, True, True]
    alone = place(rooms(20), None, (may, must))
    assert alone.seats[0] == Seat(may.options[1], (0,), stays=True)
    two_wait = place(rooms(20), None, (may, must, PlaceRequest(third.options, must_stay=False)))
    # Where one stayed, the other could not be loaded at all.
    assert [seat and seat.stays for seat in two_wait.seats] == [False, True, False]


def test_shares_of_a_card_stay_within_what_the_engine_may_take() -> None:
    engine = {"share": 50, "most_share": 92}
    request = PlaceRequest((option(5, (0,), **engine),))
    found = place(rooms(100), None, (request, request))
    assert [seat.stays for seat in found.seats if seat] == [True] and None in found.seats


def test_system_memory_is_one_of_the_limits() -> None:
    on_host = PlaceRequest((PlaceOption(((),), (), ram_bytes=6, in_part=True),))
    assert place(rooms(), 12, (on_host, on_host)).all_stay
    assert not place(rooms(), 11, (on_host, on_host)).all_stay
    assert place(rooms(), None, (on_host, on_host)).all_stay


sizes = st.integers(1, 30)


@st.composite
def options_of(draw: st.DrawFn, devices: tuple[Room, ...]) -> tuple[PlaceOption, ...]:
    found = []
    for number in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(sorted({room.kind for room in devices})))
        same = tuple(n for n, room in enumerate(devices) if room.kind == kind)
        count = draw(st.integers(1, min(2, len(same))))
        share = draw(st.sampled_from((0, 0, 30, 60)))
        found.append(
            PlaceOption(
                groups=tuple(combinations(same, count)),
                pools=draw(st.sampled_from(((), ((same, count),)))),
                takings=(Taking(draw(sizes), share),) * count,
                alike=draw(st.sampled_from(((), same))),
                ram_bytes=draw(st.sampled_from((0, 0, 5))),
                most_share=92,
                in_part=draw(st.booleans()),
                unready=draw(st.integers(0, 1)),
                spans=draw(st.booleans()),
                loss=draw(st.integers(0, 2)),
                place=number,
            )
        )
    return tuple(found)


@st.composite
def desks(draw: st.DrawFn) -> tuple[tuple[Room, ...], int | None, tuple[PlaceRequest, ...]]:
    devices = rooms(*draw(st.lists(st.sampled_from((12, 24, 32)), min_size=1, max_size=3)))
    models = draw(st.lists(options_of(devices), min_size=1, max_size=3))
    requests = tuple(PlaceRequest(options, draw(st.booleans())) for options in models)
    return devices, draw(st.sampled_from((None, 0, 5, 10))), requests


def every_placing(
    devices: Sequence[Room], ram: int | None, requests: Sequence[PlaceRequest]
) -> Iterator[tuple[int, int]]:
    """Cost and spare of every way to let some models stay, the others loaded alone beside them."""
    none = (0,) * len(devices)
    start = RoomLeft(tuple(room.free_bytes for room in devices), ram, none, (100,) * len(devices))
    choices = [
        [None, *((o, group) for o in request.options for group in o.groups)] for request in requests
    ]
    for chosen in product(*choices):
        state: RoomLeft | None = start
        cost = 0
        for request, taken in zip(requests, chosen, strict=True):
            if taken is None:
                cost += request.waiting_cost
            elif state is not None:
                state, cost = state.taken(*taken), cost + taken[0].cost
        if state is None:
            continue
        for request, taken in zip(requests, chosen, strict=True):
            if taken is None:
                loaded = [
                    o.cost for o in request.options if any(state.taken(o, g) for g in o.groups)
                ]
                cost += min(loaded, default=NEVER_LOADED)
        used = [
            100 * left // room.free_bytes
            for room, left in zip(devices, state.left_bytes, strict=True)
            if left < room.free_bytes
        ]
        yield cost, min(used, default=100)


NOTHING = PlaceRequest((), must_stay=False)
NEVER_LOADED = place((), None, (NOTHING,)).cost - NOTHING.waiting_cost


@settings(max_examples=150, deadline=None)
@given(desks())
def test_no_placing_of_a_small_machine_is_better(
    desk: tuple[tuple[Room, ...], int | None, tuple[PlaceRequest, ...]],
) -> None:
    found = place(*desk)
    best = min((cost, -spare) for cost, spare in every_placing(*desk))
    assert (found.cost, -found.spare) == best and found.is_proven
    assert can_all_stay(*desk) == found.all_stay
    check_room(found, *desk)


def check_room(
    found: Placing, devices: Sequence[Room], ram: int | None, requests: Sequence[PlaceRequest]
) -> None:
    """No device and no memory holds more than it has, with each of those that wait in turn."""
    waiting = [seat for seat in found.seats if seat and not seat.stays]
    for alone in waiting or [None]:
        there = [seat for seat in found.seats if seat and (seat.stays or seat is alone)]
        for number, room in enumerate(devices):
            held = [
                taking
                for seat in there
                for device, taking in zip(seat.group, seat.option.takings, strict=True)
                if device == number
            ]
            assert sum(taking.held_bytes for taking in held) <= room.free_bytes
            assert sum(taking.share for taking in held) <= 92
        if ram is not None:
            assert sum(seat.option.ram_bytes for seat in there) <= ram


def test_a_search_that_is_cut_short_says_so_and_still_answers() -> None:
    options = tuple(
        option(9 - n, *((d,) for d in range(4)), place_=n, alike=(0, 1, 2, 3)) for n in range(6)
    )
    found = place(rooms(20, 20, 20, 20), None, (PlaceRequest(options),) * 8, most_steps=20)
    assert not found.is_proven and all(found.seats)
    assert place(rooms(20, 20, 20, 20), None, (PlaceRequest(options),) * 8).is_proven


def test_a_question_that_is_cut_short_has_no_answer() -> None:
    """Three of 7 and three of 13 fill three devices of 20."""
    sizes = (7, 7, 7, 13, 13, 13)
    requests = tuple(
        PlaceRequest((option(held, (0,), (1,), (2,), alike=(0, 1, 2)),)) for held in sizes
    )
    devices = rooms(20, 20, 20)
    assert can_all_stay(devices, None, requests) is True
    assert can_all_stay(devices, None, requests, most_steps=3) is None
    assert can_all_stay(rooms(20, 20, 19), None, requests, most_steps=3) is False
