"""Words: the sentences and numbers of one language, for presenters."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.core.byte_ranges import Amount
from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note
from gpusizer.text import say_error, say_note, sentences, text
from gpusizer.ui.presenters.pieces.number_format import NumberFormat


@dataclass(frozen=True, slots=True)
class Words(NumberFormat):
    """The page's sentences in one language, as plain text, which templates escape."""

    def __call__(self, key: str, **fields: object) -> str:
        """Return the sentence under `page.<key>`, with its fields filled in."""
        return text(f"page.{key}", self.language, **fields)

    def optional(self, key: str, **fields: object) -> str | None:
        """Return the sentence under `page.<key>`, or None without one."""
        return self(key, **fields) if f"page.{key}" in sentences(self.language) else None

    def note(self, note: Note) -> str:
        return say_note(note, self.language)

    def error(self, error: GpusizerError) -> str:
        return say_error(error, self.language)

    def verdict(self, verdict: str) -> str:
        return text(f"verdict.{verdict}", self.language)

    def at_once(self, requests: int) -> str:
        """Write how many requests are answered at a time."""
        if requests == 1:
            return self("at_once.one")
        return self("at_once.many", count=self.whole(requests))

    def amount_band(self, amount: Amount) -> str:
        """Write the low and high end of an amount."""
        return self("tile.band", low=self.amount(amount.low), high=self.amount(amount.high))

    def rate(self, tokens_per_second: float) -> str:
        """Write tokens per second with the unit."""
        return self("tokens_per_second", speed=self.speed(tokens_per_second))
