"""Sizer: the use cases. Handed a way to fetch snapshots, it never knows about networks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from gpusizer.engines import Engine, Split
from gpusizer.errors import ModelUnreadable
from gpusizer.filters import board_limits, most_boards, narrowed
from gpusizer.fit import Fitter, asked_split, device_class_of
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.hub_id import ModelRef, check_revision, parse_model_ref
from gpusizer.model_tree import Lister, QuantizedRepo
from gpusizer.notes import Note
from gpusizer.profile import ModelProfile, build_profile
from gpusizer.quants import Quant
from gpusizer.quants.gguf import Gguf, header_bytes
from gpusizer.ranking import Ranked, rank_gpus
from gpusizer.report import EstimateRow, Report
from gpusizer.request import (
    ALL_QUANTS,
    NATIVE_QUANT,
    SizeRequest,
    parse_gpu_list,
    parse_listing,
    parse_size_request,
)
from gpusizer.resolution import resolve_workload
from gpusizer.selection import Selection, every_quant, select_quants
from gpusizer.snapshot import RepoSnapshot

if TYPE_CHECKING:
    from gpusizer.comparison import Comparison
    from gpusizer.models_for.answer import ModelsFor
    from gpusizer.models_for.shelf import Shelf

Fetch = Callable[[ModelRef], RepoSnapshot]


class Sizer:
    """Answers requests from a snapshot source and a GPU catalogue.

    `quantized_repos` lists a model's published quantizations, for requests that ask; `shelf` holds
    the models to choose from when a request names none.
    """

    def __init__(
        self,
        fetch: Fetch,
        catalogue: Catalogue,
        quantized_repos: Lister | None = None,
        shelf: Shelf | None = None,
    ) -> None:
        self.fetch = fetch
        self.catalogue = catalogue
        self.quantized_repos = quantized_repos
        self.shelf = shelf

    def reading(self, fetch: Fetch) -> Sizer:
        """The same with another source of snapshots."""
        return Sizer(fetch, self.catalogue, self.quantized_repos, self.shelf)

    def size(self, fields: Mapping[str, Any]) -> Report:
        """Profile, memory at every wanted quantization, and ranked GPUs.

        Raises any GpusizerError: bad fields, unknown GPUs, unreadable repositories.
        """
        request = parse_size_request(fields)
        return self._report(request, self.profile(request))

    def profile(self, request: SizeRequest) -> ModelProfile:
        """The profile of the requested model."""
        return build_profile(self.snapshot(request))

    def snapshot(self, request: SizeRequest) -> RepoSnapshot:
        """What the requested model's repository holds. Raises as `size` does."""
        ref = parse_model_ref(request.model)
        if request.revision:
            ref = replace(ref, revision=check_revision(request.revision))
        if request.file:
            ref = replace(ref, file=request.file)
        return self.fetch(ref)

    def _report(self, request: SizeRequest, profile: ModelProfile) -> Report:
        named = self._named(request.gpus, request.gpu_count)
        workload, notes = resolve_workload(request.workload, profile)
        selection = select_quants(_quants(request, profile), profile, workload.engine)
        shown = Fitter(profile, workload, selection.shown)
        ranker = Fitter(profile, workload, selection.rankable)
        if named:
            ranking = _priced(_placed(ranker, named), request)
            about: tuple[Note, ...] = ()
            if request.filters:
                about = (Note("filters_not_applied"),)
        else:
            ranking, about = self._ranked(ranker, request)
        rig = None
        if request.rig:
            # Loaded when asked for, as `gpusizer.models_for` is.
            rigs, plan = import_module("gpusizer.rig"), import_module("gpusizer.rig.plan")
            rig = plan.plan_rig(ranker, rigs.build_rig(rigs.parse_rig(request.rig), self.catalogue))
        published, problems = self._published(request, profile)
        return Report(
            request=request,
            profile=profile,
            workload=workload,
            estimates=_rows(shown, selection, named[0] if named else None, request.gpu_count),
            ranking=ranking,
            notes=(*notes, *about, *problems),
            quantized_repos=published,
            rig=rig,
        )

    def _ranked(
        self, ranker: Fitter, request: SizeRequest
    ) -> tuple[tuple[Ranked, ...], tuple[Note, ...]]:
        """The ranking of what passes the filters, and what the reader must know about these."""
        catalogue = narrowed(self.catalogue, request.filters.groups)
        limits = board_limits(catalogue, request.filters)
        ranking = rank_gpus(
            ranker, catalogue, request.rank_by, request.top,
            assumptions=request.assumptions, most_boards=limits,
        )  # fmt: skip
        notes = []
        if not catalogue.gpus:
            notes.append(Note("no_gpu_passes_filters"))
        elif not ranking and request.filters:
            notes.append(Note("filtered_gpus_do_not_run_it", count=len(catalogue.gpus)))
        unknown = limits.count(None) if limits else 0
        if unknown:
            notes.append(Note("unknown_figures_left_out", count=unknown))
        return ranking, tuple(notes)

    def _published(
        self, request: SizeRequest, profile: ModelProfile
    ) -> tuple[tuple[QuantizedRepo, ...] | None, tuple[Note, ...]]:
        """The listing when asked for: the model's own, or its original's if it is a quantization.

        A listing that fails leaves a note: the sizes are there all the same.
        """
        if not request.quantized_repos or self.quantized_repos is None:
            return None, ()
        derived = profile.base_relation == "quantized" and profile.base_models
        base = profile.base_models[0] if derived else profile.repo_id
        try:
            return self.quantized_repos(base, request.quantized_repos == "sizes"), ()
        except ModelUnreadable as error:
            return (), (Note("quantized_repos_not_listed", repo_id=base, reason=error.code),)

    def gpus(self, fields: Mapping[str, Any]) -> list[Gpu]:
        """GPUs whose names hold every word of `query` and that pass the filters, one board each.

        Raises InvalidRequest.
        """
        query, filters = parse_listing(fields)
        found = narrowed(self.catalogue, filters.groups).search(query)
        return [gpu for gpu in found if (most_boards(gpu, filters) or 0) >= 1]

    def compare(self, fields: Mapping[str, Any]) -> Comparison:
        """GPUs side by side (`gpus`: names, with a count or not), with `model` how it runs on each.

        Raises any GpusizerError.
        """
        comparison = import_module("gpusizer.comparison")
        values = dict(fields)
        asked = self._named(parse_gpu_list(values.pop("gpus", None)), None)
        request = parse_size_request(values)
        if not request.model:
            alone = tuple(comparison.Compared(gpu, n, None) for gpu, n in asked)
            return cast("Comparison", comparison.Comparison(alone, None, None))
        profile = self.profile(request)
        workload, _ = resolve_workload(request.workload, profile)
        fitter = Fitter(
            profile,
            workload,
            select_quants(_quants(request, profile), profile, workload.engine).rankable,
        )
        placed = _priced(_placed(fitter, asked), request)
        items = (
            comparison.Compared(*one, ranked) for one, ranked in zip(asked, placed, strict=True)
        )
        return cast("Comparison", comparison.Comparison(tuple(items), profile, workload))

    def models_for(self, fields: Mapping[str, Any]) -> ModelsFor:
        """Which models run on a GPU (`gpu`) or a machine (`rig`): of the shelf, or of `models`.

        Raises GpusizerErrors about the request; models that cannot be read are listed as such.
        """
        # Loaded when asked for: no other question needs it, and a command line is short-lived.
        asking = import_module("gpusizer.models_for.asking")

        def read(model: str) -> ModelProfile:
            return build_profile(self.fetch(parse_model_ref(model)))

        found: ModelsFor = asking.models_for(
            fields, self.catalogue, self.shelf, read, resolve_workload
        )
        return found

    def _named(self, texts: Sequence[str], count: int | None) -> list[tuple[Gpu, int | None]]:
        """GPUs by name; a count written before a name wins over `count`."""
        parse_gpu_request = import_module("gpusizer.gpu_request").parse_gpu_request
        asked = [parse_gpu_request(text) for text in texts]
        return [(self.catalogue.find(one.name), one.count or count) for one in asked]


