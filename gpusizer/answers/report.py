"""Report: everything gpusizer says about a request, and its one JSON shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gpusizer.answers.conclusion.conclusion import Conclusion
from gpusizer.answers.conclusion.fit import fit
from gpusizer.answers.conclusion.kinds import kind_of
from gpusizer.answers.conclusion.load import requests_served, users_served
from gpusizer.answers.conclusion.need import need
from gpusizer.answers.evidence import evidence_json
from gpusizer.answers.machine_json import rig_json
from gpusizer.answers.model_card.card_answer import ModelCardAnswer
from gpusizer.answers.request import SizeRequest
from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note, Say, note_json
from gpusizer.fit.advice import Suggestion
from gpusizer.fit.fit import Fit
from gpusizer.fit.losses import quality_at
from gpusizer.fit.parallelism.run_plan import parallelism_json, plan_json
from gpusizer.fit.ranking import Alternative, Ranked
from gpusizer.fit.serving_plan import ServingPlan, serving_plan_json
from gpusizer.fit.speculative_speeds import speculation_json
from gpusizer.fit.speed import speeds_json
from gpusizer.hub.quantized_repos import QuantizedRepo
from gpusizer.memory.breakdown import Breakdown
from gpusizer.memory.draft import DraftEstimate
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """One quantization of the answer; `fit` when a GPU was named."""

    estimate: MemoryEstimate
    parameters: int
    needs_original_weights: bool
    fit: Fit | None
    header_bytes: int = 0
    projector_bytes: int = 0

    @property
    def file_bytes(self) -> int:
        """Bytes of the files: weights, and the vocabulary that a GGUF file holds as well; without
        the projector where that is a file of its own.
        """
        return self.estimate.sizes.total - self.projector_bytes + self.header_bytes

    @property
    def host_bytes(self) -> int:
        """Weights kept in system memory."""
        return self.estimate.host_bytes

    @property
    def bits_per_weight(self) -> float:
        """Bits of weights in memory for each parameter."""
        return self.estimate.bits_per_weight(self.parameters)


@dataclass(frozen=True, slots=True)
class Report:
    """The answer to a size request; `alternatives` are to the first place of the ranking, `rig` is
    the best way on the machine that the request describes."""

    request: SizeRequest
    profile: ModelProfile
    workload: Workload
    estimates: tuple[EstimateRow, ...]
    ranking: tuple[Ranked, ...]
    notes: tuple[Note, ...] = ()
    quantized_repos: tuple[QuantizedRepo, ...] | None = None
    rig: Ranked | None = None
    model_card: ModelCardAnswer | None = None
    alternatives: tuple[Alternative, ...] = ()
    serving_plan: ServingPlan | None = None

    @property
    def conclusion(self) -> Conclusion:
        """The answer to the question that the request asks."""
        profile, workload, kind = self.profile, self.workload, kind_of(self.request)
        places = self.ranking if self.rig is None else (self.rig,)
        if self.serving_plan is not None:
            return requests_served(profile, self.serving_plan)
        if kind == "load":
            return users_served(profile, workload, places, self.alternatives)
        if kind == "fit" and places:
            return fit(profile, workload, places)
        memory = [row.estimate for row in self.estimates]
        return need(profile, workload, places, self.alternatives, memory)

    def to_json(self, say: Say) -> dict[str, Any]:
        """The contract's report object; `draft_model`, `quantized_repos`, `rig` and `serving_plan`
        only when requested.

        `model_card` is null where no card was read, and left out where it was not wanted.
        """
        report = {
            "answer": self.conclusion.to_json(say),
            "schema_version": SCHEMA_VERSION,
            "model": model_json(self.profile, say),
            "workload": self._workload_json(),
            "estimates": [
                {
                    **estimate_json(row, self.workload),
                    "quality": quality_at(row.estimate).to_json(say),
                }
                for row in self.estimates
            ],
            "ranking": [
                {
                    **ranked_json(item, say),
                    **evidence_json(self.profile, item, self.workload, say),
                }
                for item in self.ranking
            ],
            "alternatives": [_alternative_json(item, say) for item in self.alternatives],
            "notes": [note_json(note, say) for note in self.notes],
        }
        draft = self.profile.draft
        if draft is not None:
            report["draft_model"] = {"method": draft.method, **model_json(draft.profile, say)}
        if self.quantized_repos is not None:
            report["quantized_repos"] = [repo.to_json() for repo in self.quantized_repos]
        if self.rig is not None:
            report["rig"] = rig_json(self.rig, self.workload, say)
        if self.serving_plan is not None:
            report["serving_plan"] = serving_plan_json(self.serving_plan, say)
        if self.request.card:
            report["model_card"] = self.model_card.to_json(say) if self.model_card else None
        return report

    def _workload_json(self) -> dict[str, Any]:
        return {
            "model": self.request.model,
            "revision": self.profile.revision,
            "quant": list(self.request.quants),
            "max_loss": self.request.max_loss,
            "gpu": list(self.request.gpus),
            "gpu_count": self.request.gpu_count,
            "rig": self.request.rig or None,
            "rank_by": self.request.rank_by,
            "min_tok_s": self.request.min_tok_s,
            "top": self.request.top,
            "filters": self.request.filters.to_json(),
            "costs": self.request.assumptions.to_json(),
            **self.workload.to_json(),
        }


def model_json(profile: ModelProfile, say: Say) -> dict[str, Any]:
    """The contract's model object."""
    arch = profile.architecture
    return {
        "repo_id": profile.repo_id,
        "revision": profile.revision,
        "sha": profile.sha,
        "source": profile.source,
        "retrieved_at": profile.retrieved_at,
        "gated": profile.gated,
        "format": profile.format,
        "parameters": profile.parameters,
        "active_parameters": profile.active_parameters,
        "stored_parameters_by_dtype": dict(profile.stored_parameters_by_dtype),
        "weight_bytes": profile.weight_bytes,
        "tensor_count": profile.tensor_count,
        "file_count": profile.file_count,
        "components": [
            {"name": c.name, "parameters": c.parameters, "weight_bytes": c.weight_bytes}
            for c in profile.components
        ],
        "variants": [
            {"name": v.name, "slug": v.slug, "size_bytes": v.size_bytes, "files": len(v.files)}
            for v in profile.variants
        ],
        "quantization": profile.quantization.to_json() if profile.quantization else None,
        "architecture": arch.to_json() if arch else None,
        "max_context": profile.max_context,
        "kv_cache_bytes_per_token": profile.kv_cache_bytes_per_token,
        "license": profile.license,
        "base_models": list(profile.base_models),
        "base_relation": profile.base_relation,
        "languages": list(profile.languages),
        "weights_basis": profile.weights_basis,
        "pipeline_tag": profile.pipeline_tag,
        "library": profile.library,
        "caveats": [note_json(note, say) for note in profile.caveats],
    }


