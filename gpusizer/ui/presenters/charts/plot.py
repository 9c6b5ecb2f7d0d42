"""Plot: a Vega-Lite specification of lines, bands, points and names, and the markup around it.

Gradio carries the script that draws it. Texts have the page's colours by its stylesheet; names are
written beside what they name, and every number is in the table below.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gpusizer.core.printable import printable

Json = dict[str, object]
"""An object of a specification."""
Place = tuple[float, float]
"""A place in the units of the two axes."""
PLOTS = ("along", "loss", "month")
"""The plots of an answer, in the order of the page."""
COLOURS = ("#6366f1", "#0d9488", "#d97706", "#db2777", "#0284c7", "#a855f7", "#65a30d")
"""Colours of series, in order. Their contrast is at least 3 to 1 on the light and the dark page."""
INK = "currentColor"
HEIGHT = 320
"""Height of the area between the axes in pixels, by which names are placed."""
NARROW = 270
"""Width in pixels of that area on a phone, where names have the least room."""
_CHARACTER = 7.4  # an upper estimate of a character's mean width in pixels
_IDEOGRAPH = 0x2E80  # code points from here are as wide as they are high
_FONT = 13
_CONFIG: Json = {
    "font": "inherit",
    "background": None,
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "ticks": False,
        "grid": True,
        "gridColor": INK,
        "gridOpacity": 0.13,
        "labelColor": INK,
        "labelFontSize": _FONT,
        "labelFlush": False,
        "labelOverlap": "greedy",
        "labelSeparation": 6,
        "labelPadding": 6,
        "titleColor": INK,
        "titleFontSize": _FONT,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
}


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of a plot, which ends at its first and its last tick.

    Attributes:
        ticks: values in order, with the text of each; a text may be empty.
    """

    title: str
    ticks: Sequence[tuple[float, str]]
    is_log: bool = False

    def share(self, value: float) -> float:
        """Return where a value lies between the ends of the axis, from 0 to 1."""
        first, last, at = self._scaled(self.first), self._scaled(self.last), self._scaled(value)
        return (at - first) / (last - first)

    def value(self, share: float) -> float:
        """Return the value at a share of the axis."""
        first, last = self._scaled(self.first), self._scaled(self.last)
        at = first + share * (last - first)
        return math.exp(at) if self.is_log else at

    @property
    def first(self) -> float:
        return self.ticks[0][0]

    @property
    def last(self) -> float:
        return self.ticks[-1][0]

    def _scaled(self, value: float) -> float:
        return math.log(max(value, self.first)) if self.is_log else value

    def channel(self, name: str) -> Json:
        """Return the encoding of one axis, "x" or "y"."""
        values = [value for value, _ in self.ticks]
        # Texts of our own numbers: nothing that a stranger wrote comes into an expression.
        texts = json.dumps([text for _, text in self.ticks])
        return {
            "field": name,
            "type": "quantitative",
            "scale": {
                "type": "log" if self.is_log else "linear",
                "domain": [self.first, self.last],
                "nice": False,
                "zero": False,
            },
            "axis": {
                "title": printable(self.title),
                "values": values,
                "labelExpr": f"{texts}[indexof({json.dumps(values)}, datum.value)]",
            },
        }


@dataclass(frozen=True, slots=True)
class Plot:
    """A specification as Vega-Lite takes it, and markup around it.

    Attributes:
        above: title and sentence.
        below: the numbers as a table.
    """

    spec: Json
    above: Markup
    below: Markup


def specification(described: str, x: Axis, y: Axis, layers: Iterable[Json]) -> Json:
    """Return a plot as wide as its column; `described` is read out in its place."""
    return {
        "usermeta": {"embedOptions": {"renderer": "svg", "actions": False, "defaultStyle": False}},
        "description": printable(described),
        "width": "container",
        "height": HEIGHT,
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": _CONFIG,
        "encoding": {"x": x.channel("x"), "y": y.channel("y")},
        "layer": list(layers),
    }


def line(places: Sequence[Place], colour: str) -> Json:
    """Return a line through places."""
    return _layer({"type": "line", "color": colour, "strokeWidth": 2.5}, places)


def band(spans: Sequence[tuple[float, float, float]], colour: str) -> Json:
    """Return the area between the low and the high y at each x."""
    values = [{"x": x, "y": low, "y2": high} for x, low, high in spans]
    mark = {"type": "area", "color": colour, "opacity": 0.16}
    return {"data": {"values": values}, "mark": mark, "encoding": {"y2": {"field": "y2"}}}


def level(y: float, x: Axis, colour: str = INK) -> Json:
    """Return a dashed line across the plot."""
    value = {"x": x.first, "x2": x.last, "y": y}
    mark = {"type": "rule", "color": colour, "strokeDash": [6, 4], "opacity": 0.7}
    return {"data": {"values": [value]}, "mark": mark, "encoding": {"x2": {"field": "x2"}}}


def upright(x: float, y: Axis, colour: str = INK) -> Json:
    """Return a dashed line from the bottom to the top of the plot."""
    value = {"x": x, "y": y.first, "y2": y.last}
    mark = {"type": "rule", "color": colour, "strokeDash": [6, 4], "opacity": 0.7}
    return {"data": {"values": [value]}, "mark": mark, "encoding": {"y2": {"field": "y2"}}}


def dots(places: Sequence[Place], said: Sequence[str], colour: str, size: int = 60) -> Json:
    """Return discs whose tooltips say what they are."""
    values = [
        {"x": x, "y": y, "said": printable(text)} for (x, y), text in zip(places, said, strict=True)
    ]
    tooltip = {"field": "said", "type": "nominal"}
    mark = {"type": "point", "filled": True, "opacity": 1, "size": size, "color": colour}
    return {"data": {"values": values}, "mark": mark, "encoding": {"tooltip": tooltip}}


def name(
    text: str,
    place: Place,
    align: str = "left",
    dx: int = 0,
    dy: int = 0,
    *,
    colour: str = INK,
    is_small: bool = False,
) -> Json:
    """Return a text at a place."""
    x, y = place
    value = {"x": x, "y": y, "text": printable(text)}
    mark = {
        "type": "text",
        "align": align,
        "dx": dx,
        "dy": dy,
        "fontSize": _FONT,
        "fontWeight": 400 if is_small else 600,
        "color": colour,
        "opacity": 0.8 if is_small else 1,
    }
    return {
        "data": {"values": [value]},
        "mark": mark,
        "encoding": {"text": {"field": "text", "type": "nominal"}},
    }


def named(text: str, place: Place, align: str, colour: str, dx: int = 0) -> list[Json]:
    """Return a text at a place after a disc in the colour of what it names, or before one."""
    step = 14 if align == "left" else -14
    disc = name("●", place, align, dx, colour=colour)
    return [disc, name(text, place, align, dx + step)]


def text_width(text: str) -> float:
    """Estimate the width of a text in pixels."""
    return sum(_CHARACTER if ord(character) < _IDEOGRAPH else _FONT for character in text)


def _layer(mark: Json, places: Sequence[Place]) -> Json:
    values = [{"x": x, "y": y} for x, y in places]
    return {"data": {"values": values}, "mark": mark}
