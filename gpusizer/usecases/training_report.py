"""TrainingReport: what gpusizer says of a training, its conclusion and its one JSON shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from gpusizer.advice.conclusion.clauses import Conclusion, boards_name, one_price, short_name
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import significant
from gpusizer.fit.verdict import Verdict
from gpusizer.model.profile import ModelProfile
from gpusizer.training.fit import SPARING_NAME
from gpusizer.training.ladder import Rung
from gpusizer.training.optimizers import OPTIMIZERS
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.ranking import RankedTraining, TrainingAlternative
from gpusizer.training.rollout import Rollout
from gpusizer.usecases.contract.answers import TrainAnswer
from gpusizer.usecases.gpu_json import bought_json
from gpusizer.usecases.json_shapes import (
    SCHEMA_VERSION,
    Answered,
    Json,
    Said,
    ends,
    fields_of,
    parts,
    rounded,
)
from gpusizer.usecases.report import model_json
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

    def shape(self) -> Json:
        """JSON object; bytes, `total` those of a trained parameter."""
        names = (*(field.name for field in fields(self)), "total")
        return {name: rounded(getattr(self, name)) for name in names}


@dataclass(frozen=True, slots=True)
class TrainingEstimateRow:
    """One way to train: the requested one, or another method with the same settings."""

    plan: TrainingPlan
    memory: TrainingMemory
    per_parameter: BytesPerParameter
    asked: bool


@dataclass(frozen=True, slots=True)
class TrainingReport(Answered[TrainAnswer]):
    """The answer to a training request.

    Attributes:
        plan: of the first estimate.
        ladder: mitigations of it.
        counts_open: no number of boards is stated, so that places have the fewest that hold it.
        cheapest: for each method the GPUs on which the run costs least; empty where GPUs are
            named.
        alternatives: to the first place of the ranking; empty where GPUs are named.
    """

    request: TrainingRequest
    profile: ModelProfile
    plan: TrainingPlan
    estimates: tuple[TrainingEstimateRow, ...]
    ladder: tuple[Rung, ...]
    ranking: tuple[RankedTraining, ...]
    notes: tuple[Note, ...] = ()
    cheapest: tuple[RankedTraining, ...] = ()
    alternatives: tuple[TrainingAlternative, ...] = ()
    counts_open: bool = False

    @property
    def conclusion(self) -> Conclusion:
        """What the training takes on the first place, or on the GPUs named."""
        return _conclusion(self)

    def shape(self) -> Json:
        """One JSON object in the style of the size report; amounts are integer bytes."""
        return {
            "answer": self.conclusion,
            "schema_version": SCHEMA_VERSION,
            "model": model_json(self.profile),
            "workload": self._workload_json(),
            "estimates": list(map(_estimate_json, self.estimates)),
            "ladder": self.ladder,
            "ranking": list(map(_ranked_json, self.ranking)),
            "alternatives": list(map(_alternative_json, self.alternatives)),
            "cheapest": list(map(_ranked_json, self.cheapest)),
            "notes": self.notes,
        }

    def _workload_json(self) -> Json:
        request, plan = self.request, fields_of(self.plan)
        del plan["gpus"]
        return {
            "task": "train",
            "revision": self.profile.revision,
            "gpu": request.gpus,
            **plan,
            **parts(request, "model", "gpu_count", "dataset_tokens", "epochs", "usd_per_kwh"),
            **parts(request, "rank_by", "min_tok_s", "top"),
        }


def _estimate_json(row: TrainingEstimateRow) -> Json:
    memory, gpus = row.memory, row.plan.gpus
    all_gpus = memory.total.times(gpus)
    return {
        **parts(row.plan, "method", "precision", "optimizer", "sharding", "gpus"),
        "asked": row.asked,
        "base": memory.base or None,
        "trainable_parameters": memory.trainable,
        "bytes_per_parameter": row.per_parameter,
        "total_bytes": all_gpus.likely,
        "low_bytes": all_gpus.low,
        "high_bytes": all_gpus.high,
        "per_gpu": _per_gpu_json(memory),
        "peak_phase": memory.phase,
        "host_bytes": memory.host,
        "nvme_bytes": memory.nvme,
        "provenance": {name: getattr(memory, name).provenance for name in _PARTS},
        "optimizer_source": OPTIMIZERS[row.plan.optimizer].source,
    }


_PARTS = (
    *("weights", "gradients", "optimizer", "activations", "logits", "buffers"),
    *("reserve", "context"),
)
"""Amounts that add up to what a GPU holds."""


def _per_gpu_json(memory: TrainingMemory) -> Json:
    """Likely bytes of each part; the total with its band, as nvidia-smi would show it.

    `needed` leaves out what is reclaimable; verdicts and the ladder compare it with the device.
    """
    total = memory.total
    return {
        **{f"{name}_bytes": getattr(memory, name).likely for name in _PARTS},
        "total_bytes": total.likely,
        "low_bytes": total.low,
        "high_bytes": total.high,
        **ends("allocated", memory.allocated),
        **ends("reserved", memory.reserved),
        **ends("loading", memory.loading),
        **ends("needed", memory.needed),
        "reclaimable_bytes": memory.reclaimable.likely,
    }


def _rollout_json(rollout: Rollout) -> Json:
    """Likely bytes of both peaks of reinforcement learning."""
    return {
        "engine_bytes": rollout.engine_bytes,
        "weights_bytes": rollout.weights_bytes,
        "generation_bytes": rollout.generation.likely,
        "update_bytes": rollout.update.likely,
    }


def _ranked_json(item: RankedTraining) -> Json:
    fit, cost, gpu, plan = item.fit, item.cost, item.fit.gpu, item.fit.plan
    named_only = {} if item.largest is None else {"largest": item.largest}
    rollout = {} if fit.rollout is None else {"rollout": _rollout_json(fit.rollout)}
    costs = item.costs
    return {
        **parts(item, "rank", "score", "reasons"),
        **parts(fit, "count", "verdict", "headroom_bytes"),
        **parts(plan, "method", "framework", "sharding"),
        **parts(cost, "hours", "energy_kwh"),
        "gpu": gpu.slug,
        "gpu_name": gpu.name,
        "parallelism": {
            degree: getattr(plan, f"{degree}_parallel")
            for degree in ("data", "tensor", "pipeline", "context")
        },
        "per_gpu": _per_gpu_json(fit.memory),
        "host_bytes": fit.memory.host,
        "nvme_bytes": fit.memory.nvme,
        "tokens_per_second": item.rate,
        "price": {
            **bought_json(costs),
            **parts(cost, "usd", "energy_usd"),
            "rent_usd_per_hour": costs.rent_usd_per_hour,
            "as_of": costs.rent and costs.rent.as_of,
        },
        "power_watts": None if gpu.power_watts is None else gpu.power_watts * fit.count,
        "why": Said(item.why),
        **named_only,
        **rollout,
    }


def _alternative_json(alternative: TrainingAlternative) -> Json:
    return {
        **parts(alternative, "kind", "is_first"),
        **_ranked_json(alternative.item),
        "why": Said(alternative.why),
    }


_METHODS = {"full": "Full", "lora": "LoRA", "qlora": "QLoRA", "dora": "DoRA"}


def method_name(method: str) -> str:
    """A method's name as people write it."""
    return _METHODS.get(method, method)


def _conclusion(report: TrainingReport) -> Conclusion:
    """The first place, or of the GPUs named the one that holds the training best."""
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
    weighed = (*one_price(fit.gpu, first.costs), *_others(report.alternatives))
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


def _others(alternatives: Sequence[TrainingAlternative]) -> Iterator[Note]:
    """A sentence for each alternative to the first place, with what it is the best at."""
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
