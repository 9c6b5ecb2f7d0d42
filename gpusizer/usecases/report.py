"""Report: the complete answer to a size request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.advice.ranking import Alternative, Ranked
from gpusizer.core.messages import Note
from gpusizer.core.units import GIB, significant
from gpusizer.fit.division import asked_split
from gpusizer.fit.fit import Fit
from gpusizer.fit.losses import quality_at
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference import best_config
from gpusizer.fit.run_configs import engines_of
from gpusizer.fit.study import QuantPair, Study
from gpusizer.hub.listed_models import QuantizedRepo
from gpusizer.memory.engines import Split
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.projector import projector_bytes
from gpusizer.memory.quants.gguf import Gguf, header_bytes
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.serving.serving_rows import ServingPlan
from gpusizer.usecases.model_card.card_answer import ModelCardAnswer
from gpusizer.usecases.quantization_job import QuantizationJob, quantization_job
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.request_fields import ALL_QUANTS
from gpusizer.usecases.siblings import Sibling


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """One quantization of the answer."""

    estimate: MemoryEstimate
    parameters: int
    needs_original_weights: bool
    fit: Fit | None  # set if a GPU was named
    # set if the request names the quantization and the repository does not store it
    making: QuantizationJob | None = None
    header_bytes: int = 0
    projector_bytes: int = 0

    @property
    def file_bytes(self) -> int:
        """Bytes of the files: weights, and the vocabulary of a GGUF file.

        A projector in a file of its own is left out.
        """
        return self.estimate.sizes.total - self.projector_bytes + self.header_bytes

    @property
    def bits_per_weight(self) -> float:
        """Bits of weights in memory for each parameter."""
        return self.estimate.bits_per_weight(self.parameters)


@dataclass(frozen=True, slots=True)
class Report:
    """Answer to a size request."""

    request: SizeRequest
    profile: ModelProfile
    workload: Workload
    estimates: tuple[EstimateRow, ...]
    ranking: tuple[Ranked, ...]
    conclusion: Conclusion  # the headline
    notes: tuple[Note, ...] = ()
    quantized_repos: tuple[QuantizedRepo, ...] | None = None
    rig: Ranked | None = None  # best run config on the machine that the request describes
    model_card: ModelCardAnswer | None = None
    alternatives: tuple[Alternative, ...] = ()  # to the first place of the ranking
    serving_plan: ServingPlan | None = None
    sibling: Sibling | None = None

    @property
    def makings(self) -> tuple[QuantizationJob, ...]:
        """Makings of the quantizations that the places of named GPUs use or the request names."""
        named = [item.fit for item in self.ranking if item.largest is not None]
        found = [quantization_job(self.profile, fit.estimate, fit.gpu) for fit in named]
        if not named:
            found = [row.making for row in self.estimates]
        return tuple(making for making in found if making is not None)


def estimate_rows(question: Question, places: Sequence[Ranked]) -> tuple[EstimateRow, ...]:
    """Return one row for each quantization, most faithful first.

    If GPUs are named a row is the best run config on the machine of the first of `places`; else the
    memory on the requested number of GPUs, under the usual engine.
    """
    study = question.study.with_quants(question.selection.shown)
    machine = places[0].fit.machine if places else None
    rows = []
    for pair in question.selection.shown:
        fit = _fit(study, machine, pair) if machine else None
        estimate = fit.estimate if fit else _unfitted(study, pair, question.request.gpu_count or 1)
        rows.append(_row(question, pair, estimate, fit))
    return tuple(rows)


def _fit(study: Study, machine: Machine, pair: QuantPair) -> Fit:
    alone = study.with_fixed_quants([pair])
    return Fit.from_config(alone, best_config(alone, machine))


def shown_estimates(question: Question) -> list[MemoryEstimate]:
    """Return the memory at each quantization, on the requested GPUs and its usual engine."""
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
    is_named = ALL_QUANTS not in question.request.quants or len(question.selection.shown) == 1
    is_made = profile.quantization is not None and not native
    wider = is_gguf or quant.order < question.selection.native.order
    return EstimateRow(
        estimate=estimate,
        parameters=profile.parameters,
        needs_original_weights=is_made and (wider or _loses_less(question, estimate)),
        fit=fit,
        making=quantization_job(profile, estimate) if is_named else None,
        **_gguf_files(estimate, profile),
    )


def _loses_less(question: Question, estimate: MemoryEstimate) -> bool:
    # Nothing that is made of a checkpoint loses less than the checkpoint itself.
    devices = question.request.gpu_count or 1
    stored = _unfitted(question.study, (question.selection.native, True), devices)
    return quality_at(estimate).word.rank < quality_at(stored).word.rank


def _gguf_files(estimate: MemoryEstimate, profile: ModelProfile) -> dict[str, int]:
    # Parts of GGUF files next to the tensors of the text, and apart from them. A plain checkpoint
    # is converted for engines that read nothing else.
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
    """Yield a note for each quantization whose most downloaded repository has another size.

    Publishers leave parts wide that a recipe by its name alone would narrow (attention in FP8 or 16
    bits in most NVFP4 files), so the note names the existing file if the Hub's listing has its
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
