"""Measured speeds as the runs that constants are fitted on.

Each has the work and the card of the answers to its requests (`bench/speed_answers.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from bench import front_door
from bench.first_contact import not_fitted_on
from bench.measurements import SPEEDS, Row, load
from bench.speed_answers import OFFLINE, fields_of, is_asked
from gpusizer.advice.ranking import Ranked
from gpusizer.fit.study import Study
from gpusizer.fit.user_speed import work_at
from gpusizer.gpus import Gpu
from gpusizer.speed import Work
from gpusizer.speed.classes import board_of, decode_classes
from gpusizer.speed.tables import DECODE, PREFILL, SERVING


@dataclass(frozen=True, slots=True)
class Case:
    """A row, ready to be predicted."""

    row: Row
    work: Work  # of decoding, with the content of the cache
    prompt_work: Work  # of reading the prompt
    gpu: Gpu
    # Answered tokens per second of all users with the constants in use: at full load, or of those
    # the row states.
    total: float | None
    source: str  # author of the measurement
    # Whether constants are fitted on it: not on rows of first contact that leave backend, build and
    # context unstated. Bands count every row.
    fitted: bool
    concurrency: int  # stated users

    def measured(self, quantity: str) -> float | None:
        """Return tokens per second of "decode", "prefill" or "serving"."""
        value: float | None = self.row["measured"].get(f"{quantity}_tokens_per_second")
        return value

    @property
    def board(self) -> str:
        """The card whatever its memory."""
        return board_of(self.gpu)

    @property
    def belongs_to(self) -> frozenset[str]:
        """Its source, its board and its narrowest class of decoding."""
        return frozenset({self.source, self.board, decode_classes(self.gpu)[0]})

    @property
    def split(self) -> str:
        """Division of the model: "one" GPU, or "layer" or "tensor" over several."""
        if self.work.tensor > 1:
            return "tensor"
        return "layer" if self.work.pipeline > 1 else "one"


def read_cases(rows: Iterable[Row] | None = None) -> list[Case]:
    """Return rows with an answer about speeds, repeats of a configuration once.

    Without `rows` those of `data/measurements`.
    """
    return list(_cases(load((SPEEDS,)) if rows is None else rows))


def _cases(rows: Iterable[Row]) -> Iterator[Case]:
    seen = set()
    for row in rows:
        if row["kind"] == "throughput" and row["dup_group"] not in seen:
            case = _case(row)
            if case is not None:
                seen.add(row["dup_group"])
                yield case


def states_how_it_ran(row: Row) -> bool:
    """Return whether the source states the content of the cache during decoding.

    Runs with unstated settings show what to expect of such runs, and not what a card does.
    """
    return "context" in row


def _case(row: Row) -> Case | None:
    # None if no request can state it, or if it does not run on the card.
    decoding, prompt, sequence = (_asked(row, name) for name in (DECODE, PREFILL, SERVING))
    if decoding is None or prompt is None or sequence is None:
        return None
    (work, ranked), (prompt_work, _), speeds = decoding, prompt, sequence[1].speeds
    total = speeds and (speeds.serving if row.get("scenario") == OFFLINE else speeds.total)
    return Case(
        row=row,
        work=work,
        prompt_work=prompt_work,
        gpu=ranked.fit.gpu,
        total=None if total is None else total.likely,
        source=row["source_group"],
        fitted=row["id"] not in not_fitted_on() or states_how_it_ran(row),
        concurrency=row.get("concurrency", 1),
    )


def _asked(row: Row, quantity: str) -> tuple[Work, Ranked] | None:
    # The work behind the answer, and its place in the ranking; None if the answer is about a
    # shorter context.
    fields = fields_of(row, quantity)
    report = front_door.report(fields) if is_asked(row) else None
    if report is None or report.ranking[0].speeds is None:
        return None
    if quantity == DECODE and report.workload.context < fields["context"]:
        return None
    ranked = report.ranking[0]
    work = work_at(Study(report.profile, report.workload, ()), ranked.fit.estimate)
    return None if work is None else (work, ranked)
