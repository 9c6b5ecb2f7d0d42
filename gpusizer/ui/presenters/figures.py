"""Figures: numbers as people read them, in the notation of their language."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.accuracy import percent_text
from gpusizer.speed import Rate
from gpusizer.text import NOTATIONS, Language
from gpusizer.units import GIB, format_count, format_gb, format_gib

DASH = "—"


@dataclass(frozen=True, slots=True)
class Figures:
    """How one language's readers are told numbers.

    >>> Figures("en").gib(1_300_000_000_000), Figures("pt").gib(1_300_000_000_000)
    ('1,210.7', '1.210,7')
    """

    language: Language

    def number(self, value: float, specification: str) -> str:
        """A number as Python's format specification says, in this language's marks."""
        return self.written(format(value, specification))

    def written(self, number: str) -> str:
        """A number that Python has formatted already, with what stands around it."""
        return NOTATIONS[self.language].write(number)

    def whole(self, number: float) -> str:
        """A count with its thousands apart.

        >>> Figures("en").whole(8_030_261_248)
        '8,030,261,248'
        """
        return self.number(number, ",.0f")

    def gib(self, amount_bytes: float) -> str:
        """GiB for table cells whose heading names the unit.

        >>> Figures("en").gib(16_060_522_496), Figures("en").gib(700_000_000_000)
        ('14.96', '651.9')
        """
        value = amount_bytes / GIB
        return self.number(value, ",.1f" if abs(value) >= 99.95 else ".2f")

    def amount(self, amount_bytes: float) -> str:
        """GiB with their unit, to three digits."""
        return self.written(format_gib(amount_bytes))

    def amount_gb(self, amount_bytes: float) -> str:
        """GB with their unit, to three digits."""
        return self.written(format_gb(amount_bytes))

    def count(self, count: float) -> str:
        """Parameters or tokens with their customary suffix."""
        return self.written(format_count(count))

    def usd(self, amount: float) -> str:
        """A price: cents only below ten dollars.

        >>> Figures("en").usd(1599), Figures("en").usd(0.69), Figures("pt").usd(0.69)
        ('$1,599', '$0.69', 'US$\\xa00,69')
        """
        return self.dollars(amount, ",.0f" if amount >= 10 else ",.2f")

    def dollars(self, amount: float, specification: str) -> str:
        """A price, its digits as the format specification says."""
        return NOTATIONS[self.language].dollar + self.number(amount, specification)

    def speed(self, value: float, digits: int = 1) -> str:
        """Tokens per second, seconds or what hardware does, to about three digits."""
        return self.number(value, ",.0f" if value >= 10 else f".{digits}f")

    def band(self, rate: Rate) -> str:
        """The low and high end of a rate."""
        return f"{self.speed(rate.low)}–{self.speed(rate.high)}"

    def share(self, part: float, of: float) -> str:
        """A percentage for people.

        >>> Figures("en").share(1, 3), Figures("en").share(1, 1000)
        ('33%', '<1%')
        """
        value = 100 * part / of if of else 0.0
        return f"{value:.0f}%" if value >= 0.5 or not part else "<1%"

    def deviation(self, share: float | None, *, signed: bool = False) -> str:
        """An error against a measurement, a dash for None."""
        return self.written(percent_text(share, signed=signed))


def percent(part: float, of: float) -> str:
    """A CSS percentage."""
    return f"{100 * part / of:.3f}%" if of else "0%"
