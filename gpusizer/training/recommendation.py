"""The recommendation of GPUs to train on: conditions in their order of weight, then the cost.

    audience   offered for tuning (`gpusizer/fit/audience.toml`), then what may appear beside it
    room       surely fits, with at least a tenth of each device to spare
    support    the vendor's software has not left the architecture behind
    on_offer   sold or commonly rented out today
    evidence   training was measured on such GPUs
    trains     multiplies 16-bit matrices in hardware, in BF16
    speed      tokens/s as asked for, or the whole run within a week
    links      one board, or all boards joined by NVLink or a similar fabric
    alone      one board: it holds what several share, without their setting up
    computer   goes into one ordinary computer, is one, or is rented with one
    cost       US dollars for the run, rented, at the low end of its speed

The order and the first three are those of serving (`fit/recommendation.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from gpusizer.core.messages import Note
from gpusizer.core.units import SECONDS_PER_HOUR, significant
from gpusizer.fit.audience import Suitability, rule_against
from gpusizer.fit.platforms import SERVER_BOARDS
from gpusizer.fit.recommendation import Conditions
from gpusizer.gpus.purpose import training_flops
from gpusizer.speed.rate import Rate
from gpusizer.training.fit import TrainingCost, TrainingFit
from gpusizer.training.speed import is_measured

HOURS_OF_A_WEEK = 7 * 24.0  # a longer run is not recommended: a round figure


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingScore(Conditions):
    """Facts of a recommendation: `rent_usd` of the run, `value_usd` at the low end of speed."""

    # A run is a matter of hours, so renting is what it costs; boards without a rental offer come
    # after boards with one. The low end, because a speed without measurements has the wider band.
    @property
    def evident(self) -> bool:
        """Whether training has been measured on GPUs of this class."""
        return is_measured(self.gpu)

    @property
    def trains(self) -> bool | None:
        """Whether it has 16-bit matrix units and BF16; None when the catalogue does not say."""
        flops = training_flops(self.gpu)
        return False if not self.gpu.bf16_support else None if flops is None else flops > 0

    @property
    def linked(self) -> bool:
        """Whether it is one board, or boards that a fabric joins."""
        return self.boards == 1 or self.gpu.fabric_joins(self.boards)

    @property
    def at_work(self) -> tuple[bool | None, ...]:
        """Whether it trains, is fast enough, linked and alone."""
        return self.trains, self.fast_enough, self.linked, self.boards == 1

    def is_possible(self) -> bool:
        """Return whether it may be an alternative, which has to train well."""
        return self.trains is not False and Conditions.is_possible(self)

    @property
    def meets_conditions(self) -> bool:
        """Whether it meets every condition, the audience's too: a run is rented."""
        return self.recommendable

    def _missed_at_work(self) -> Iterator[Note]:
        if not self.evident:
            yield Note("why_unmeasured")
        if self.trains is False:
            yield Note("why_no_training")
        yield from Conditions._missed_at_work(self)
        if not self.linked and self.boards <= SERVER_BOARDS:
            yield Note("why_pcie", count=self.boards)

    @property
    def cost_note(self) -> Note:
        """The rent of the run."""
        usd = self.rent_usd
        return Note("why_cost_unknown") if usd is None else Note("why_run", usd=usd)


def score_training(
    fit: TrainingFit,
    rate: Rate | None,
    cost: TrainingCost,
    tokens: float,
    min_tok_s: float | None,
    today: date,
    parameters: int,
) -> TrainingScore:
    """Return the score of one plan for `tokens`; without `min_tok_s` a week is long enough."""
    most_usd = None
    if cost.usd is not None and rate is not None and rate.low > 0:
        most_usd = significant(cost.usd * rate.likely / rate.low)
    return TrainingScore(
        gpu=fit.gpu,
        boards=fit.count,
        verdict=fit.verdict,
        room=fit.leaves_spare_share,
        today=today,
        tokens_per_second=rate.likely if rate and rate.likely else None,
        enough=min_tok_s or tokens / (HOURS_OF_A_WEEK * SECONDS_PER_HOUR),
        value_usd=most_usd,
        rent_usd=cost.usd,
        suitability=Suitability(rule_against(fit.gpu, fit.count, parameters, "tuning")),
    )
