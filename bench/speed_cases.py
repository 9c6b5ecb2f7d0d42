"""Measured speeds as the runs that constants are fitted on: the work and the card that the answers
to the same requests reckon with (`bench/speed_answers.py`).
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
    """A row, ready to be predicted.

    Attributes:
        work: of decoding, with what was in the cache.
        prompt_work: of reading the prompt.
        total: answered tokens per second of all users with the constants in use: at full load, or
            of those the row states.
        source: whose measurement it is.
        fitted: whether constants are fitted on it: not on rows of first contact that leave backend,
            build and context unsaid. Bands count every row.
        concurrency: users, where a row has several and says how many.
    """

    row: Row
    work: Work
    prompt_work: Work
    gpu: Gpu
    total: float | None
    source: str
    fitted: bool
    concurrency: int

    def measured(self, quantity: str) -> float | None:
        """Tokens per second of "decode", "prefill" or "serving"."""
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
        """ "one" GPU, or how several share the model: "layer", "tensor"."""
        if self.work.tensor > 1:
            return "tensor"
        return "layer" if self.work.pipeline > 1 else "one"


def read_cases(rows: Iterable[Row] | None = None) -> list[Case]:
    """Rows that an answer with speeds can be asked for, repeats of a configuration once.

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
    """Whether the source says with what in its cache a run decoded: strangers' runs of unstated
    settings tell what to expect of those, and not what a card does."""
    return "context" in row


def _case(row: Row) -> Case | None:
    """None for what no request can ask, and for what does not run on the card."""
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
    """The work behind the answer, and its place in the ranking; None where the answer is about a
    shorter context."""
    fields = fields_of(row, quantity)
    report = front_door.report(fields) if is_asked(row) else None
    if report is None or report.ranking[0].speeds is None:
        return None
    if quantity == DECODE and report.workload.context < fields["context"]:
        return None
    ranked = report.ranking[0]
    work = work_at(Study(report.profile, report.workload, ()), ranked.fit.estimate)
    return None if work is None else (work, ranked)