def _quants(request: SizeRequest, profile: ModelProfile) -> tuple[str, ...]:
    """Quantizations to answer for: of a GGUF repository only the file or tag that was named."""
    ref = parse_model_ref(request.model)
    named = request.file or ref.file or ref.tag
    if profile.format == "gguf" and named and request.quants == (ALL_QUANTS,):
        return (NATIVE_QUANT,)
    return request.quants


def _placed(fitter: Fitter, named: Sequence[tuple[Gpu, int | None]]) -> tuple[Ranked, ...]:
    """The best way to run the model on each of the named GPUs, with what more would fit."""
    placement = import_module("gpusizer.placement")
    profile, workload = fitter.profile, fitter.workload
    alternatives = Fitter(
        profile, workload, every_quant(profile, workload.engine, also=fitter.quants)
    )
    return tuple(
        placement.advised(placement.best_on(fitter, gpu, count, rank), fitter, alternatives, count)
        for rank, (gpu, count) in enumerate(named, start=1)
    )


def _priced(ranking: Sequence[Ranked], request: SizeRequest) -> tuple[Ranked, ...]:
    """The same with costs as the request assumes them."""
    return tuple(replace(item, assumptions=request.assumptions) for item in ranking)


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
    is_gguf = fitter.profile.format == "gguf"
    for quant, native in selection.shown:
        engine = fitter.engines(quant)[0]
        split = _row_split(fitter, engine, boards * (gpu.devices_per_board if gpu else 1))
        device_class = device_class_of(engine, gpu) if gpu else 0
        estimate = fitter.estimate(quant, native, engine, split, device_class)
        rows.append(
            EstimateRow(
                estimate=estimate,
                parameters=fitter.profile.parameters,
                needs_original_weights=quantized
                and not native
                and (is_gguf or quant.order < selection.native.order),
                fit=fitter.fit(gpu, boards, estimate) if gpu else None,
                header_bytes=_header_bytes(quant, fitter.profile),
            )
        )
    return tuple(rows)


def _header_bytes(quant: Quant, profile: ModelProfile) -> int:
    is_gguf = isinstance(quant.layout, Gguf)
    return header_bytes(profile.architecture) if is_gguf else 0


def _row_split(fitter: Fitter, engine: Engine, gpus: int) -> Split:
    asked = asked_split(fitter.workload)
    return asked or fitter.split(engine, gpus) or Split()
