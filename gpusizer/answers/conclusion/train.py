"""What fine-tuning takes: memory on each GPU, hours and dollars, on the GPU named or the best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpusizer.answers.conclusion.clauses import Conclusion, boards_name, one_price, short_name
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import significant
from gpusizer.fit.verdict import Verdict
from gpusizer.model.profile import ModelProfile
from gpusizer.training.ladder import Rung
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.ranking import RankedTraining

_METHODS = {"full": "Full", "lora": "LoRA", "qlora": "QLoRA", "dora": "DoRA"}


def method_name(method: str) -> str:
    """A method's name as people write it."""
    return _METHODS.get(method, method)


def train(
    profile: ModelProfile,
    requested: TrainingMemory,
    method: str,
    places: Sequence[RankedTraining],
    *,
    named: bool,
    counts_open: bool,
    tokens: int,
    ladder: Sequence[Rung],
    others: Mapping[str, RankedTraining],
) -> Conclusion:
    """The first place, or the named GPU that holds the training best.

    `requested` is the memory of the method asked for, `tokens` those of the whole run, `others`
    are alternatives to the first place by kind. With `counts_open` the places have the fewest
    boards that hold it.
    """
    fields: dict[str, NoteValue] = {"model": short_name(profile), "tuning": method}
    if not places:
        need = requested.needed.likely
        return Conclusion("train", (Note("answer_train_nowhere", **fields, need_bytes=need),))
    first = min(places, key=lambda place: place.fit.verdict.place) if named else places[0]
    fit = first.fit
    fields["gpus"] = boards_name(fit.gpu, fit.count)
    fields["need_bytes"] = fit.memory.needed.likely
    fields["memory_bytes"] = fit.gpu.device_free_bytes
    if fit.verdict is Verdict.DOES_NOT_FIT:
        savings = tuple(_savings(ladder))
        short = Note("answer_train_does_not_fit", **fields)
        return Conclusion("train", (short,), savings, _facts(first))
    several = named and counts_open and fit.count > 1
    code = f"answer_train_{fit.verdict.value}" if named and not several else "answer_train"
    one = Note("answer_train_several", **fields, gpu=fit.gpu.name, count=fit.count)
    said = (*([one] if several else []), Note(code, **fields), *_run(first, tokens))
    weighed = (*one_price(fit.gpu, first.costs), *_others(others))
    return Conclusion("train", said, weighed, _facts(first))


def _savings(ladder: Sequence[Rung]) -> Iterator[Note]:
    """The changes after which it fits, each on top of those before; nothing where they do not
    suffice."""
    steps = next((n for n, rung in enumerate(ladder, start=1) if rung.fits), 0)
    if steps:
        yield Note("answer_train_savings")
        yield from (rung.note for rung in ladder[:steps])


def _run(place: RankedTraining, tokens: int) -> Iterator[Note]:
    """The hours of the run and their rent."""
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


def _others(others: Mapping[str, RankedTraining]) -> Iterator[Note]:
    """A sentence for each alternative, with what it is the best at."""
    for kind, place in others.items():
        hours = place.cost.hours
        usd = {"cheapest": place.costs.buy_usd, "rent": place.cost.usd}.get(kind)
        if hours is None or (usd is None and kind != "fastest"):
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
        "need_bytes": fit.memory.needed.likely,
        "headroom_bytes": fit.headroom_bytes,
        "tokens_per_second": None if place.rate is None else place.rate.likely,
        "hours": place.cost.hours,
        "usd": place.cost.usd,
    }
