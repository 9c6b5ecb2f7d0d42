"""Report: everything gpusizer says about a request, and its one JSON shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.advice.ranking import Alternative, Ranked
from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note
from gpusizer.core.units import GIB, significant
from gpusizer.fit.division import asked_split
from gpusizer.fit.fit import Fit
from gpusizer.fit.losses import quality_at
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference import best_way
from gpusizer.fit.study import QuantPair, Study
from gpusizer.fit.ways import engines_of
from gpusizer.hub.listed_models import QuantizedRepo
from gpusizer.memory.breakdown import Breakdown
from gpusizer.memory.draft import DraftEstimate
from gpusizer.memory.engines import Split
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.projector import projector_bytes
from gpusizer.memory.quants.gguf import Gguf, header_bytes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.serving.serving_rows import ServingPlan
from gpusizer.usecases.contract.answers import SizeAnswer
from gpusizer.usecases.contract.objects import ComponentJson, ModelJson, VariantJson
from gpusizer.usecases.gpu_json import rig_json
from gpusizer.usecases.json_shapes import SCHEMA_VERSION, Answered, Json, fields_of, parts, written
from gpusizer.usecases.model_card.card_answer import ModelCardAnswer
from gpusizer.usecases.quantizing import Making, making_of
from gpusizer.usecases.ranked_json import (
    alternative_json,
    evidence_json,
    ranked_json,
    serving_plan_json,
)
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.request_fields import ALL_QUANTS
from gpusizer.usecases.siblings import Sibling


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
    def bits_per_weight(self) -> float:
        """Bits of weights in memory for each parameter."""
        return self.estimate.bits_per_weight(self.parameters)


@dataclass(frozen=True, slots=True)
class Report(Answered[SizeAnswer]):
    """The answer to a size request; `alternatives` are to the first place of the ranking, `rig` is
    the best way on the machine that the request describes, `conclusion` the headline of it all."""

    request: SizeRequest
    profile: ModelProfile
    workload: Workload
    estimates: tuple[EstimateRow, ...]
    ranking: tuple[Ranked, ...]
    conclusion: Conclusion
    notes: tuple[Note, ...] = ()
    quantized_repos: tuple[QuantizedRepo, ...] | None = None
    rig: Ranked | None = None
    model_card: ModelCardAnswer | None = None
    alternatives: tuple[Alternative, ...] = ()
    serving_plan: ServingPlan | None = None
    sibling: Sibling | None = None

    @property
    def makings(self) -> tuple[Making, ...]:
        """What making the quantizations takes that a named GPU's place or the request names."""
        named = [item.fit for item in self.ranking if item.largest is not None]
        found = [making_of(self.profile, fit.estimate, fit.gpu) for fit in named]
        if not named:
            found = [self._making(row) for row in self.estimates]
        return tuple(making for making in found if making is not None)

    def _making(self, row: EstimateRow) -> Making | None:
        """What making a quantization takes, None for those that the request does not name; the tag
        behind a model's name leaves one."""
        stated = ALL_QUANTS not in self.request.quants or len(self.estimates) == 1
        return making_of(self.profile, row.estimate) if stated else None

    def shape(self) -> Json:
        """The contract's report object; `draft_model`, `quantized_repos`, `rig` and `serving_plan`
        only when requested.

        `model_card` is null where no card was read, and left out where it was not wanted.
        """
        workload, draft = self.workload, self.profile.draft
        plan = self.serving_plan and serving_plan_json(self.serving_plan, self.profile)
        wanted = {"quantized_repos": self.quantized_repos, "serving_plan": plan}
        report = {
            "answer": self.conclusion,
            "schema_version": SCHEMA_VERSION,
            "model": model_json(self.profile),
            "workload": self._workload_json(),
            "estimates": [
                {
                    **estimate_json(row, workload),
                    "quality": quality_at(row.estimate),
                    "quantizing": self._making(row),
                }
                for row in self.estimates
            ],
            "ranking": [
                {**ranked_json(item), **evidence_json(self.profile, item, workload)}
                for item in self.ranking
            ],
            "alternatives": [alternative_json(item) for item in self.alternatives],
            "sibling": self.sibling,
            "notes": self.notes,
        }
        if draft is not None:
            report["draft_model"] = {"method": draft.method, **model_json(draft.profile)}
        if self.rig is not None:
            report["rig"] = rig_json(self.rig, workload)
        report |= {name: value for name, value in wanted.items() if value is not None}
        return report | ({"model_card": self.model_card} if self.request.card else {})

    def _workload_json(self) -> Json:
        request = self.request
        return {
            **parts(request, "model", "max_loss", "gpu_count", "rank_by", "min_tok_s", "top"),
            "revision": self.profile.revision,
            "quant": request.quants,
            "gpu": request.gpus,
            "rig": request.rig or None,
            "filters": request.filters,
            "costs": request.assumptions,
            **fields_of(self.workload),
        }


def model_json(profile: ModelProfile) -> Json:
    """The contract's model object."""
    return written(
        ModelJson,
        profile,
        components=[written(ComponentJson, part) for part in profile.components],
        variants=[written(VariantJson, each, files=len(each.files)) for each in profile.variants],
    )


