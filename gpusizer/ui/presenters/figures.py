"""Numbers as people read them. The same digits in every language."""

from __future__ import annotations

from gpusizer.speed import Rate
from gpusizer.units import GIB

DASH = "—"


def whole(number: float) -> str:
    """A count with its thousands apart.

    >>> whole(8_030_261_248)
    '8,030,261,248'
    """
    return f"{number:,.0f}"


def gib(amount_bytes: float) -> str:
    """GiB for table cells whose heading names the unit.

    >>> gib(16_060_522_496), gib(700_000_000_000)
    ('14.96', '651.9')
    """
    value = amount_bytes / GIB
    return f"{value:,.1f}" if abs(value) >= 99.95 else f"{value:.2f}"


def usd(amount: float) -> str:
    """A price: cents only below ten dollars.

    >>> usd(1599), usd(0.69)
    ('$1,599', '$0.69')
    """
    return f"${amount:,.0f}" if amount >= 10 else f"${amount:,.2f}"


def speed(value: float, digits: int = 1) -> str:
    """Tokens per second or seconds, to about three digits."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.{digits}f}"


def band(rate: Rate) -> str:
    """The low and high end of a rate."""
    return f"{speed(rate.low)}–{speed(rate.high)}"


def percent(part: float, of: float) -> str:
    """A CSS percentage."""
    return f"{100 * part / of:.3f}%" if of else "0%"


def share(part: float, of: float) -> str:
    """A percentage for people.

    >>> share(1, 3), share(1, 1000)
    ('33%', '<1%')
    """
    value = 100 * part / of if of else 0.0
    return f"{value:.0f}%" if value >= 0.5 or not part else "<1%"