def estimate_json(row: EstimateRow, workload: Workload) -> dict[str, Any]:
    """The contract's estimate object without `quality`; `capacity` only when a GPU was named."""
    estimate = row.estimate
    all_gpus = estimate.all_gpus
    data = {
        "quant": estimate.quant.slug,
        "quant_name": estimate.quant.name,
        "bits_per_weight": row.bits_per_weight,
        "native": estimate.native,
        "needs_original_weights": row.needs_original_weights,
        "engine": estimate.engine.slug,
        "kv_dtype": estimate.kv_dtype,
        "engine_version": workload.engine_version or estimate.engine.version,
        **_amounts_json(all_gpus),
        "kv_cache_bytes_per_token": _of_a_token(all_gpus, workload),
        "low_bytes": all_gpus.total.low,
        "high_bytes": all_gpus.total.high,
        "file_bytes": row.file_bytes,
        "projector_bytes": row.projector_bytes,
        "host_bytes": row.host_bytes,
        "gpus": estimate.split.gpus,
        "per_gpu": _amounts_json(estimate.per_gpu),
        "provenance": estimate.all_gpus.provenance,
    }
    if estimate.draft is not None:
        data["draft"] = draft_json(estimate.draft)
    if row.fit is not None:
        data["capacity"] = row.fit.capacity_json()
        data["verdict"] = row.fit.verdict.value
        data["headroom_bytes"] = row.fit.headroom_bytes
    return data


def _of_a_token(breakdown: Breakdown, workload: Workload) -> int:
    """Bytes of the cache for a token, of the context and the cache type asked for."""
    return round(breakdown.kv_cache.likely / (workload.context * workload.concurrency))


