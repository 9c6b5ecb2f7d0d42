"""Conclusion: the first sentences of an answer, as codes, and clauses that several share.

`gpusizer.text` makes sentences of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Literal

from gpusizer.advice.ranking import Ranked
from gpusizer.core.messages import Note, NoteValue, Translate
from gpusizer.core.units import significant
from gpusizer.fit.machine import Machine
from gpusizer.fit.run_config import memory_of, usable_memory
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs import PlanCosts
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import kind_of, writes_text
from gpusizer.speed import Rate

_HOURS_OF_A_MONTH = 730  # of 365 days, as clouds bill


def short_name(profile: ModelProfile) -> str:
    """Return a model's name without its owner."""
    return profile.repo_id.rstrip("/").rsplit("/", maxsplit=1)[-1]


def boards_name(gpu: Gpu, boards: int) -> str:
    """Return the name of boards in every language: "RTX 4090", "2 × RTX 4090"."""
    return f"{boards} × {gpu.name}" if boards > 1 else gpu.name


def machine_name(machine: Machine) -> str:
    """Return the devices of a machine; unlike ones each with its number."""
    if machine.is_uniform:
        return boards_name(machine.gpu, machine.boards)
    names = [gpu.name for gpu in machine.gpus]
    kinds = dict.fromkeys(names)
    counted = (f"{names.count(name)} × {name}" if names.count(name) > 1 else name for name in kinds)
    return " + ".join(counted) or machine.backend


def about(profile: ModelProfile, place: Ranked) -> dict[str, NoteValue]:
    """Return the fields that every sentence about a place may use."""
    estimate = place.fit.estimate
    return {
        "model": short_name(profile),
        "gpus": machine_name(place.fit.machine),
        "quant": estimate.quant.name,
        "engine": estimate.engine.name,
    }


def speed_of_one(place: Ranked) -> Note:
    """Return the speed of one user in the unit of the model, or a note that it is unknown."""
    if place.read is not None:
        tokens = place.fit.estimate.placement.workload.context
        documents = significant(place.read.likely / tokens)
        return Note("answer_reads", **_banded(place.read), documents=documents, context=tokens)
    if place.heard is not None:
        return Note("answer_hears", **_banded(place.heard))
    if place.drawn is not None:
        work = place.fit.estimate.placement.workload
        size = {"width": work.width or 0, "height": work.height or 0, "frames": work.frames or 1}
        kind = "answer_films" if size["frames"] > 1 else "answer_draws"
        return Note(kind, **_banded(place.drawn), **size)
    if place.decode is None:
        return Note("answer_speed_unknown")
    return Note("answer_speed", **_banded(place.decode))


def _banded(rate: Rate) -> dict[str, NoteValue]:
    ends = {"tokens": rate.likely, "low": rate.low, "high": rate.high}
    return {name: significant(value) for name, value in ends.items()}


def memory_free(place: Ranked) -> Note:
    """Return a note on the memory that stays free on the fullest device."""
    # Without a device it is system memory. An engine that takes a share at once and fills it with
    # cache leaves what is beside that share.
    machine, estimate = place.fit.machine, place.fit.estimate
    each = "each" if len(machine.gpus) > 1 else "one"
    unlike = len(machine.gpus) > 1 and not machine.is_uniform
    free = machine.gpu.device_free_bytes if machine.gpus else machine.free_ram_bytes or 0
    budgets = estimate.utilization < 1 or estimate.engine.abilities.share_option
    if machine.gpus and budgets and estimate.per_gpu.kv_cache.likely:
        return _beside_share(machine.gpu, estimate, each)
    return Note(
        "answer_free_fullest" if unlike else f"answer_free_{each}",
        free_bytes=max(0, place.fit.config.headroom_bytes),
        memory_bytes=free,
    )


def _beside_share(gpu: Gpu, estimate: MemoryEstimate, each: str) -> Note:
    # The engine takes a share at once. The note also names the least share that holds the model,
    # and the bytes that this leaves to other programs.
    shared, engine = estimate.shared, estimate.engine
    room, memory = usable_memory(gpu, estimate), memory_of(engine, gpu)
    of = room.free_bytes if estimate.free_rule.kind == "share_of_free" else memory
    free = room.free_bytes
    taken = min(free, shared.taken_bytes(of, room.utilization))
    fields: dict[str, NoteValue] = {
        "free_bytes": free - taken,
        "memory_bytes": free,
        "engine": engine.name,
        "taken_bytes": taken,
    }
    option = engine.abilities.share_option
    share = shared.least(of) if option else None
    left = 0 if share is None else free - shared.taken_bytes(of, share)
    if share is None or share >= room.utilization or left <= 0:
        return Note(f"answer_filled_{each}", **fields)
    less: dict[str, NoteValue] = {"share": f"{share:g}", "left_bytes": left}  # as it is typed
    return Note(f"answer_taken_{each}", **fields, option=option, **less)


