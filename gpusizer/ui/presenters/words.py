"""Words: one language's sentences and numbers, as presenters ask for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gpusizer.errors import GpusizerError
from gpusizer.notes import Note
from gpusizer.text import say_error, say_note, text
from gpusizer.ui.presenters.figures import Figures
from gpusizer.ui.presenters.html import Html, el, join


@dataclass(frozen=True, slots=True)
class Words(Figures):
    """Calls return plain text; whoever puts it into HTML escapes it."""

    def __call__(self, key: str, **fields: object) -> str:
        """The page's sentence under `page.<key>`."""
        return text(f"page.{key}", self.language, **fields)

    def note(self, note: Note) -> str:
        return say_note(note, self.language)

    def error(self, error: GpusizerError) -> str:
        return say_error(error, self.language)

    def verdict(self, verdict: str) -> str:
        return text(f"verdict.{verdict}", self.language)

    def heading(self, key: str, **fields: object) -> Html:
        """A section's title with its one-line explanation (`<key>.title`, `<key>.lead`)."""
        return el(
            "header",
            el("h2", self(f"{key}.title", **fields)),
            el("p", self(f"{key}.lead", **fields), class_="gs-lead"),
            class_="gs-heading",
        )

    def listed(self, notes: Iterable[Note], class_: str) -> Html | None:
        """Notes as a list, None when there are none."""
        items = [el("li", self.note(note)) for note in notes]
        return el("ul", join(items), class_=class_) if items else None
