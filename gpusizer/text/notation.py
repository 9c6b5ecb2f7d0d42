"""Notation: how a language writes numbers and dollars, by Unicode CLDR through Babel."""

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
    """How one language writes numbers.

    Attributes:
        locale: name of the locale whose marks stand between thousands and before decimals.
        usual_dollar: what stands before dollars, where readers expect another sign than the
            locale's.
    """

    locale: str
    usual_dollar: str = ""

    @property
    def dollar(self) -> str:
        """What stands before an amount of dollars."""
        return self.usual_dollar or _dollar(self.locale)

    def write(self, formatted: str) -> str:
        """A number that Python formatted, with its unit, in the marks of this language.

        Python has rounded it, so that every language, the shell and JSON give the same digits:
        Babel would round 2.675 up, of which the double is a little less.

        >>> NOTATIONS["pt"].write("1,234.5 GiB")
        '1.234,5 GiB'
        """
        if self.locale == _AS_PYTHON:
            return formatted
        return _MARKED_NUMBER.sub(lambda match: _localized(match[0], self.locale), formatted)

    def number(self, value: object) -> object:
        """The value, to be filled into a sentence: a number gets the marks of this language.

        >>> "{n:,.1f} {name}".format(n=NOTATIONS["pt"].number(2048.5), name="v1.2")
        '2.048,5 v1.2'

        Behind its format may be what is counted, of one and of several:

        >>> "{n:,|token|tokens}".format(n=NOTATIONS["en"].number(1))
        '1 token'
        """
        return _Number(value, self) if type(value) in (int, float) else value


class _Number:
    """A number whose format specification stands in the sentence that it is filled into."""

    def __init__(self, value: object, notation: Notation) -> None:
        self._value = value
        self._notation = notation

    def __format__(self, specification: str) -> str:
        """The formatted number, with the word for one or several where the sentence has both; "g"
        never makes an exponent of it, as people do not read 1e+06."""
        specification, *nouns = specification.split("|")
        formatted = format(self._value, specification)
        if "e" in formatted:
            formatted = format(Decimal(formatted), ",f")
        written = self._notation.write(formatted)
        return f"{written} {nouns[formatted != '1']}" if nouns else written


_AS_PYTHON = "en_US"
"""The locale whose marks Python writes."""
_MARKED_NUMBER = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+", re.ASCII)
"""A number with marks, as Python writes it: thousands apart, decimals, or both."""


@lru_cache(maxsize=4096)
def _localized(digits: str, locale: str) -> str:
    """A number in the marks of a locale, with as many decimals as it has already."""
    whole, _, decimals = digits.partition(".")
    pattern = _pattern("#,##0" if "," in whole else "0", len(decimals))
    with localcontext(prec=len(digits)):  # Babel quantizes, which refuses more than 28 digits
        return format_decimal(Decimal(digits.replace(",", "")), format=pattern, locale=locale)


@cache
def _pattern(whole: str, decimals: int) -> NumberPattern:
    return parse_pattern(f"{whole}.{'0' * decimals}" if decimals else whole)


@cache
def _dollar(locale: str) -> str:
    """The sign of US dollars, with the space that the locale puts after it."""
    before: str = Locale.parse(locale).currency_formats["standard"].prefix[0]
    return before.replace("¤", get_currency_symbol("USD", locale))


NOTATIONS: Mapping[Language, Notation] = {
    "en": Notation("en_US"),
    # Chinese readers know prices of hardware with a bare sign; CLDR would write US$.
    "zh": Notation("zh_CN", usual_dollar="$"),
    "pt": Notation("pt_BR"),
}
"""By language."""