def draft_json(draft: DraftEstimate) -> dict[str, Any]:
    """What of an estimate's amounts is the draft model's."""
    return {
        "quant": draft.quant.slug,
        "native": draft.native,
        "file_bytes": draft.sizes.total,
        "gpus": draft.split.gpus,
        **_amounts_json(draft.all_gpus),
        "per_gpu": _amounts_json(draft.per_gpu),
        "provenance": draft.all_gpus.provenance,
    }


def _amounts_json(breakdown: Breakdown) -> dict[str, int]:
    return {
        **{f"{name}_bytes": amount for name, amount in breakdown.likely_bytes.items()},
        "outside_budget_bytes": breakdown.outside.likely,
        "total_bytes": breakdown.total.likely,
    }


def _part_speeds_json(item: Ranked) -> dict[str, Any]:
    """Speeds of one user where a part of the model lies in system memory or on the disk."""
    rates = {"decode": item.decode, "prefill": item.prefill}
    return {
        f"{name}_tokens_per_second": rate.to_json()
        for name, rate in rates.items()
        if rate is not None
    }


def ranked_json(item: Ranked, say: Say) -> dict[str, Any]:
    """The contract's ranking object; `largest` and `advice` only for GPUs named in the request."""
    fit = item.fit
    named_only: dict[str, Any] = {}
    if item.largest is not None:
        named_only["largest"] = item.largest.to_json()
        named_only["advice"] = [_suggestion_json(suggestion, say) for suggestion in item.advice]
        named_only["plans"] = [plan_json(plan, say) for plan in item.plans]
    return {
        "rank": item.rank,
        "gpu": fit.gpu.slug,
        "gpu_name": fit.gpu.name,
        "count": fit.count,
        "quant": fit.estimate.quant.slug,
        "engine": fit.estimate.engine.slug,
        "quality": quality_at(fit.estimate).to_json(say),
        "verdict": fit.verdict.value,
        "headroom_bytes": fit.headroom_bytes,
        "per_gpu_bytes": fit.way.fullest_gpu_bytes,
        "usable_bytes": fit.gpu.device_free_bytes,
        "max_context": fit.max_context,
        "max_concurrency": fit.max_concurrency,
        **speeds_json(item.speeds),
        **(_part_speeds_json(item) if item.speeds is None else {}),
        **({"served": item.served.to_json()} if item.served else {}),
        **({"speculation": speculation_json(item.speculation)} if item.speculation else {}),
        "parallelism": parallelism_json(fit),
        "price": _price_json(item, say),
        "loading": item.load_times.to_json(),
        "power_watts": item.power_watts,
        "score": item.score.to_json(),
        "why": line(map(say, item.why)),
        "reasons": [note_json(note, say) for note in item.reasons],
        **named_only,
    }


def _alternative_json(alternative: Alternative, say: Say) -> dict[str, Any]:
    """The contract's alternative object: a kind, and an entry of the ranking."""
    return {
        "kind": alternative.kind,
        "is_first": alternative.is_first,
        **ranked_json(alternative.item, say),
        "why": line(map(say, alternative.why)),
        "break_even_months_of_first": alternative.break_even_months,
    }


def _price_json(item: Ranked, say: Say) -> dict[str, Any]:
    """Prices of all boards together; null where no known source has one. A million tokens costs
    that while so many users keep the boards busy."""
    costs = item.costs
    return {
        **costs.price_json(),
        "usd_per_million_tokens_users": item.speeds.users if item.speeds else None,
        "caveats": [note_json(note, say) for note in costs.notes()],
    }


def _suggestion_json(suggestion: Suggestion, say: Say) -> dict[str, Any]:
    """A change that makes it fit, or helps (`enough` false) where no single one does.

    `change` are the request fields that make it.
    """
    return {
        **note_json(suggestion.note, say),
        "change": dict(suggestion.change),
        "saving_bytes": suggestion.saving_bytes,
        "verdict": suggestion.verdict.value,
        "headroom_bytes": suggestion.headroom_bytes,
        "enough": suggestion.enough,
    }


def line(clauses: Iterable[str]) -> str:
    """The clauses joined into one line."""
    return "; ".join(clauses)


def error_json(error: GpusizerError, message: str, repo_id: str | None = None) -> dict[str, Any]:
    """The contract's error object."""
    body: dict[str, Any] = {"code": error.code, "message": message, **error.fields}
    if repo_id is not None:
        body.setdefault("repo_id", repo_id)
    return {"schema_version": SCHEMA_VERSION, "error": body}
