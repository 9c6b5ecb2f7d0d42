"""NumberFormat writes numbers for people, in the notation of a language."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount
from gpusizer.core.units import GIB, format_count, format_gb, format_gib, percent_text
from gpusizer.speed import Rate
from gpusizer.text import NOTATIONS, Language

DASH = "—"


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """Writes numbers in the notation of one language.

    >>> NumberFormat("en").gib(1_300_000_000_000), NumberFormat("pt").gib(1_300_000_000_000)
    ('1,210.7', '1.210,7')
    """

    language: Language

    def number(self, value: float, specification: str) -> str:
        """Write a number by Python's format specification, with this language's marks."""
        return self.written(format(value, specification))

    def written(self, number: str) -> str:
        """Convert the marks of numbers that Python has formatted, within any text."""
        return NOTATIONS[self.language].write(number)

    def plain(self, value: float, digits: int = 6) -> str:
        """Write a positive number to about `digits` digits, never as a power of ten.

        >>> NumberFormat("en").plain(2_000_000), NumberFormat("pt").plain(0.00002)
        ('2,000,000', '0,00002')
        >>> NumberFormat("en").plain(1234.5, 3), NumberFormat("en").plain(0.0351, 2)
        ('1,234', '0.035')
        """
        if value >= 10 ** min(digits, 3):
            return self.number(value, ",.0f")
        small = 0 < value < 1e-4
        return self.number(value, f".{-math.floor(math.log10(value))}f" if small else f".{digits}g")

    def whole(self, number: float) -> str:
        """Write a count with marks between thousands.

        >>> NumberFormat("en").whole(8_030_261_248)
        '8,030,261,248'
        """
        return self.number(number, ",.0f")

    def gib(self, amount_bytes: float) -> str:
        """Write GiB without the unit, for table cells whose heading names it.

        >>> NumberFormat("en").gib(16_060_522_496), NumberFormat("en").gib(700_000_000_000)
        ('14.96', '651.9')
        """
        value = amount_bytes / GIB
        return self.number(value, ",.1f" if abs(value) >= 99.95 else ".2f")

    def gib_band(self, amount: Amount) -> str:
        """Write the low and high end of an amount in GiB without the unit."""
        return f"{self.gib(amount.low)}–{self.gib(amount.high)}"

    def amount(self, amount_bytes: float) -> str:
        """Write GiB with the unit, to three digits."""
        return self.written(format_gib(amount_bytes))

    def amount_gb(self, amount_bytes: float) -> str:
        """Write GB with the unit, to three digits."""
        return self.written(format_gb(amount_bytes))

    def count(self, count: float) -> str:
        """Write a number of parameters or tokens with its usual suffix, as in 8.03B."""
        return self.written(format_count(count))

    def usd(self, amount: float) -> str:
        """Write a price in US dollars, with cents only below ten dollars.

        >>> NumberFormat("en").usd(1599), NumberFormat("en").usd(0.69), NumberFormat("pt").usd(0.69)
        ('$1,599', '$0.69', 'US$\\xa00,69')
        """
        return self.dollars(amount, ",.0f" if amount >= 10 else ",.2f")

    def dollars(self, amount: float, specification: str) -> str:
        """Write a price in US dollars, with digits by the format specification."""
        return NOTATIONS[self.language].dollar + self.number(amount, specification)

    def speed(self, value: float, digits: int = 1) -> str:
        """Write tokens per second, seconds or a hardware rate to about three digits."""
        return self.number(value, ",.0f" if value >= 10 else f".{digits}f")

    def band(self, rate: Rate) -> str:
        """Write the low and high end of a rate."""
        return f"{self.speed(rate.low)}–{self.speed(rate.high)}"

    def share(self, part: float, of: float) -> str:
        """Write `part` as a whole percentage of `of`.

        >>> NumberFormat("en").share(1, 3), NumberFormat("en").share(1, 1000)
        ('33%', '<1%')
        """
        value = 100 * part / of if of else 0.0
        return f"{value:.0f}%" if value >= 0.5 or not part else "<1%"

    def deviation(self, share: float | None, *, signed: bool = False) -> str:
        """Write an error against a measurement as a percentage, a dash for None."""
        return self.written(percent_text(share, signed=signed))


def percent(part: float, of: float) -> str:
    """Write `part` as a CSS percentage of `of`."""
    return f"{100 * part / of:.3f}%" if of else "0%"
