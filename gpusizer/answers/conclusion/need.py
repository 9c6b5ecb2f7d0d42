"""What a model needs: the first choice among all GPUs, its memory by width, and other choices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpusizer.answers.conclusion.clauses import (
    about,
    boards_name,
    facts_of,
    memory_free,
    one_price,
    planned,
    short_name,
    speed_of_one,
    unmeasured,
)
from gpusizer.answers.conclusion.conclusion import Conclusion
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import significant
from gpusizer.fit.alternatives import is_priced_by_rent
from gpusizer.fit.ranking import Alternative, Ranked
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

_WIDTHS = ((3.5, 4.9), (7.5, 9.0), (15.0, 16.5))
"""Ranges of nominal bits that people call 4, 8 and 16 bits."""


def need(
    profile: ModelProfile,
    workload: Workload,
    places: Sequence[Ranked],
    alternatives: Sequence[Alternative],
    estimates: Sequence[MemoryEstimate],
    offered: Sequence[Note] = (),
) -> Conclusion:
    """The first place of a ranking, or that there is none; `offered` is what else it holds."""
    memory = (*memory_by_width(estimates), *planned(profile, workload))
    if not places:
        return Conclusion("need", (Note("answer_no_gpu", model=short_name(profile)),), memory)
    first = places[0]
    said = (
        Note("answer_need", **about(profile, first)),
        speed_of_one(first),
        memory_free(first),
        *one_price(first.fit.gpu, first.costs),
    )
    paced = first.decode or first.read or first.heard
    weighed = (
        *memory,
        *([] if paced else [Note("answer_order_without_speed")]),
        *first.weighed,
        *offered,
        *missed(first),
        *unmeasured(first),
        *others(alternatives),
    )
    return Conclusion("need", said, weighed, facts_of(first))


def memory_by_width(estimates: Sequence[MemoryEstimate]) -> Iterator[Note]:
    """The memory of the usual quantization of each width, the least first."""
    shown: list[MemoryEstimate] = []
    for least, most in _WIDTHS:
        of_width = [e for e in estimates if least <= e.quant.bits <= most]
        usual = [e for e in of_width if e.native or e.quant.recommended] or of_width
        shown += [next((e for e in usual if e.native), usual[0])] if usual else []
    fields: dict[str, NoteValue] = {}
    by_need = sorted(shown, key=lambda estimate: estimate.all_gpus.total.likely)
    for letter, estimate in zip("abc", by_need, strict=False):
        fields[f"quant_{letter}"] = estimate.quant.name
        fields[f"{letter}_bytes"] = estimate.all_gpus.total.likely
    if shown:
        yield Note(f"answer_memory_{len(shown)}", **fields)


def missed(place: Ranked) -> Iterator[Note]:
    """What the first place misses of a recommendation."""
    if place.rank_by == "recommended":
        for note in place.score.missed():
            yield Note(f"answer_misses_{note.code.removeprefix('why_')}", **note.fields)


def others(alternatives: Iterable[Alternative]) -> Iterator[Note]:
    """A sentence for each alternative that is not the first place itself."""
    for alternative in alternatives:
        item, kind = alternative.item, alternative.kind
        costs, estimate = item.costs, item.fit.estimate
        rents = is_priced_by_rent(kind, item.fit.gpu, costs)
        usd = costs.rent_usd_per_hour if rents else costs.buy_usd
        if alternative.is_first or usd is None:
            continue
        fields: dict[str, NoteValue] = {
            "gpus": boards_name(item.fit.gpu, item.fit.count),
            "quant": estimate.quant.name,
            "usd": significant(usd),
        }
        price = "rented" if rents else "bought"
        if item.user_rate is None:
            yield Note(f"answer_or_{kind}_{price}_without_speed", **fields)
        else:
            tokens = significant(item.user_rate.likely)
            yield Note(f"answer_or_{kind}_{price}", **fields, tokens=tokens)
