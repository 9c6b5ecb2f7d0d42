"""Predictions for a run that a log describes, by the code that answers requests.

The steps are those of bench/start_up_logs.py and bench/llama_cpp.py, which score published rows: a
card of exactly the memory the engine saw, the checkpoint as stored, no candidate left out by a
ranking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpusizer.answers.logs.log_comparison import Predict, Predicted, Prediction
from gpusizer.answers.logs.run_request import SERVING, LogRequest
from gpusizer.answers.requests.request import SizeRequest
from gpusizer.answers.requests.request_fields import NATIVE_QUANT
from gpusizer.answers.requests.selection import select_quants
from gpusizer.answers.sizer import Sizer
from gpusizer.core.byte_ranges import Amount
from gpusizer.core.errors import UnknownQuant
from gpusizer.core.messages import Note
from gpusizer.fit.fit import Fit
from gpusizer.fit.machine import Machine
from gpusizer.fit.study import QuantOption, QuantPair, Study
from gpusizer.fit.way import memory_of
from gpusizer.fit.ways import whole_way
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.memory.engines import Split, find_engine
from gpusizer.memory.engines.base import cache_bytes
from gpusizer.memory.engines.llama_cpp import BACKEND_CLASSES
from gpusizer.memory.quants import find_quant
from gpusizer.memory.quants.table import as_published
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Part

# Supplies facts that a log does not state; the memory is always that of the log.
_ANY_GPU = "h100-sxm-80gb"
_CONVERTED = {"fp8": "fp8", "bitsandbytes": "bnb-nf4"}  # vLLM and SGLang, while loading
_ANY_QUANT = "gguf-f16"  # cache and compute buffers do not depend on it
_TEXT = (Part.TEXT, Part.MTP, Part.ENCODER)  # GGUF keeps towers in a file of their own


def predictor(sizer: Sizer) -> Predict:
    """A function that predicts runs with this sizer's models and catalogue.

    It raises any GpusizerError of reading the model or of values that no request may have.
    """

    def predict(request: LogRequest) -> Prediction:
        size_request = SizeRequest.from_fields(request.fields)
        profile = sizer.profile(size_request)
        workload = size_request.workload
        if "context" not in request.fields and profile.max_context:
            workload = replace(workload, context=profile.max_context)
        make = _serving if request.engine in SERVING else _llama
        return make(request, profile, workload, sizer.catalogue)

    return predict


def _serving(
    request: LogRequest, profile: ModelProfile, workload: Workload, catalogue: Catalogue
) -> Prediction:
    native = request.quantization not in _CONVERTED or profile.quantization is not None
    quant = _stored(profile)[0] if native else find_quant(_CONVERTED[request.quantization])
    named = request.gpu_in(catalogue)
    study = Study(profile, workload, [(quant, native)])
    split = Split(workload.tensor_parallel or 1, workload.pipeline_parallel or 1)
    machine = Machine.of(_card(request, catalogue), split.gpus)
    way = whole_way(study, machine, QuantOption(quant, native, find_engine(request.engine)), split)
    assert way is not None  # the log states how the model is divided
    fit = Fit.of(study, way)
    knows_memory = named is not None or request.memory_bytes is not None
    notes = [] if named else [Note("log_gpu_unknown", value=request.gpu or "—")]
    if knows_memory and workload.memory_utilization is None:
        notes.append(Note("log_default_utilization", share=fit.estimate.utilization))
    amounts = [*_serving_amounts(study, fit), *(_pool_amounts(fit) if knows_memory else ())]
    return Prediction(
        repo=profile.repo_id,
        quant=quant.slug,
        native=native,
        gpu=named.slug if named else "",
        even=grows_evenly(profile),
        amounts=tuple(amounts),
        notes=tuple(notes),
    )


def _card(request: LogRequest, catalogue: Catalogue) -> Gpu:
    """One device of the card, with the memory that the log states; an unknown one has no other."""
    gpu = request.gpu_in(catalogue)
    if gpu is not None and request.memory_bytes is None:
        memory, torch_memory = gpu.device_memory_bytes, gpu.device_torch_memory_bytes
    else:
        memory = torch_memory = request.memory_bytes or 0
    gpu = gpu or catalogue.find(_ANY_GPU)
    return replace(gpu, memory_bytes=memory, torch_memory_bytes=torch_memory, devices_per_board=1)


def _serving_amounts(study: Study, fit: Fit) -> Iterator[Predicted]:
    """Amounts per GPU that do not depend on its memory."""
    estimate, workload = fit.estimate, study.workload
    per_gpu, engine, placement = estimate.per_gpu, estimate.engine, estimate.placement
    eager, captured = (
        engine.overhead(replace(placement, workload=replace(workload, enforce_eager=enforced)))
        for enforced in (True, False)
    )
    sequence, cells = per_gpu.kv_cache.likely, engine.kv_cell_multiple
    yield _of("weights", per_gpu.weights)
    yield _of("weights_and_non_torch", per_gpu.weights + eager.inside)
    yield _of("activations", per_gpu.activations)
    yield _of("non_torch", eager.inside)
    yield _exact("kv_per_token", sequence / (-(-workload.context // cells) * cells))
    yield _exact("kv_per_sequence", sequence)
    if not workload.enforce_eager:
        with_graphs, without = (held.inside + held.outside for held in (captured, eager))
        yield _exact("graphs", with_graphs.likely - without.likely)


def _pool_amounts(fit: Fit) -> Iterator[Predicted]:
    """The pool of the KV cache on a card of known memory, and how many sequences it holds."""
    granted, sequence = granted_pool(fit), fit.estimate.per_gpu.kv_cache.likely
    yield granted
    if sequence:
        yield granted.over(sequence, "max_concurrency")


def granted_pool(fit: Fit) -> Predicted:
    """The KV cache pool, with the band of what is in the engine's share beside it."""
    estimate, per_gpu = fit.estimate, fit.estimate.per_gpu
    if estimate.engine.budget_rule != "whole":
        return _exact("kv_pool", fit.kv_pool_bytes)
    budget = int(memory_of(estimate.engine, fit.gpu) * estimate.utilization)
    used = per_gpu.weights + per_gpu.activations + per_gpu.overhead
    low, high = (max(0, budget - part) for part in (used.high, used.low))
    return Predicted("kv_pool", fit.kv_pool_bytes, low, high)


