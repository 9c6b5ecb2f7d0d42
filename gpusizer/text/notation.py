"""Notation: the marks a language writes numbers with.

Source: Unicode CLDR, symbols of `en`, `zh-Hans-CN` and `pt-BR` (https://cldr.unicode.org).
Python itself writes numbers as English and Chinese readers do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Notation(NamedTuple):
    """What stands between thousands, before decimals and before dollars."""

    thousands: str = ","
    decimal: str = "."
    dollar: str = "$"

    def write(self, written: str) -> str:
        """A number as Python formats it, whatever stands around it, with these marks.

        >>> NOTATIONS["pt"].write("1,234.5 GiB")
        '1.234,5 GiB'
        """
        return written.translate({ord(","): self.thousands, ord("."): self.decimal})

    def number(self, value: object) -> object:
        """The value, to be filled into a sentence: a number gets these marks.

        >>> "{n:,.1f} {name}".format(n=NOTATIONS["pt"].number(2048.5), name="v1.2")
        '2.048,5 v1.2'
        """
        ours = self.decimal != "." and type(value) in (int, float)
        return _Number(value, self) if ours else value


class _Number:
    """A number that is formatted by the sentence it is put into."""

    def __init__(self, value: object, notation: Notation) -> None:
        self._value = value
        self._notation = notation

    def __format__(self, specification: str) -> str:
        return self._notation.write(format(self._value, specification))


NOTATIONS: Mapping[str, Notation] = {
    "en": Notation(),
    "zh": Notation(),
    "pt": Notation(".", ",", "US$\u00a0"),
}
"""By language."""
