"""Runs behind fitted constants, and the sources and boards that confirm them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from bench.speed_fit import Support, chosen, only_board, supporting
from bench.speed_samples import Left, Sample
from gpusizer.speed.classes import ROOT


class StandsOn(NamedTuple):
    """Runs that constants were fitted on, and the sources and boards that confirm them.

    `text` is "" if a class has too few for constants of its own.
    """

    runs: int = 0
    sources: int = 0
    cards: int = 0
    board: str = ""
    text: str = ""

    @property
    def columns(self) -> tuple[int, int, int, str, str]:
        """Fields of a row of the tables."""
        text = self.text or "one source: the constants that all classes of the engine share"
        return self.runs, self.sources, self.cards, self.board, text


def stands_on(
    samples: Sequence[Sample],
    family: str,
    name: str,
    weight_format: str,
    without: Left,
    wanted: Support,
) -> StandsOn:
    """Return the runs behind the constants of a class and format."""
    rows = [s for s in samples if s.case.work.family == family and s.case.split != "tensor"]
    own = supporting(rows, name, weight_format, without, wanted)
    if not own:
        return StandsOn()
    measured = chosen(rows, name, weight_format, without)
    runs, cards = len(own), len({s.board for s in measured})
    if name == ROOT:
        gpus = len({s.board for s in own})
        text = f"cautious share of what {runs} runs on {gpus} cards of other classes reach"
        return StandsOn(text=text)
    sources = len({s.case.source for s in measured})
    text = f"{runs} runs of {sources} sources on {cards} cards in throughput.jsonl"
    return StandsOn(runs, sources, cards, only_board(measured), text)
