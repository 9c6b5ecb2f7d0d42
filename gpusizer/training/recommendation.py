"""The recommendation of GPUs to train on: conditions in their order of weight, then the cost.

    audience   offered for tuning (`gpusizer/fit/audience.toml`)
    room       surely fits, with at least a tenth of each device to spare
    support    the vendor's software has not left the architecture behind
    evidence   training was measured on such GPUs
    on_offer   sold or commonly rented out today
    trains     multiplies 16-bit matrices in hardware, in BF16
    speed      tokens/s as asked for, or the whole run within a week
    links      one board, or all boards joined by NVLink or a similar fabric
    alone      one board: it holds what several share, without their setting up
    computer   goes into one ordinary computer, is one, or is rented with one
    cost       US dollars for the run, rented, at the low end of its speed

The order and the first three are those of serving (`fit/advice/recommendation.py`). A run is a
matter of hours, so that renting is what it costs; boards that nobody rents out come after those
that somebody does. The low end, because a speed that nobody has measured has the wider band.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from gpusizer.core.messages import Note
from gpusizer.core.units import SECONDS_PER_HOUR, significant
from gpusizer.fit.advice.recommendation import Conditions, computer_of
from gpusizer.fit.audience import Rule, rule_against
from gpusizer.fit.parallelism.platforms import SERVER_BOARDS
from gpusizer.fit.speed.rate import Rate
from gpusizer.gpus.on_offer import ended_support, why_not_on_offer
from gpusizer.gpus.purpose import training_flops
from gpusizer.training.fit import TrainingCost, TrainingFit
from gpusizer.training.speed import is_measured

HOURS_OF_A_WEEK = 7 * 24.0
"""A run that takes longer is not recommended: a round figure."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingScore(Conditions):
    """What a recommendation to train goes by, with the rent of the run.

    Attributes:
        trains: 16-bit matrix units and BF16; None when the catalogue does not say.
        measured: whether training has been measured on GPUs of this class.
        linked: one board, or boards that a fabric joins.
        usd: rent of the run, None when unknown.
        most_usd: the same at the low end of the speed.
        kept_back: the rule by which such a GPU is not offered for tuning, None where it is.
    """

    trains: bool | None
    measured: bool
    boards: int
    linked: bool
    usd: float | None
    most_usd: float | None
    kept_back: Rule | None = None

    @property
    def evident(self) -> bool:
        """Whether training was measured on such GPUs."""
        return self.measured

    @property
    def key(self) -> tuple[float, ...]:
        """Sort key, least for the best."""
        is_kept_back = self.kept_back is not None
        return (
            float(is_kept_back),
            *self._key(
                self.trains, self.fast_enough, self.linked, self.boards == 1, cost=self.most_usd
            ),
        )

    def _missed_at_work(self) -> Iterator[Note]:
        if not self.measured:
            yield Note("why_unmeasured")
        if self.trains is False:
            yield Note("why_no_training")
        yield from Conditions._missed_at_work(self)
        if not self.linked and self.boards <= SERVER_BOARDS:
            yield Note("why_pcie", count=self.boards)

    def notes(self) -> tuple[Note, ...]:
        """The conditions that it misses, or a note that it meets them all; then its cost."""
        known = self.fast_enough is not None and self.trains is not None
        return *self._verdict(known=known), self.cost_note

    def missed(self) -> tuple[Note, ...]:
        """Why it is not offered for tuning, then the conditions that it misses."""
        rule = self.kept_back
        why = () if rule is None else (Note(f"why_audience_{rule.code}"),)
        return *why, *Conditions.missed(self)

    @property
    def cost_note(self) -> Note:
        """The rent of the run."""
        return Note("why_cost_unknown") if self.usd is None else Note("why_run", usd=self.usd)


def score_training(
    fit: TrainingFit,
    rate: Rate | None,
    cost: TrainingCost,
    tokens: float,
    min_tok_s: float | None,
    today: date,
    parameters: int,
) -> TrainingScore:
    """The score of one plan for so many tokens; without `min_tok_s` a week is long enough."""
    gpu, boards = fit.gpu, fit.count
    flops = training_flops(gpu)
    slow = rate.low if rate and rate.low > 0 else None
    most_usd = None
    if cost.usd is not None and rate is not None and slow is not None:
        most_usd = significant(cost.usd * rate.likely / slow)
    return TrainingScore(
        room=fit.has_room,
        ended_support=ended_support(gpu),
        not_on_offer=why_not_on_offer(gpu, today),
        release_year=gpu.release_year,
        trains=False if not gpu.bf16_support else None if flops is None else flops > 0,
        tokens_per_second=rate.likely if rate and rate.likely else None,
        measured=is_measured(gpu),
        enough=min_tok_s or tokens / (HOURS_OF_A_WEEK * SECONDS_PER_HOUR),
        boards=boards,
        linked=boards == 1 or gpu.fabric_joins(boards),
        computer=computer_of(gpu, boards),
        usd=cost.usd,
        most_usd=most_usd,
        kept_back=rule_against(gpu, boards, parameters, "tuning"),
    )
