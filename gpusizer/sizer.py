"""Sizer: the use cases. Handed a way to fetch snapshots, it never knows about networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gpusizer.engines import Split, find_engine
from gpusizer.errors import InvalidRequest
from gpusizer.fit import COUNTS, Fitter, Verdict, device_class_of, max_cards, split_for
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.hub_id import ModelRef, parse_model_ref
from gpusizer.memory import MemoryEstimate
from gpusizer.profile import ModelProfile, build_profile
from gpusizer.quants import Quant, all_quants, find_quant
from gpusizer.quants.native import native_quant
from gpusizer.ranking import Ranked, describe, rank_gpus
from gpusizer.report import EstimateRow, Report
from gpusizer.request import ALL_QUANTS, NATIVE_QUANT, SizeRequest, parse_size_request
from gpusizer.snapshot import RepoSnapshot
from gpusizer.support import runs_on
from gpusizer.workload import Workload

Fetch = Callable[[ModelRef], RepoSnapshot]

_VERDICT_ORDER = {verdict: place for place, verdict in enumerate(Verdict)}


@dataclass(frozen=True, slots=True)
class _Selection:
    """Quantizations to show, and those a ranking may pick."""

    shown: tuple[tuple[Quant, bool], ...]
    rankable: tuple[tuple[Quant, bool], ...]
    native: Quant


class Sizer:
    """Answers requests from a snapshot source and a GPU catalogue."""

    def __init__(self, fetch: Fetch, catalogue: Catalogue) -> None:
        self.fetch = fetch
        self.catalogue = catalogue

    def size(self, fields: Mapping[str, Any]) -> Report:
        """Profile, memory at every wanted quantization, and ranked GPUs.

        Raises any GpusizerError: bad fields, unknown GPUs, unreadable repositories.
        """
        request = parse_size_request(fields)
        return self._report(request, self.profile(request))

    def profile(self, request: SizeRequest) -> ModelProfile:
        """The profile of the requested model."""
        ref = parse_model_ref(request.model)
        if request.revision:
            ref = replace(ref, revision=request.revision)
        if request.file:
            ref = replace(ref, file=request.file)
        return build_profile(self.fetch(ref))

    def _report(self, request: SizeRequest, profile: ModelProfile) -> Report:
        gpus = [self.catalogue.find(text) for text in request.gpus]
        workload = _resolved(request.workload, profile)
        selection = _select(request.quants, profile)
        shown = Fitter(profile, workload, selection.shown)
        ranker = Fitter(profile, workload, selection.rankable)
        if gpus:
            ranking = self._on_named(ranker, gpus, request.gpu_count)
        else:
            ranking = rank_gpus(ranker, self.catalogue, request.rank_by, request.top)
        return Report(
            request=request,
            profile=profile,
            workload=workload,
            estimates=_rows(shown, selection, request, gpus[:1]),
            ranking=ranking,
        )

    def _on_named(
        self, fitter: Fitter, gpus: Sequence[Gpu], boards: int | None
    ) -> tuple[Ranked, ...]:
        """Each named GPU once, in the order given, also where nothing fits."""
        return tuple(best_on(fitter, gpu, boards, rank) for rank, gpu in enumerate(gpus, start=1))


def best_on(fitter: Fitter, gpu: Gpu, boards: int | None, rank: int) -> Ranked:
    """The best way to run the model on one kind of GPU.

    The smallest count with the best verdict; at equal count the most faithful quantization.
    When nothing fits, the least demanding candidate tells how much is missing.
    """
    counts = [boards] if boards else [n for n in COUNTS if n <= max_cards(gpu)]
    options = [
        (boards_tried, estimate)
        for boards_tried in counts
        for estimate in _estimates_on(fitter, gpu, boards_tried)
    ]
    if not options:
        raise InvalidRequest(field="gpu_count", value=str(boards), reason="cannot_be_split")
    count, estimate = min(options, key=lambda option: _preference(fitter, gpu, *option))
    return describe(fitter, gpu, count, estimate, rank)


def _preference(fitter: Fitter, gpu: Gpu, boards: int, estimate: MemoryEstimate) -> tuple[int, ...]:
    verdict = fitter.verdict(gpu, estimate)
    if verdict in (Verdict.FITS, Verdict.TIGHT):
        return (_VERDICT_ORDER[verdict], boards, estimate.quant.order)
    return (_VERDICT_ORDER[verdict], -estimate.headroom_bytes(gpu.device_memory_bytes), boards)


def _estimates_on(fitter: Fitter, gpu: Gpu, boards: int) -> list[MemoryEstimate]:
    """One estimate per quantization, with the first of its engines that runs on the GPU."""
    made = []
    for quant, native in fitter.quants:
        engines = fitter.engines(quant)
        engine = next((e for e in engines if runs_on(quant, e, gpu)), None)
        if engine is None and len(fitter.quants) > 1:
            continue
        engine = engine or engines[0]  # nothing runs it: the verdict will say so
        split = split_for(engine, fitter.profile, boards * gpu.devices_per_board)
        if split is not None:
            device_class = device_class_of(engine, gpu)
            made.append(fitter.estimate(quant, native, engine, split, device_class))
    return made


def _resolved(workload: Workload, profile: ModelProfile) -> Workload:
    """The workload with the default context shortened to what the model allows."""
    if workload.engine is not None:
        find_engine(workload.engine)
    longest = profile.max_context
    if longest is not None and workload.context > longest:
        return replace(workload, context=longest)
    return workload


def _select(wanted: Sequence[str], profile: ModelProfile) -> _Selection:
    native = native_quant(profile)
    table = [quant for quant in all_quants() if quant.slug != native.slug]
    everything = sorted([native, *table], key=lambda quant: quant.order)
    if ALL_QUANTS in wanted:
        shown = everything
        rankable = [quant for quant in everything if _worth_ranking(quant, native, profile)]
    else:
        shown = [native if slug == NATIVE_QUANT else _find(slug, native) for slug in wanted]
        rankable = shown
    return _Selection(_paired(shown, native), _paired(rankable, native), native)


def _paired(quants: Sequence[Quant], native: Quant) -> tuple[tuple[Quant, bool], ...]:
    return tuple((quant, quant.slug == native.slug) for quant in quants)


def _find(slug: str, native: Quant) -> Quant:
    return native if slug.lower() == native.slug else find_quant(slug)


def _worth_ranking(quant: Quant, native: Quant, profile: ModelProfile) -> bool:
    """Widths people use, and none above what a quantized checkpoint still holds."""
    if profile.quantization is not None and quant.order < native.order:
        return False
    return quant.recommended


def _rows(
    fitter: Fitter, selection: _Selection, request: SizeRequest, named: Sequence[Gpu]
) -> tuple[EstimateRow, ...]:
    rows = []
    quantized = fitter.profile.quantization is not None
    for quant, native in selection.shown:
        engine = fitter.engines(quant)[0]
        gpu = named[0] if named else None
        boards = request.gpu_count or 1
        split = _split(fitter, quant, boards * (gpu.devices_per_board if gpu else 1))
        device_class = device_class_of(engine, gpu) if gpu else 0
        estimate = fitter.estimate(quant, native, engine, split, device_class)
        rows.append(
            EstimateRow(
                estimate=estimate,
                needs_original_weights=quantized and quant.order < selection.native.order,
                fit=fitter.fit(gpu, boards, estimate) if gpu else None,
            )
        )
    return tuple(rows)


def _split(fitter: Fitter, quant: Quant, gpus: int) -> Split:
    """The parallelism asked for, else the engine's own way to use that many GPUs."""
    workload = fitter.workload
    if workload.tensor_parallel or workload.pipeline_parallel:
        return Split(workload.tensor_parallel or 1, workload.pipeline_parallel or 1)
    return split_for(fitter.engines(quant)[0], fitter.profile, gpus) or Split()
