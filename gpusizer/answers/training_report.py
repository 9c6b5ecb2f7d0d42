"""TrainingReport: everything gpusizer says about a training, and its one JSON shape."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.answers.conclusion.conclusion import Conclusion
from gpusizer.answers.conclusion.train import Trained, train
from gpusizer.answers.gpu_json import bought_json
from gpusizer.answers.json_shapes import (
    SCHEMA_VERSION,
    Answered,
    Json,
    Said,
    fields_of,
    parts,
    rounded,
)
from gpusizer.answers.report import model_json
from gpusizer.answers.training_request import TrainingRequest
from gpusizer.core.messages import Note
from gpusizer.core.units import GB, significant
from gpusizer.fit.alternatives import is_priced_by_rent
from gpusizer.fit.rank_reasons import bought_clauses, rented_clause
from gpusizer.fit.speed.rate import Rate
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, PlanCosts, plan_costs
from gpusizer.model.profile import ModelProfile
from gpusizer.training.fit import TrainingCost, TrainingFit
from gpusizer.training.ladder import Most, Rung
from gpusizer.training.optimizers import OPTIMIZERS
from gpusizer.training.per_gpu import TrainingMemory
from gpusizer.training.plan import TrainingPlan
from gpusizer.training.recommendation import TrainingScore


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
        values = {**fields_of(self), "total": self.total}
        return {name: rounded(value) for name, value in values.items()}


@dataclass(frozen=True, slots=True)
class TrainingEstimateRow:
    """One way to train: the requested one, or another method with the same settings."""

    plan: TrainingPlan
    memory: TrainingMemory
    per_parameter: BytesPerParameter
    asked: bool


@dataclass(frozen=True, slots=True)
class RankedTraining:
    """One place of the ranking.

    Attributes:
        score: what a recommendation goes by.
        largest: only for GPUs named in the request.
        rank_by: the policy that put it there, "" where the GPU was asked for by name.
    """

    rank: int
    fit: TrainingFit
    rate: Rate | None
    cost: TrainingCost
    reasons: tuple[Note, ...]
    score: TrainingScore
    largest: Most | None = None
    rank_by: str = ""

    @property
    def trained(self) -> Trained:
        """What a conclusion says of it."""
        return Trained(self.fit, self.rate, self.cost, self.costs)

    @property
    def costs(self) -> PlanCosts:
        """What the boards cost to buy or rent."""
        return plan_costs(self.fit.gpu, self.fit.count, None, DEFAULT_ASSUMPTIONS)

    @property
    def why(self) -> tuple[Note, ...]:
        """What puts it at its place, as clauses of one line."""
        spare = significant(abs(self.fit.headroom_bytes) / GB)
        room = Note(f"why_train_{self.fit.verdict.value}", gb=spare)
        return (room, self.pace, *self.score.notes(), *bought_clauses(self.costs))

    @property
    def pace(self) -> Note:
        """Tokens/s and hours of the run."""
        if self.rate is None or self.cost.hours is None:
            return Note("why_speed_unknown")
        return Note("why_train_speed", tokens=self.rate.likely, hours=self.cost.hours)


@dataclass(frozen=True, slots=True)
class TrainingAlternative:
    """What else one could choose: `kind` is "cheapest" (to buy), "fastest" or "rent"."""

    kind: str
    item: RankedTraining
    first: RankedTraining

    @property
    def is_first(self) -> bool:
        """Whether the first place is the best of this kind, too."""
        return self.item.rank == self.first.rank

    @property
    def why(self) -> tuple[Note, ...]:
        """Its speed and price, and what it misses of a recommendation."""
        costs = self.item.costs
        rents = is_priced_by_rent(self.kind, self.item.fit.gpu, costs)
        prices = (rented_clause(costs),) if rents else bought_clauses(costs)
        run = (self.item.score.cost_note,) if rents else ()
        score = self.item.score
        return (self.item.pace, *score.doubts(), *run, *prices, *score.missed())


@dataclass(frozen=True, slots=True)
class TrainingReport(Answered):
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
        asked = next((row for row in self.estimates if row.asked), self.estimates[0])
        return train(
            self.profile,
            asked.memory,
            asked.plan.method,
            [place.trained for place in self.ranking],
            named=bool(self.request.gpus),
            counts_open=self.counts_open,
            tokens=round(self.request.dataset_tokens * self.request.epochs),
            ladder=self.ladder,
            others={a.kind: a.item.trained for a in self.alternatives if not a.is_first},
        )

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
    banded = {}
    for name in ("allocated", "reserved", "loading", "needed"):
        amount = getattr(memory, name)
        banded[f"{name}_bytes"] = amount.likely
        banded[f"{name}_low_bytes"] = amount.low
        banded[f"{name}_high_bytes"] = amount.high
    return {
        **{f"{name}_bytes": getattr(memory, name).likely for name in _PARTS},
        "total_bytes": total.likely,
        "low_bytes": total.low,
        "high_bytes": total.high,
        **banded,
        "reclaimable_bytes": memory.reclaimable,
    }


def _ranked_json(item: RankedTraining) -> Json:
    fit, cost, gpu, plan = item.fit, item.cost, item.fit.gpu, item.fit.plan
    named_only = {} if item.largest is None else {"largest": item.largest}
    costs = item.costs
    return {
        **parts(item, "rank", "score", "reasons"),
        **parts(fit, "count", "verdict", "headroom_bytes"),
        **parts(plan, "method", "sharding"),
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
    }


def _alternative_json(alternative: TrainingAlternative) -> Json:
    return {
        **parts(alternative, "kind", "is_first"),
        **_ranked_json(alternative.item),
        "why": Said(alternative.why),
    }
