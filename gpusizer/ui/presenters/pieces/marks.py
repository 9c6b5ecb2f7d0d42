"""Marks that several presenters use: verdicts, provenance, memory legends."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from gpusizer.core.byte_ranges import Provenance
from gpusizer.core.messages import Note
from gpusizer.fit.verdict import Verdict
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.ui.presenters.pieces.html import Child, el, join
from gpusizer.ui.presenters.pieces.words import Words


def verdict_badge(verdict: Verdict, words: Words, note: str = "") -> Markup:
    """Write the verdict in words, or those of a note, coloured by severity."""
    said = words.note(Note(note)) if note else words.verdict(verdict.value)
    return el("span", said, class_=f"gs-verdict gs-verdict-{verdict.value}")


def native_chip(estimate: MemoryEstimate, words: Words) -> Markup | None:
    """Write that weights are as stored; None where they are not."""
    return el("span", words("as_stored"), class_="gs-chip") if estimate.native else None


def provenance_mark(provenance: str, words: Words) -> Markup:
    """Draw a disc that is full for exact, half for derived, hollow for fitted."""
    name = words(f"provenance.{provenance}")
    return el(
        "span", class_=f"gs-mark gs-mark-{provenance}", role="img", aria_label=name, title=name
    )


def provenance_legend(words: Words) -> Markup:
    """Write the meaning of each mark."""
    return legend(
        (provenance_mark(kind.value, words), words(f"provenance.{kind.value}.long"))
        for kind in Provenance
    )


def legend(marked: Iterable[tuple[Markup, Child]]) -> Markup:
    """Write marks with their meanings."""
    return el("ul", join(el("li", *pair) for pair in marked), class_="gs-legend")
