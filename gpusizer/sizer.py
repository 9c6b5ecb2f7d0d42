"""Sizer: the use cases. Handed a way to fetch snapshots, it never knows about networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpusizer.comparison import Compared, Comparison
from gpusizer.engines import Engine, Split, find_engine
from gpusizer.fit import Fitter, asked_split, device_class_of
from gpusizer.gpu_request import parse_gpu_request
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.hub_id import ModelRef, parse_model_ref
from gpusizer.notes import Note
from gpusizer.placement import best_on
from gpusizer.profile import ModelProfile, build_profile
from gpusizer.ranking import rank_gpus
from gpusizer.report import EstimateRow, Report
from gpusizer.request import (
    SizeRequest,
    parse_gpu_list,
    parse_size_request,
)
from gpusizer.selection import Selection, select_quants
from gpusizer.snapshot import RepoSnapshot
from gpusizer.workload import DEFAULT_CONTEXT, Workload

# Fields that only engines with rules by version have an answer to, and their defaults.
_BY_VERSION: dict[str, Any] = {"engine_version": None, "text_only": False, "draft_tokens": 0}

Fetch = Callable[[ModelRef], RepoSnapshot]

# Fields that requests may carry but that change no number yet; saying so beats ignoring them.
_NOT_MODELLED = ("expert_parallel", "gpu_layers", "batch_size")


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

    def fitter(self, fields: Mapping[str, Any]) -> Fitter:
        """What a ranking for this request chooses from. Raises as `size` does."""
        request = parse_size_request(fields)
        profile = self.profile(request)
        workload, _ = _resolved(request.workload, profile)
        return Fitter(
            profile, workload, select_quants(request.quants, profile, workload.engine).rankable
        )

    def profile(self, request: SizeRequest) -> ModelProfile:
        """The profile of the requested model."""
        ref = parse_model_ref(request.model)
        if request.revision:
            ref = replace(ref, revision=request.revision)
        if request.file:
            ref = replace(ref, file=request.file)
        return build_profile(self.fetch(ref))

    def _report(self, request: SizeRequest, profile: ModelProfile) -> Report:
        named = self._named(request.gpus, request.gpu_count)
        workload, notes = _resolved(request.workload, profile)
        selection = select_quants(request.quants, profile, workload.engine)
        shown = Fitter(profile, workload, selection.shown)
        ranker = Fitter(profile, workload, selection.rankable)
        if named:
            ranking = tuple(
                best_on(ranker, gpu, count, rank)
                for rank, (gpu, count) in enumerate(named, start=1)
            )
        else:
            ranking = rank_gpus(ranker, self.catalogue, request.rank_by, request.top)
        return Report(
            request=request,
            profile=profile,
            workload=workload,
            estimates=_rows(shown, selection, named[0] if named else None, request.gpu_count),
            ranking=ranking,
            notes=notes,
        )

    def compare(self, fields: Mapping[str, Any]) -> Comparison:
        """GPUs side by side (`gpus`: names, with a count or not), with `model` how it runs on each.

        Raises any GpusizerError.
        """
        values = dict(fields)
        asked = self._named(parse_gpu_list(values.pop("gpus", None)), None)
        request = parse_size_request(values)
        if not request.model:
            return Comparison(tuple(Compared(gpu, n, None) for gpu, n in asked), None, None)
        profile = self.profile(request)
        workload, _ = _resolved(request.workload, profile)
        fitter = Fitter(
            profile, workload, select_quants(request.quants, profile, workload.engine).rankable
        )
        items = tuple(
            Compared(gpu, count, best_on(fitter, gpu, count, rank))
            for rank, (gpu, count) in enumerate(asked, start=1)
        )
        return Comparison(items, profile, workload)

    def _named(self, texts: Sequence[str], count: int | None) -> list[tuple[Gpu, int | None]]:
        """GPUs by name; a count written before a name wins over `count`."""
        asked = [parse_gpu_request(text) for text in texts]
        return [(self.catalogue.find(one.name), one.count or count) for one in asked]


def _resolved(workload: Workload, profile: ModelProfile) -> tuple[Workload, tuple[Note, ...]]:
    """The workload within what the model allows, and what the reader must know about that."""
    if workload.engine is not None:
        workload = replace(workload, engine=find_engine(workload.engine).slug)
    notes = []
    unused = [name for name in _NOT_MODELLED if getattr(workload, name) is not None]
    if not _has_versions(workload.engine):
        ignored = [name for name in _BY_VERSION if getattr(workload, name) != _BY_VERSION[name]]
        unused = [*ignored, *unused]
        workload = replace(workload, **{name: _BY_VERSION[name] for name in ignored})
    if unused:
        notes.append(Note("not_modelled", facts=", ".join(unused)))
    longest = profile.max_context
    if longest is not None and workload.context > longest:
        if workload.context != DEFAULT_CONTEXT:
            notes.append(Note("context_shortened", asked=workload.context, longest=longest))
        workload = replace(workload, context=longest)
    return workload, tuple(notes)


def _has_versions(engine: str | None) -> bool:
    """Whether a version of this engine changes numbers; of no engine in particular it cannot."""
    return engine is not None and find_engine(engine).versioned


def _rows(
    fitter: Fitter,
    selection: Selection,
    named: tuple[Gpu, int | None] | None,
    boards: int | None,
) -> tuple[EstimateRow, ...]:
    """One row per quantization, for one GPU's share when a GPU or a count was named."""
    gpu, boards = named or (None, boards)
    boards = boards or 1
    rows = []
    quantized = fitter.profile.quantization is not None
    for quant, native in selection.shown:
        engine = fitter.engines(quant)[0]
        split = _row_split(fitter, engine, boards * (gpu.devices_per_board if gpu else 1))
        device_class = device_class_of(engine, gpu) if gpu else 0
        estimate = fitter.estimate(quant, native, engine, split, device_class)
        rows.append(
            EstimateRow(
                estimate=estimate,
                parameters=fitter.profile.parameters,
                needs_original_weights=quantized and quant.order < selection.native.order,
                fit=fitter.fit(gpu, boards, estimate) if gpu else None,
            )
        )
    return tuple(rows)


def _row_split(fitter: Fitter, engine: Engine, gpus: int) -> Split:
    asked = asked_split(fitter.workload)
    return asked or fitter.split(engine, gpus) or Split()
