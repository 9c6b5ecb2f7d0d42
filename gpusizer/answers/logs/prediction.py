"""Predictions for a run that a log describes, by the code that answers requests.

The steps are those of bench/serving.py and bench/llama_cpp.py, which score published rows: a card
of exactly the memory the engine saw, the checkpoint as stored, no candidate left out by a ranking.
"""

from __future__ import annotations

from dataclasses import replace

from gpusizer.answers.logs.log_comparison import Predict, Predicted, Prediction
from gpusizer.answers.logs.run_request import SERVING, LogRequest
from gpusizer.answers.request import NATIVE_QUANT, SizeRequest
from gpusizer.answers.selection import select_quants
from gpusizer.answers.sizer import Sizer
from gpusizer.core.byte_ranges import Amount
from gpusizer.core.errors import UnknownGpu, UnknownQuant
from gpusizer.core.messages import Note
from gpusizer.fit.fit import Fit, Fitter, device_class_of, memory_of
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.memory.engines import Split, find_engine
from gpusizer.memory.engines.llama_cpp import CUDA, METAL, ROCM, SYCL, VULKAN
from gpusizer.memory.quants import Quant, find_quant
from gpusizer.memory.quants.table import as_published
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Attention
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Part

# Supplies facts that a log does not state; the memory is always that of the log.
_ANY_GPU = "h100-sxm-80gb"
_CONVERTED = {"fp8": "fp8", "bitsandbytes": "bnb-nf4"}  # vLLM and SGLang, while loading
_ANY_QUANT = "gguf-f16"  # cache and compute buffers do not depend on it
_BACKENDS = {"CUDA": CUDA, "ROCm": ROCM, "SYCL": SYCL, "Metal": METAL, "Vulkan": VULKAN}
_TEXT = (Part.TEXT, Part.MTP, Part.ENCODER)  # GGUF keeps towers in a file of their own
_GROWS_EVENLY = {Attention.FULL, Attention.MLA, Attention.NONE, Attention.CROSS}


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
    quant = _stored(profile) if native else find_quant(_CONVERTED[request.quantization])
    gpu, notes = _card(request, catalogue)
    fitter = Fitter(profile, workload, [(quant, native)])
    engine = find_engine(request.engine)
    split = Split(workload.tensor_parallel or 1, workload.pipeline_parallel or 1)
    estimate = fitter.estimate(quant, native, engine, split, device_class_of(engine, gpu))
    fit = fitter.fit(gpu, split.gpus, estimate)
    has_memory = request.memory_bytes is not None or not notes
    if has_memory and "memory_utilization" not in request.fields:
        notes = (*notes, Note("log_default_utilization", share=estimate.utilization))
    return Prediction(
        repo=profile.repo_id,
        quant=quant.slug,
        native=native,
        gpu=gpu.slug if not notes or notes[0].code != "log_gpu_unknown" else "",
        even=_even(profile),
        amounts=_serving_amounts(fitter, fit, pool=has_memory),
        notes=notes,
    )


