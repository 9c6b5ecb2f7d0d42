"""Predictions for a run that a log describes: the sizer's answer to the request that states it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from gpusizer.core.byte_ranges import Amount
from gpusizer.core.errors import UnknownQuant
from gpusizer.core.loose_values import Arguments
from gpusizer.core.messages import Note
from gpusizer.core.units import MIB
from gpusizer.fit.run_config import memory_of
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.logs.log_comparison import Predict, Predicted, Prediction
from gpusizer.logs.run_request import SERVING, LogRequest
from gpusizer.memory.engines import Split
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.model.profile import ModelProfile
from gpusizer.usecases.report import EstimateRow, estimate_rows
from gpusizer.usecases.requests.named_gpus import find_named
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.request_fields import NATIVE_QUANT
from gpusizer.usecases.sizer import Sizer

_CONVERTED = {"fp8": "fp8", "bitsandbytes": "bnb-nf4"}  # vLLM and SGLang, while loading
_CAST = "bf16"
_ANY_QUANT = "gguf-f16"  # cache and compute buffers do not depend on it
_BIG_GPU = "h100-sxm-80gb"  # most cards of its memory have NVLink, which no description says
_ALIKE = 0.1  # of a card's memory: what drivers and ECC take off is less


def predictor(sizer: Sizer) -> Predict:
    """Return a function that predicts runs with this sizer's models and catalogue.

    It raises any GpusizerError of the question.
    """

    def predict(request: LogRequest) -> Prediction:
        named = request.gpu_in(sizer.catalogue)
        profile = sizer.profile(SizeRequest.from_fields(request.fields))
        if request.engine in SERVING:
            quant, card = _serving_quant(request, profile), _card(request, sizer.catalogue)
            question = _question(sizer, request, profile, {"quant": quant, **card})
            predicted = _serving(request, question, _row(sizer, question), named)
        else:
            quant = _gguf_quant(request, profile)
            question = _question(sizer, request, profile, {"quant": quant or _ANY_QUANT})
            predicted = _llama(request, question, _row(sizer, question), knows_quant=bool(quant))
        return replace(predicted, gpu=named.slug if named else "", even=grows_evenly(profile))

    return predict


def _question(
    sizer: Sizer, request: LogRequest, profile: ModelProfile, about: Arguments
) -> Question:
    # An engine, and so the request, can be made to run a length that it refuses by default
    # (VLLM_ALLOW_LONG_MAX_MODEL_LEN); a length that the log does not state is the model's.
    ran = SizeRequest.from_fields(request.fields).workload
    context = ran.context if "context" in request.fields else profile.max_context or ran.context
    fields = {k: v for k, v in request.fields.items() if k not in ("context", "kv_dtype")}
    question = sizer.question(SizeRequest.from_fields({**fields, **about, "card": False}))
    return replace(
        question, study=question.study.with_workload(context=context, kv_dtype=ran.kv_dtype)
    )


def _row(sizer: Sizer, question: Question) -> EstimateRow:
    request = question.request
    named = find_named(request.gpus, request.gpu_count, sizer.catalogue, request.own_memory)
    (row,) = estimate_rows(question, list(sizer.places(question, named, advised=False)))
    return row


def _card(request: LogRequest, catalogue: Catalogue) -> Arguments:
    # The card's name, else the memory that the engine saw. A part of a card (MIG) is described by
    # its memory, from which engines choose their defaults.
    seen, named = request.memory_bytes, request.gpu_in(catalogue)
    if named is None and seen is not None:
        named = catalogue.find(_BIG_GPU)
    if named is not None and _is_whole(request, named):
        return {"gpu": named.slug, "gpu_count": request.gpus // named.devices_per_board}
    if seen is None:
        return {}
    return {"gpu": f"custom:{seen / MIB:.3f}MiB", "gpu_count": request.gpus}


def _is_whole(request: LogRequest, card: Gpu) -> bool:
    # Any part of unified memory counts as whole.
    seen, usual = request.memory_bytes, card.device_torch_memory_bytes
    has_all = seen is None or card.is_integrated or abs(seen / usual - 1) < _ALIKE
    return has_all and request.gpus % card.devices_per_board == 0


def _serving_quant(request: LogRequest, profile: ModelProfile) -> str:
    # A plain checkpoint may be converted or cast.
    if profile.quantization is not None:
        return NATIVE_QUANT
    runs = request.engine in native_quant(profile).engines
    stored = NATIVE_QUANT if runs else _CAST  # SGLang casts FP32 (srt/configs/model_config.py)
    return _CONVERTED.get(request.quantization, stored)


def _serving(
    request: LogRequest, question: Question, row: EstimateRow, named: Gpu | None
) -> Prediction:
    estimate, notes = row.estimate, []
    amounts = list(_serving_amounts(request, question, estimate))
    if named is None:
        notes.append(Note("log_gpu_unknown", value=request.gpu or "—"))
    if row.fit is not None:
        # The engine's share is one of what it saw, which a catalogue has for no card exactly.
        memory = request.memory_bytes or memory_of(estimate.engine, row.fit.gpu)
        amounts += _pool_amounts(estimate, memory)
        if question.study.workload.memory_utilization is None:
            notes.append(Note("log_default_utilization", share=estimate.utilization))
    return _prediction(question, estimate, amounts, notes)


def _serving_amounts(
    request: LogRequest, question: Question, estimate: MemoryEstimate
) -> Iterator[Predicted]:
    # Amounts per GPU that do not depend on its memory; graphs are the difference to a run without.
    # SGLang's option `disable_cuda_graph` counts here although its estimates do not depend on it.
    workload, cells = question.study.workload, estimate.engine.kv_cell_multiple
    eager, captured = (
        question.study.with_workload(enforce_eager=enforced).reestimate(estimate).per_gpu
        for enforced in (True, False)
    )
    sequence = eager.kv_cache.likely
    yield _of("weights", eager.weights)
    yield _of("weights_and_non_torch", eager.weights + eager.overhead)
    yield _of("activations", estimate.per_gpu.activations)
    yield _of("non_torch", eager.overhead)
    yield _exact("kv_per_token", sequence / (-(-workload.context // cells) * cells))
    yield _exact("kv_per_sequence", sequence)
    if not request.fields.get("enforce_eager"):
        with_graphs, without = (held.overhead + held.outside for held in (captured, eager))
        yield _exact("graphs", with_graphs.likely - without.likely)


def _pool_amounts(estimate: MemoryEstimate, memory_bytes: int) -> Iterator[Predicted]:
    pool, per_gpu = estimate.pool_bytes(memory_bytes), estimate.per_gpu
    granted = _exact("kv_pool", pool)
    if estimate.engine.budget_rule == "whole":  # with the band of what is in its share beside it
        used = per_gpu.weights + per_gpu.activations + per_gpu.overhead
        budget = int(memory_bytes * estimate.utilization)
        granted = replace(granted, low=max(0, budget - used.high), high=max(0, budget - used.low))
    yield granted
    if per_gpu.kv_cache.likely:
        yield granted.over(per_gpu.kv_cache.likely, "max_concurrency")


def _llama(
    request: LogRequest, question: Question, row: EstimateRow, *, knows_quant: bool
) -> Prediction:
    estimate, study = row.estimate, question.study
    # Tensors placed by name keep GPUs from working in a pipeline (llama-context.cpp).
    computing = study.reestimate(estimate, Split()) if study.workload.cpu_moe else estimate
    everywhere = study.with_workload(gpu_layers=None, cpu_moe=False).reestimate(estimate, Split())
    amounts = [
        _exact("kv_cache", everywhere.per_gpu.kv_cache.likely),
        _of("compute", computing.per_gpu.activations),
    ]
    if knows_quant:
        amounts.append(_exact("weights", estimate.loaded_bytes))
        amounts.append(_of("weights_on_gpus", estimate.all_gpus.weights))
    unknown = Note("log_quant_unknown", value=request.quant or "—")
    return _prediction(question, estimate, amounts, [] if knows_quant else [unknown])


def _gguf_quant(request: LogRequest, profile: ModelProfile) -> str:
    # The file of a GGUF repository, else the recipe of a label, as the publisher makes it if the
    # log names one; "" for an unknown label.
    if profile.format == "gguf":
        return NATIVE_QUANT
    for slug in (f"{request.quant}@{request.publisher.lower()}", request.quant):
        with suppress(UnknownQuant):
            quant = find_quant(slug)
            return quant.slug if request.engine in quant.engines else ""
    return ""


def _prediction(
    question: Question, estimate: MemoryEstimate, amounts: list[Predicted], notes: list[Note]
) -> Prediction:
    profile = question.profile
    is_gguf = profile.format == "gguf"
    bases = profile.base_models if is_gguf else ()
    return Prediction(
        repo=bases[0] if bases else profile.repo_id,
        quant=estimate.quant.slug,
        native=estimate.native,
        gpu="",
        even=False,
        amounts=tuple(amounts),
        gguf_repo=profile.repo_id if is_gguf else "",
        notes=tuple(notes),
    )


def grows_evenly(profile: ModelProfile) -> bool:
    """Return whether every token takes the same cache: no windows, no recurrent states."""
    arch = profile.architecture
    return arch is not None and all(run.layer.grows_evenly for run in arch.layer_plan)


def _of(name: str, amount: Amount) -> Predicted:
    return Predicted(name, amount.likely, amount.low, amount.high)


def _exact(name: str, value: float) -> Predicted:
    return Predicted(name, value, value, value)
