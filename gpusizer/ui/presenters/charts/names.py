"""Names of points, written where a name touches no other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from gpusizer.ui.presenters.charts.plot import (
    HEIGHT,
    NARROW,
    Axis,
    Json,
    Place,
    name,
    text_width,
)

Box = tuple[float, float, float]
"""Left and right end, and the middle from the top, of a text or a point in pixels of a phone."""
_HIGH = 9  # pixels from the middle of a name to its edge
_BESIDE = 8  # pixels between a point and its name
_POINT = 5  # pixels from the middle of a point to its edge


@dataclass(frozen=True, slots=True)
class NamedPoint:
    """A point of a plot, and its name, which is written over others if it `must_show`."""

    label: str
    place: Place
    must_show: bool = False


def free_names(
    points: Sequence[NamedPoint], x: Axis, y: Axis, taken: Iterable[Box] = ()
) -> Iterator[Json]:
    """Yield the name of each point beside it, if there is room; the first points choose first."""
    boxes = [_box(point, x, y) for point in points]
    occupied = [*boxes, *taken]
    for point, own in zip(points, boxes, strict=True):
        middle, width = (own[0] + own[1]) / 2, text_width(point.label)
        sides = {
            "left": (middle + _BESIDE, middle + _BESIDE + width, own[2]),
            "right": (middle - _BESIDE - width, middle - _BESIDE, own[2]),
        }
        for align, box in sides.items():
            inside = box[0] >= 0 and box[1] <= NARROW
            is_free = not any(_touch(box, other) for other in occupied if other != own)
            if inside and (point.must_show or is_free):
                occupied.append(box)
                dx = _BESIDE if align == "left" else -_BESIDE
                yield name(point.label, point.place, align, dx=dx)
                break


def level_of(value: float, y: Axis) -> float:
    """Return the pixels from the top of the plot to a value."""
    return HEIGHT * (1 - y.share(value))


def _box(point: NamedPoint, x: Axis, y: Axis) -> Box:
    at, up = point.place
    middle = x.share(at) * NARROW
    return middle - _POINT, middle + _POINT, level_of(up, y)


def _touch(one: Box, other: Box) -> bool:
    is_level = abs(one[2] - other[2]) < 2 * _HIGH
    return is_level and one[0] < other[1] and other[0] < one[1]
