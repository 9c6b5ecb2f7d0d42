"""Notation of numbers and dollars in each language, by Unicode CLDR through Babel."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache, lru_cache

from babel import Locale
from babel.numbers import NumberPattern, format_decimal, get_currency_symbol, parse_pattern

from gpusizer.text.languages import Language


@dataclass(frozen=True, slots=True)
class Notation:
    """Notation of numbers in one language."""

    locale: str  # locale whose marks separate thousands and decimals
    usual_dollar: str = ""  # sign of dollars that readers expect instead of the locale's

    @property
    def dollar(self) -> str:
        """Sign of dollars, as written before an amount."""
        return self.usual_dollar or _dollar(self.locale)

    def write(self, formatted: str) -> str:
        """Return a number that Python formatted, with its unit, in this language's marks.

        Python has rounded it, so that every language, the shell and JSON give equal digits: Babel
        would round 2.675 up, although the double is a little smaller.

        >>> NOTATIONS["pt"].write("1,234.5 GiB")
        '1.234,5 GiB'
        """
        if self.locale == _AS_PYTHON:
            return formatted
        return _MARKED_NUMBER.sub(lambda match: _localized(match[0], self.locale), formatted)

    def number(self, value: object) -> object:
        """Return a value for a sentence: a number gets this language's marks.

        >>> "{n:,.1f} {name}".format(n=NOTATIONS["pt"].number(2048.5), name="v1.2")
        '2.048,5 v1.2'

        Behind its format may be what is counted, of one and of several:

        >>> "{n:,|token|tokens}".format(n=NOTATIONS["en"].number(1))
        '1 token'
        """
        return _Number(value, self) if type(value) in (int, float) else value


class _Number:
    """A number whose format specification is in the sentence."""

    def __init__(self, value: object, notation: Notation) -> None:
        self._value = value
        self._notation = notation

    def __format__(self, specification: str) -> str:
        """Return the formatted number, with its noun in singular or plural if both are given.

        "g" never gives an exponent, as people do not read 1e+06.
        """
        specification, *nouns = specification.split("|")
        formatted = format(self._value, specification)
        if "e" in formatted:
            formatted = format(Decimal(formatted), ",f")
        written = self._notation.write(formatted)
        return f"{written} {nouns[formatted != '1']}" if nouns else written


_AS_PYTHON = "en_US"  # locale with the marks of Python

# a number with marks, as Python writes it: thousands, decimals, or both
_MARKED_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+", re.ASCII)


@lru_cache(maxsize=4096)
def _localized(digits: str, locale: str) -> str:
    # Keeps the number of decimals.
    whole, _, decimals = digits.partition(".")
    pattern = _pattern("#,##0" if "," in whole else "0", len(decimals))
    with localcontext(prec=len(digits)):  # Babel quantizes, which refuses more than 28 digits
        return format_decimal(Decimal(digits.replace(",", "")), format=pattern, locale=locale)


@cache
def _pattern(whole: str, decimals: int) -> NumberPattern:
    return parse_pattern(f"{whole}.{'0' * decimals}" if decimals else whole)


@cache
def _dollar(locale: str) -> str:
    # With the space that the locale puts after it.
    before: str = Locale.parse(locale).currency_formats["standard"].prefix[0]
    return before.replace("¤", get_currency_symbol("USD", locale))


# by language
NOTATIONS: Mapping[Language, Notation] = {
    "en": Notation("en_US"),
    # Chinese readers know prices of hardware with a bare sign; CLDR would write US$.
    "zh": Notation("zh_CN", usual_dollar="$"),
    "pt": Notation("pt_BR"),
}
