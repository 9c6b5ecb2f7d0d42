"""Rows of an answer: the memory of a model at each quantization, and how each fits a named GPU."""

from __future__ import annotations

from collections.abc import Sequence

from gpusizer.answers.question import Question
from gpusizer.answers.report import EstimateRow
from gpusizer.fit.division import asked_split
from gpusizer.fit.fit import Fit
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference import best_way
from gpusizer.fit.ranking import Ranked
from gpusizer.fit.study import QuantPair, Study
from gpusizer.fit.ways import engines_of
from gpusizer.memory.engines import Split
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.projector import projector_bytes
from gpusizer.memory.quants.gguf import Gguf, header_bytes
from gpusizer.model.profile import ModelProfile


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
