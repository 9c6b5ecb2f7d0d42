"""TrainingReport: the answer to a training request, and its conclusion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpusizer.advice.conclusion.clauses import Conclusion, boards_name, one_price, short_name
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import significant
from gpusizer.fit.verdict import Verdict
from gpusizer.model.profile import ModelProfile
from gpusizer.training.fit import SPARING_NAME, TrainingFit
from gpusizer.training.mitigations import Mitigation
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.ranking import RankedTraining, TrainingAlternative
from gpusizer.usecases.requests.training_request import TrainingRequest


@dataclass(frozen=True, slots=True)
class BytesPerParameter:
    """Static bytes of one parameter, trained or frozen, before any division over GPUs."""

    weights: float
    gradients: float
    optimizer: float
    masters: float
    frozen: float | None

    @property
    def total(self) -> float:
        """Bytes of one trained parameter."""
        return self.weights + self.gradients + self.optimizer + self.masters


@dataclass(frozen=True, slots=True)
class TrainingEstimateRow:
    """One way to train: the requested one, or another method with the same settings."""

    plan: TrainingPlan
    memory: TrainingMemory
    per_parameter: BytesPerParameter
    asked: bool


@dataclass(frozen=True, slots=True)
class TrainingReport:
    """Answer to a training request."""

    request: TrainingRequest
    profile: ModelProfile
    plan: TrainingPlan  # of the first estimate
    estimates: tuple[TrainingEstimateRow, ...]
    ladder: tuple[Mitigation, ...]  # mitigations of it
    ranking: tuple[RankedTraining, ...]
    notes: tuple[Note, ...] = ()
    # for each method the GPUs with the lowest cost of the run; empty if GPUs are named
    cheapest: tuple[RankedTraining, ...] = ()
    # to the first place of the ranking; empty if GPUs are named
    alternatives: tuple[TrainingAlternative, ...] = ()
    counts_open: bool = False  # no number of boards is stated: places have the fewest that hold it
    on_one: TrainingFit | None = None  # by a gentler method, if that of the request takes several

    @property
    def conclusion(self) -> Conclusion:
        """Cost of the training on the first place, or on the named GPUs."""
        return _conclusion(self)


_METHODS = {"full": "Full", "lora": "LoRA", "qlora": "QLoRA", "dora": "DoRA"}


def method_name(method: str) -> str:
    """Return a method's name as people write it."""
    return _METHODS.get(method, method)


def _conclusion(report: TrainingReport) -> Conclusion:
    # The first place, or the named GPU that holds the training best.
    asked = next((row for row in report.estimates if row.asked), report.estimates[0])
    named, places = bool(report.request.gpus), report.ranking
    fields: dict[str, NoteValue] = {
        "model": short_name(report.profile),
        "tuning": asked.plan.method,
    }
    if not places:
        need = asked.memory.needed.likely
        return Conclusion("train", (Note("answer_train_nowhere", **fields, need_bytes=need),))
    first = min(places, key=lambda place: place.fit.verdict.place) if named else places[0]
    fit = first.fit
    fields["gpus"] = boards_name(fit.gpu, fit.count)
    fields["need_bytes"] = fit.need.likely
    fields["memory_bytes"] = fit.gpu.device_free_bytes
    if fit.verdict is Verdict.DOES_NOT_FIT:
        savings = tuple(_savings(report.ladder))
        short = Note("answer_train_does_not_fit", **fields)
        return Conclusion("train", (short,), savings, _facts(first))
    several = named and report.counts_open and fit.count > 1
    code = f"answer_train_{fit.verdict.value}" if named and not several else "answer_train"
    one = Note("answer_train_several", **fields, gpu=fit.gpu.name, count=fit.count)
    tokens = round(report.request.dataset_tokens * report.request.epochs)
    spared = Note("training_spared", framework=SPARING_NAME)
    holds = *([one] if several else []), Note(code, **fields), *([spared] if fit.spared else [])
    said = (*holds, *_run(first, tokens))
    weighed = (
        *_on_one(report.on_one),
        *one_price(fit.gpu, first.costs),
        *_others(report.alternatives),
    )
    return Conclusion("train", said, weighed, _facts(first))


def _on_one(fit: TrainingFit | None) -> Iterator[Note]:
    if fit is not None:
        yield Note(
            "answer_train_on_one",
            tuning=fit.plan.method,
            gpu=fit.gpu.name,
            need_bytes=fit.need.likely,
            memory_bytes=fit.gpu.device_free_bytes,
        )


def _savings(ladder: Sequence[Mitigation]) -> Iterator[Note]:
    # Changes after which it fits, each on top of those before; none if they do not suffice.
    steps = next((n for n, mitigation in enumerate(ladder, start=1) if mitigation.fits), 0)
    if steps:
        yield Note("answer_train_savings")
        yield from (mitigation.note for mitigation in ladder[:steps])


def _run(place: RankedTraining, tokens: int) -> Iterator[Note]:
    hours, usd = place.cost.hours, place.cost.usd
    if hours is None or place.rate is None:
        yield Note("answer_train_speed_unknown")
        return
    fields: dict[str, NoteValue] = {
        "millions": significant(tokens / 1e6),
        "duration_hours": significant(hours),
        "tokens": significant(place.rate.likely),
    }
    if usd is None:
        yield Note("answer_train_run", **fields)
    else:
        yield Note("answer_train_run_rented", **fields, usd=significant(usd))


def _others(alternatives: Sequence[TrainingAlternative]) -> Iterator[Note]:
    # A sentence for each alternative to the first place, with its advantage.
    for alternative in alternatives:
        kind, place = alternative.kind, alternative.item
        hours = place.cost.hours
        usd = {"cheapest": place.costs.buy_usd, "rent": place.cost.usd}.get(kind)
        if alternative.is_first or hours is None or (usd is None and kind != "fastest"):
            continue
        gpus = boards_name(place.fit.gpu, place.fit.count)
        prices: dict[str, NoteValue] = {} if usd is None else {"usd": significant(usd)}
        yield Note(
            f"answer_train_or_{kind}", gpus=gpus, duration_hours=significant(hours), **prices
        )


def _facts(place: RankedTraining) -> dict[str, NoteValue | None]:
    fit = place.fit
    return {
        "gpu": fit.gpu.slug,
        "gpu_name": boards_name(fit.gpu, fit.count),
        "count": fit.count,
        "verdict": fit.verdict.value,
        "need_bytes": fit.need.likely,
        "headroom_bytes": fit.headroom_bytes,
        "tokens_per_second": None if place.rate is None else place.rate.likely,
        "hours": place.cost.hours,
        "usd": place.cost.usd,
    }
