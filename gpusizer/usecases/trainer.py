"""Use case of training: it turns the fields of a request into a TrainingReport."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpusizer.advice.policies import in_order
from gpusizer.core.messages import Note
from gpusizer.core.validation import fail
from gpusizer.fit.machine_parser import parse_kind
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.purchase import current_day
from gpusizer.gpus.user_gpus import with_used_memory
from gpusizer.model.profile import HEADERS, ModelProfile, build_profile
from gpusizer.training.fit import SOFTWARE, TrainingFit, TrainingFitter, cost_of, reasons_of
from gpusizer.training.frozen import leaves_experts_wide
from gpusizer.training.memory import TrainingEstimator
from gpusizer.training.mitigations import ladder, most
from gpusizer.training.plan import METHODS, TrainingPlan, with_precision, within
from gpusizer.training.ranking import POLICIES, RankedTraining, alternatives_of
from gpusizer.training.recommendation import score_training
from gpusizer.training.shape import TOWERS
from gpusizer.usecases.near_models import suggesting_models
from gpusizer.usecases.requests.named_gpus import find_named
from gpusizer.usecases.requests.request_fields import unnamed_notes
from gpusizer.usecases.requests.selection import refuse_tag
from gpusizer.usecases.requests.training_request import TrainingRequest
from gpusizer.usecases.sizer import Sizer
from gpusizer.usecases.training_report import (
    BytesPerParameter,
    TrainingEstimateRow,
    TrainingReport,
)


def train(sizer: Sizer, request: TrainingRequest) -> TrainingReport:
    """Return memory, speed, price and ranked GPUs of one training.

    Raises any GpusizerError: bad fields, unknown GPUs, unreadable repositories, and LimitsExceeded
    if the answer takes too long.
    """
    gpus = find_named(request.gpus, request.gpu_count, sizer.catalogue, request.own_memory)
    ranked = with_used_memory(sizer.catalogue, request.own_memory)
    with suggesting_models():
        snapshot = sizer.fetch(request.ref(sizer.parse))
    budget = sizer.new_budget()
    profile = build_profile(snapshot)
    refuse_tag(sizer.parse(request.model), profile)
    plan = within(request.plan, profile, request.given)
    fitter = TrainingFitter(TrainingEstimator(profile), plan, request.given, budget)
    fits = [_consulted(fitter, named.gpu, named.boards) for named in gpus]
    first = fits[0].plan if fits else _unplaced(fitter, request)
    device = fits[0].room_bytes if fits else None
    ranking = _placed(fitter, request, fits) if gpus else _ranked(fitter, ranked, request)
    estimates = _estimates(fitter, first, device)
    return TrainingReport(
        request=request,
        profile=profile,
        plan=first,
        estimates=estimates,
        ladder=ladder(fitter, first, device),
        ranking=ranking[: request.top or None] if not gpus else ranking,
        alternatives=() if gpus else alternatives_of(ranking),
        notes=(
            *request.about_machine,
            *_notes(profile, plan, estimates),
            *_lengths(fitter, first, device),
            *_unnamed(request),
        ),
        cheapest=() if gpus else _cheapest(fitter, ranked, request),
        counts_open=all(named.boards is None for named in gpus),
        on_one=_on_one(fitter, fits) if len(gpus) == 1 and gpus[0].boards is None else None,
    )


def _unplaced(fitter: TrainingFitter, request: TrainingRequest) -> TrainingPlan:
    # On the requested number, else on the fewest for its split.
    plans = fitter.plans(request.gpu_count or fitter.plan.gpus) or fitter.plans(fitter.plan.gpus)
    return plans[0]  # a plan always divides its own number of GPUs


def _consulted(fitter: TrainingFitter, gpu: Gpu, count: int | None) -> TrainingFit:
    # On the requested number of boards, else on the fewest that hold it, else on one machine.
    if count:
        fit = fitter.on(gpu, count)
        if fit is None:
            raise fail("gpu_count", count, "cannot_be_split")
        return fit
    fit = fitter.smallest(gpu)
    fit = fit or fitter.largest_tried(gpu) or fitter.on(gpu, fitter.plan.gpus)
    assert fit is not None  # a plan always divides its own number of GPUs
    return fit


def _on_one(fitter: TrainingFitter, fits: Sequence[TrainingFit]) -> TrainingFit | None:
    # The gentlest method that one board holds, where that of the request takes several.
    (fit,) = fits
    if fit.count == 1 or not fit.verdict.all_on_gpu:
        return None
    methods = ("qlora",) if fitter.plan.adapted else ("lora", "qlora")
    for method in methods:
        plan = with_precision(_by_method(fitter.plan, method), given="precision" in fitter.given)
        other = TrainingFitter(fitter.estimator, plan, fitter.given, fitter.budget)
        alone = other.on(fit.gpu, 1)
        if method != fitter.plan.method and alone is not None and alone.verdict.all_on_gpu:
            return alone
    return None


def _estimates(
    fitter: TrainingFitter, plan: TrainingPlan, device_bytes: int | None
) -> tuple[TrainingEstimateRow, ...]:
    # The requested method, then the others with the same settings, on the requested device.
    methods = [plan.method, *(method for method in METHODS if method != plan.method)]
    rows = []
    for method in methods:
        changed = _by_method(plan, method)
        changed = with_precision(changed, given="precision" in fitter.given)
        memory = fitter.memory(changed)
        rows.append(
            TrainingEstimateRow(
                plan=changed,
                memory=memory if device_bytes is None else memory.on(device_bytes),
                per_parameter=bytes_per_parameter(fitter.estimator, changed),
                asked=method == plan.method,
            )
        )
    return tuple(rows)


def _by_method(plan: TrainingPlan, method: str) -> TrainingPlan:
    # The width of frozen weights belongs to the requested method.
    return plan.changed(method=method, base=plan.base if method == plan.method else "auto")


def bytes_per_parameter(estimator: TrainingEstimator, plan: TrainingPlan) -> BytesPerParameter:
    """Return static bytes of a trained parameter and of a frozen one under this plan."""
    state = estimator.state(plan)
    trained = max(1, state.trainable)
    return BytesPerParameter(
        weights=state.trained / trained,
        gradients=state.gradients / trained,
        optimizer=state.optimizer / trained,
        masters=(state.masters + state.ema) / trained,
        frozen=state.frozen / max(1, state.frozen_parameters) if plan.adapted else None,
    )


def _placed(
    fitter: TrainingFitter, request: TrainingRequest, fits: list[TrainingFit]
) -> tuple[RankedTraining, ...]:
    # In the request's order, each with the largest sequence and batch that fit.
    return tuple(
        replace(
            _described(fitter, request, fit, rank),
            largest=most(fitter, fit),
        )
        for rank, fit in enumerate(fits, start=1)
    )


def _ranked(
    fitter: TrainingFitter, catalogue: Catalogue, request: TrainingRequest
) -> tuple[RankedTraining, ...]:
    # Each GPU with its smallest number that holds the training, sure fits first. Plans known to be
    # slower than requested are left out.
    roomy = request.rank_by == "recommended"
    items = []
    for gpu in catalogue.gpus:
        if gpu.software not in SOFTWARE or gpu.status == "announced":
            continue
        if request.gpu_count:
            fit = fitter.on(gpu, request.gpu_count, roomy=roomy)
        else:
            fit = fitter.smallest(gpu, roomy=roomy)
        if fit is not None and fit.verdict is not Verdict.DOES_NOT_FIT:
            items.append(_described(fitter, request, fit, 0))
    least = request.min_tok_s
    fast = [item for item in items if not least or item.score.fast_enough is not False]
    ordered = enumerate(in_order(fast, POLICIES[request.rank_by]), start=1)
    return tuple(replace(item, rank=rank) for rank, item in ordered)


def _cheapest(
    fitter: TrainingFitter, catalogue: Catalogue, request: TrainingRequest
) -> tuple[RankedTraining, ...]:
    # For each method the run with the lowest known cost.
    cheapest_first = request.model_copy(update={"rank_by": "cheapest"})
    cheapest = []
    for method in METHODS:
        plan = _by_method(fitter.plan, method)
        other = TrainingFitter(fitter.estimator, plan, fitter.given, fitter.budget)
        cheapest += [
            item
            for item in _ranked(other, catalogue, cheapest_first)[:1]
            if item.cost.usd is not None
        ]
    return tuple(cheapest)


def _described(
    fitter: TrainingFitter, request: TrainingRequest, fit: TrainingFit, rank: int
) -> RankedTraining:
    rate = fitter.rate(fit)
    tokens = request.dataset_tokens * request.epochs
    cost = cost_of(fit.gpu, fit.count, rate, tokens, request.usd_per_kwh)
    parameters = fitter.estimator.profile.parameters
    return RankedTraining(
        rank=rank,
        fit=fit,
        rate=rate,
        cost=cost,
        reasons=reasons_of(fit),
        score=score_training(fit, rate, cost, tokens, request.min_tok_s, current_day(), parameters),
    )


def _unnamed(request: TrainingRequest) -> tuple[Note, ...]:
    # Notes on memory that was stated without a GPU, and on system memory next to GPUs.
    if not request.gpus:
        return unnamed_notes(request.own_memory)
    beside = any(parse_kind(text).ram_bytes is not None for text in request.gpus)
    return (Note("training_ram_unused"),) if beside else ()


def _notes(
    profile: ModelProfile, plan: TrainingPlan, estimates: Sequence[TrainingEstimateRow]
) -> tuple[Note, ...]:
    notes = []
    arch = profile.architecture
    if profile.format == "diffusers":
        notes.append(Note("training_of_pipeline"))
    elif arch is None or not arch.generates or not arch.vocab_size:
        notes.append(Note("training_of_encoder"))
    if any(group.part in TOWERS for group in profile.groups):
        notes.append(Note("training_without_images"))
    if any(leaves_experts_wide(profile, row.plan) for row in estimates):
        notes.append(Note("training_of_experts", framework=plan.framework))
    if profile.weights_basis != HEADERS:
        notes.append(Note("training_without_tensors"))
    longest = profile.max_context
    if longest is not None and plan.sequence_length > longest:
        notes.append(Note("training_beyond_context", asked=plan.sequence_length, longest=longest))
    if profile.format == "gguf":
        notes.append(Note("training_of_gguf"))
    return tuple(notes)


def _lengths(
    fitter: TrainingFitter, plan: TrainingPlan, device_bytes: int | None
) -> tuple[Note, ...]:
    # A note on the memory that PyTorch reserves for varying lengths, if the plan allows that; no
    # more than the device has.
    varied = fitter.memory(plan.changed(packed=False))
    if device_bytes is not None:
        varied = varied.on(device_bytes)
    if plan.packed or plan.fused_loss or not varied.reclaimable.likely:
        return ()
    return (Note("training_lengths", shown_bytes=varied.total.likely),)