def prices(gpu: Gpu, costs: PlanCosts) -> Iterator[Note]:
    """Yield the price to buy and the rent of all boards, if known."""
    usd = costs.buy_usd
    if usd is not None and costs.buy is not None:
        kind = costs.buy.condition or costs.buy.basis
        name = boards_name(gpu, costs.boards)
        yield Note(
            f"answer_price_{kind}", gpus=name, usd=significant(usd), date=costs.buy_as_of or ""
        )
    if costs.rent_usd_per_hour is not None:
        yield rent(gpu, costs, costs.rent_usd_per_hour)


def rent(gpu: Gpu, costs: PlanCosts, usd_per_hour: float) -> Note:
    """Return the rent of an hour and of a month."""
    return Note(
        "answer_rent",
        gpus=boards_name(gpu, costs.boards),
        hour_usd=significant(usd_per_hour),
        month_usd=significant(usd_per_hour * _HOURS_OF_A_MONTH),
    )


def one_price(gpu: Gpu, costs: PlanCosts) -> tuple[Note, ...]:
    """Return the price to buy, or the rent without one."""
    return tuple(prices(gpu, costs))[:1]


def facts_of(place: Ranked) -> Mapping[str, NoteValue | None]:
    """Return the figures of a place under the ranking's names."""
    fit, machine = place.fit, place.fit.machine
    costs = place.costs if machine.is_uniform else None
    return {
        "gpu": fit.gpu.slug if machine.gpus else None,
        "gpu_name": machine_name(machine),
        "count": fit.count if machine.is_uniform else len(machine.gpus),
        "quant": fit.estimate.quant.slug,
        "engine": fit.estimate.engine.slug,
        "verdict": fit.verdict.value,
        "headroom_bytes": fit.headroom_bytes,
        "max_context": place.longest_context,
        "max_concurrency": place.most_users,
        "tokens_per_second": None if place.decode is None else place.decode.likely,
        "buy_usd": None if costs is None else costs.buy_usd,
        "rent_usd_per_hour": None if costs is None else costs.rent_usd_per_hour,
    }


def unmeasured(place: Ranked) -> Iterator[Note]:
    """Yield a note if no published run of such a card supports the speed."""
    if place.drawn is not None:
        yield Note("answer_picture_runs")
    if place.read is not None or place.heard is not None:
        yield Note("answer_derived_speed")
        return
    if place.speeds is None or place.decode is None:
        return
    engine, gpu = place.fit.estimate.engine.name, place.fit.gpu
    if not place.speeds.decode_basis.runs:
        yield Note("answer_unmeasured", engine=engine, gpu=gpu.name)
    elif place.speeds.decode_basis.measured_on == "kin":
        yield Note("answer_kin_speed", engine=engine, gpu=gpu.name, vendor=gpu.vendor)


def is_text(profile: ModelProfile) -> bool:
    """Whether the model writes text, with a context and a speed in tokens."""
    return writes_text(profile) and kind_of(profile) != "speech"


def planned(profile: ModelProfile, workload: Workload) -> Iterator[Note]:
    """Yield the context and the users of the figures; nothing for models without text."""
    if not is_text(profile):
        return
    if workload.concurrency == 1:
        yield Note("answer_planned_one", context=workload.context)
    else:
        users = workload.concurrency
        yield Note("answer_planned_many", context=workload.context, users=users)


def names(words: Sequence[str]) -> str:
    """Return names in a row."""
    return ", ".join(words)


# Kind of question: a model's needs, its fit on a machine, a choice among GPUs, hardware for a load,
# models for a machine, fine-tuning, several models on a machine.
Kind = Literal["need", "fit", "compare", "load", "models", "train", "desk"]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The answer to a question."""

    kind: Kind
    said: tuple[Note, ...]  # the conclusion, a note for each sentence
    # other facts that decided, or would decide otherwise, a note for each sentence
    weighed: tuple[Note, ...] = ()
    # figures of the conclusion under the contract's names; None if unknown
    facts: Mapping[str, NoteValue | None] = field(default_factory=dict)

    def sentence(self, say: Translate) -> str:
        """Return the conclusion in the reader's language."""
        return told(self.said, say)


def told(notes: Iterable[Note], say: Translate) -> str:
    """Return sentences joined as in their language; "" for none."""
    sentences = list(map(say, notes))
    if not sentences:
        return ""
    return reduce(lambda first, more: say(Note("answer_joined", first=first, more=more)), sentences)


_CONDITIONAL = {"answer_fits": "answer_fits_if", "answer_fits_slowly": "answer_fits_if"}


def with_doubts(conclusion: Conclusion, profile: ModelProfile | None) -> Conclusion:
    """Return the conclusion with the model's unknown facts after its first sentence."""
    # It fits only if these take no more memory.
    found = () if profile is None else profile.doubts
    if not found or not conclusion.said:
        return conclusion
    first, *others = conclusion.said
    first = Note(_CONDITIONAL.get(first.code, first.code), **first.fields)
    return replace(conclusion, said=(first, *found, *others))