def _serving_amounts(fitter: Fitter, fit: Fit, *, pool: bool) -> tuple[Predicted, ...]:
    """Amounts per GPU; the pool and its capacity only where the card's memory is known."""
    estimate = fit.estimate
    per_gpu, engine, workload = estimate.per_gpu, estimate.engine, fitter.workload
    eager, captured = (
        engine.overhead(
            fitter.profile,
            replace(workload, enforce_eager=enforced),
            estimate.split,
            estimate.device_class,
        )
        for enforced in (True, False)
    )
    graphs = (captured.inside + captured.outside).likely - (eager.inside + eager.outside).likely
    block = engine.kv_cell_multiple
    sequence = per_gpu.kv_cache.likely
    amounts = [
        _of("weights", per_gpu.weights),
        _of("weights_and_non_torch", per_gpu.weights + eager.inside),
        _of("activations", per_gpu.activations),
        _of("non_torch", eager.inside),
        _exact("kv_per_token", sequence / (-(-workload.context // block) * block)),
        _exact("kv_per_sequence", sequence),
    ]
    if not workload.enforce_eager:
        amounts.append(_exact("graphs", graphs))
    if pool:
        granted = _granted(fit)
        amounts.append(granted)
        if sequence:
            amounts.append(
                Predicted(
                    "max_concurrency",
                    *(part / sequence for part in (granted.likely, granted.low, granted.high)),
                )
            )
    return tuple(amounts)


def _granted(fit: Fit) -> Predicted:
    """The KV cache pool, with the band of what is in the engine's share beside it."""
    estimate = fit.estimate
    if estimate.engine.budget_rule != "whole":
        return _exact("kv_pool", fit.kv_pool_bytes)
    budget = int(memory_of(estimate.engine, fit.gpu) * estimate.utilization)
    used = estimate.per_gpu.weights + estimate.per_gpu.activations + estimate.per_gpu.overhead
    low, high = (max(0, budget - part) for part in (used.high, used.low))
    return Predicted("kv_pool", fit.kv_pool_bytes, low, high)


def _card(request: LogRequest, catalogue: Catalogue) -> tuple[Gpu, tuple[Note, ...]]:
    """The catalogue's card of that name, with the memory that the log states."""
    notes: tuple[Note, ...] = ()
    memory = request.memory_bytes
    try:
        gpu = catalogue.find(request.gpu)
    except UnknownGpu:
        gpu = catalogue.find(_ANY_GPU)
        memory = memory or 0
        notes = (Note("log_gpu_unknown", value=request.gpu or "—"),)
    torch_memory = memory
    if memory is None:
        memory, torch_memory = gpu.device_memory_bytes, gpu.device_torch_memory_bytes
    alone = replace(gpu, memory_bytes=memory, torch_memory_bytes=torch_memory, devices_per_board=1)
    return alone, notes


def _llama(
    request: LogRequest, profile: ModelProfile, workload: Workload, catalogue: Catalogue
) -> Prediction:
    is_gguf = profile.format == "gguf"
    if not is_gguf:
        profile = _text_only(profile)
    known_quant = (_stored(profile), True) if is_gguf else _gguf_quant(request, profile)
    quant, native = known_quant or (find_quant(_ANY_QUANT), False)
    engine, backend = find_engine(request.engine), _BACKENDS[request.backend]
    fitter = Fitter(profile, workload, [(quant, native)])
    on_one_gpu, shared = (
        fitter.estimate(quant, native, engine, Split(pipeline=gpus), backend)
        for gpus in (1, max(1, request.gpus))
    )
    anywhere = replace(workload, gpu_layers=None, cpu_moe=False)
    cache = engine.sequence_bytes(
        profile.architecture, anywhere, Split(), backend, workload.context
    )
    by_hand = on_one_gpu if workload.cpu_moe else shared
    amounts = [
        _exact("kv_cache", cache * workload.concurrency),
        _of("compute", by_hand.per_gpu.activations),
    ]
    if known_quant is not None:
        amounts.append(_exact("weights", on_one_gpu.sizes.total))
        amounts.append(_of("weights_on_gpus", on_one_gpu.per_gpu.weights))
    bases = profile.base_models if is_gguf else ()
    return Prediction(
        repo=bases[0] if bases else profile.repo_id,
        quant=quant.slug,
        native=native,
        gpu=_slug(request.gpu, catalogue),
        even=_even(profile),
        amounts=tuple(amounts),
        gguf_repo=profile.repo_id if is_gguf else "",
        notes=() if known_quant else (Note("log_quant_unknown", value=request.quant or "—"),),
    )


def _gguf_quant(request: LogRequest, profile: ModelProfile) -> tuple[Quant, bool] | None:
    """The recipe a label stands for, as the file's publisher makes it where the log names one."""
    try:
        quant = as_published(find_quant(request.quant), request.publisher)
    except UnknownQuant:
        return None
    return (quant, False) if "llama.cpp" in quant.engines else None


def _text_only(profile: ModelProfile) -> ModelProfile:
    groups = tuple(group for group in profile.groups if group.part in _TEXT)
    return replace(profile, groups=groups, parameters=sum(group.parameters for group in groups))


def _stored(profile: ModelProfile) -> Quant:
    return select_quants((NATIVE_QUANT,), profile).native


def _even(profile: ModelProfile) -> bool:
    """Whether every token takes the same cache: no windows, no recurrent states."""
    arch = profile.architecture
    return arch is not None and all(s.attention in _GROWS_EVENLY for s in arch.layer_plan)


def _slug(name: str, catalogue: Catalogue) -> str:
    try:
        return catalogue.find(name).slug
    except UnknownGpu:
        return ""


def _of(name: str, amount: Amount) -> Predicted:
    return Predicted(name, amount.likely, amount.low, amount.high)


def _exact(name: str, value: float) -> Predicted:
    return Predicted(name, value, value, value)