def estimate_json(row: EstimateRow, workload: Workload) -> Json:
    """The contract's estimate object without `quality`; `capacity` only when a GPU was named."""
    estimate = row.estimate
    all_gpus = estimate.all_gpus
    data = {
        **parts(row, "bits_per_weight", "needs_original_weights", "file_bytes"),
        **parts(row, "projector_bytes"),
        **parts(estimate, "host_bytes", "native", "kv_dtype"),
        "quant": estimate.quant.slug,
        "quant_name": estimate.quant.name,
        "engine": estimate.engine.slug,
        "engine_version": workload.engine_version or estimate.engine.version,
        **_amounts_json(all_gpus),
        "kv_cache_bytes_per_token": round(
            all_gpus.kv_cache.likely / (workload.context * workload.concurrency)
        ),
        "low_bytes": all_gpus.total.low,
        "high_bytes": all_gpus.total.high,
        "gpus": estimate.split.gpus,
        "per_gpu": _amounts_json(estimate.per_gpu),
        "provenance": estimate.all_gpus.provenance,
    }
    if estimate.draft is not None:
        data["draft"] = draft_json(estimate.draft)
    if row.fit is not None:
        pool: Json = {"kv_cache_pool_bytes": row.fit.kv_pool_bytes}
        pool["kv_cache_pool_tokens"] = row.fit.kv_pool_tokens
        data["capacity"] = pool | parts(row.fit, "max_concurrency", "max_context")
        data |= parts(row.fit, "verdict", "headroom_bytes")
    return data


def draft_json(draft: DraftEstimate) -> Json:
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


def error_json(error: GpusizerError, message: str, repo_id: str | None = None) -> Json:
    """The contract's error object."""
    body: Json = {"code": error.code, "message": message, **error.fields}
    if repo_id is not None:
        body.setdefault("repo_id", repo_id)
    return {"schema_version": SCHEMA_VERSION, "error": body}


def estimate_rows(question: Question, places: Sequence[Ranked]) -> tuple[EstimateRow, ...]:
    """One row for each quantization, most faithful first.

    Where GPUs are named a row is the best way on the machine of the first of `places`; else its
    memory on as many GPUs as the request asks for, under its usual engine.
    """
    study = question.study.among(question.selection.shown)
    machine = places[0].fit.machine if places else None
    rows = []
    for pair in question.selection.shown:
        fit = _fit(study, machine, pair) if machine else None
        estimate = fit.estimate if fit else _unfitted(study, pair, question.request.gpu_count or 1)
        rows.append(_row(question, pair, estimate, fit))
    return tuple(rows)


def _fit(study: Study, machine: Machine, pair: QuantPair) -> Fit:
    alone = study.obeying([pair])
    return Fit.of(alone, best_way(alone, machine))


def shown_estimates(question: Question) -> list[MemoryEstimate]:
    """Return the memory at each quantization, on as many GPUs as the request asks for, under its
    usual engine."""
    devices = question.request.gpu_count or 1
    return [_unfitted(question.study, pair, devices) for pair in question.selection.shown]


def _unfitted(study: Study, pair: QuantPair, devices: int) -> MemoryEstimate:
    engine = engines_of(study, pair[0])[0]
    split = asked_split(study.workload) or study.split(engine, devices) or Split()
    return study.estimate(*pair, engine, split)


def _row(
    question: Question, pair: QuantPair, estimate: MemoryEstimate, fit: Fit | None
) -> EstimateRow:
    profile, (quant, native) = question.profile, pair
    is_gguf = profile.format == "gguf"
    wider = is_gguf or quant.order < question.selection.native.order
    return EstimateRow(
        estimate=estimate,
        parameters=profile.parameters,
        needs_original_weights=profile.quantization is not None and not native and wider,
        fit=fit,
        **_gguf_files(estimate, profile),
    )


def _gguf_files(estimate: MemoryEstimate, profile: ModelProfile) -> dict[str, int]:
    """What GGUF files hold beside the tensors of the text, and apart from them.

    A plain checkpoint is converted for the engines that read nothing else.
    """
    reads_gguf = estimate.engine.abilities.reads == "gguf"
    if not isinstance(estimate.quant.layout, Gguf) and not reads_gguf:
        return {}
    return {
        "header_bytes": header_bytes(profile.architecture),
        "projector_bytes": projector_bytes(profile, estimate.sizes),
    }


_FORMS = frozenset({"awq", "gptq", "fp8", "nvfp4", "mxfp4"})  # one repository is one width
_ALIKE = 0.02  # of the published size: headers, scales and embeddings differ by less


def published_notes(repos: Sequence[QuantizedRepo], rows: Sequence[EstimateRow]) -> Iterator[Note]:
    """A note for each converted quantization whose most downloaded repository weighs otherwise.

    Publishers leave parts wide that a recipe by its name alone would narrow (attention in FP8 or 16
    bits in most NVFP4 files), so the file that exists is told wherever the Hub's listing has its
    size.
    """
    for row in rows:
        form = row.estimate.quant.slug.partition("-")[0]
        alike = (repo for repo in repos if repo.form == form and repo.weight_bytes)
        repo = next(alike, None)
        if row.estimate.native or form not in _FORMS or repo is None or not repo.weight_bytes:
            continue
        if abs(row.file_bytes / repo.weight_bytes - 1) > _ALIKE:
            yield Note(
                "published_weights",
                quant=row.estimate.quant.name,
                repo_id=repo.repo_id,
                published=significant(repo.weight_bytes / GIB),
                converted=significant(row.file_bytes / GIB),
            )