def _llama(
    request: LogRequest, profile: ModelProfile, workload: Workload, catalogue: Catalogue
) -> Prediction:
    is_gguf = profile.format == "gguf"
    if not is_gguf:
        profile = _text_only(profile)
    known_quant = _stored(profile) if is_gguf else _gguf_quant(request)
    quant, native = known_quant or (find_quant(_ANY_QUANT), False)
    engine, backend = find_engine(request.engine), BACKEND_CLASSES[request.backend.lower()]
    study = Study(profile, workload, [(quant, native)])
    on_one_gpu, shared = (
        study.estimate(quant, native, engine, Split(pipeline=gpus), backend)
        for gpus in (1, max(1, request.gpus))
    )
    anywhere = replace(workload, gpu_layers=None, cpu_moe=False)
    placement = replace(on_one_gpu.placement, workload=anywhere)
    compute = (on_one_gpu if workload.cpu_moe else shared).per_gpu.activations
    amounts = [_exact("kv_cache", cache_bytes(engine, placement)), _of("compute", compute)]
    if known_quant is not None:
        amounts.append(_exact("weights", on_one_gpu.sizes.total))
        amounts.append(_of("weights_on_gpus", on_one_gpu.per_gpu.weights))
    bases = profile.base_models if is_gguf else ()
    named = request.gpu_in(catalogue)
    return Prediction(
        repo=bases[0] if bases else profile.repo_id,
        quant=quant.slug,
        native=native,
        gpu=named.slug if named else "",
        even=grows_evenly(profile),
        amounts=tuple(amounts),
        gguf_repo=profile.repo_id if is_gguf else "",
        notes=() if known_quant else (Note("log_quant_unknown", value=request.quant or "—"),),
    )


def _gguf_quant(request: LogRequest) -> QuantPair | None:
    """The recipe a label stands for, as the file's publisher makes it where the log names one."""
    try:
        quant = as_published(find_quant(request.quant), request.publisher)
    except UnknownQuant:
        return None
    return (quant, False) if "llama.cpp" in quant.engines else None


def _text_only(profile: ModelProfile) -> ModelProfile:
    groups = tuple(group for group in profile.groups if group.part in _TEXT)
    return replace(profile, groups=groups, parameters=sum(group.parameters for group in groups))


def _stored(profile: ModelProfile) -> QuantPair:
    return select_quants((NATIVE_QUANT,), profile).native, True


def grows_evenly(profile: ModelProfile) -> bool:
    """Whether every token takes the same cache: no windows, no recurrent states."""
    arch = profile.architecture
    return arch is not None and all(run.layer.grows_evenly for run in arch.layer_plan)


def _of(name: str, amount: Amount) -> Predicted:
    return Predicted(name, amount.likely, amount.low, amount.high)


def _exact(name: str, value: float) -> Predicted:
    return Predicted(name, value, value, value)
