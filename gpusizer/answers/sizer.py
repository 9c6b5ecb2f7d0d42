"""Sizer: the use cases. It gets snapshots from a function and never touches the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gpusizer.answers.comparison import ComparedGpu, Comparison, GpuListing, nothing_found
from gpusizer.answers.drafting import as_authors_draft, read_draft
from gpusizer.answers.model_card.asking import Asking
from gpusizer.answers.model_card.card_answer import answer_card, with_authors_terms
from gpusizer.answers.models_for.model_library import ModelLibrary
from gpusizer.answers.models_for.models_answer import ModelsFor
from gpusizer.answers.models_for.service import models_for
from gpusizer.answers.named_gpus import (
    NamedGpu,
    advised_on_named,
    as_requested,
    boards_of,
    find_named,
)
from gpusizer.answers.own_fields import unnamed_notes
from gpusizer.answers.planning import serving_plan
from gpusizer.answers.report import EstimateRow, Report
from gpusizer.answers.request import (
    ALL_QUANTS,
    NATIVE_QUANT,
    CompareRequest,
    ListingRequest,
    SizeRequest,
)
from gpusizer.answers.resolution import resolve_workload
from gpusizer.answers.selection import QuantSelection, select_quants
from gpusizer.core.errors import ModelUnreadable
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.core.units import significant
from gpusizer.fit.filters import board_limits, most_boards, narrowed
from gpusizer.fit.fit import OFFLOAD_ENGINES, Fitter, asked_split, device_class_of
from gpusizer.fit.mixed_gpus import build_rig, parse_rig
from gpusizer.fit.mixed_gpus.machine import Rig
from gpusizer.fit.mixed_gpus.rig_plan import plan_rig
from gpusizer.fit.ranking import Ranked, Ranking, rank_gpus
from gpusizer.gpus import Catalogue
from gpusizer.gpus.own_cards import OwnCards, with_used_memory
from gpusizer.hub.model_ref import ParseRef, check_revision, is_repo_id, parse_model_ref
from gpusizer.hub.quantized_repos import Lister, QuantizedRepo
from gpusizer.hub.snapshot import Fetch, RepoSnapshot
from gpusizer.memory.engines import Engine, Split
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.projector import projector_bytes
from gpusizer.memory.quants.gguf import Gguf, header_bytes
from gpusizer.model.profile import ModelProfile, build_profile

_CARD_SECONDS = 0.5
"""Processor time for the statements of a model card, beside that of the answer."""


class Sizer:
    """Answers requests from a snapshot source and a GPU catalogue.

    `quantized_repos` lists a model's published quantizations, for requests that ask; `library`
    holds the models to choose from when a request names none; `parse` reads what was pasted;
    `new_budget` gives each answer its time.
    """

    def __init__(
        self,
        fetch: Fetch,
        catalogue: Catalogue,
        quantized_repos: Lister | None = None,
        library: ModelLibrary | None = None,
        parse: ParseRef = parse_model_ref,
        new_budget: Callable[[], TimeBudget] = TimeBudget,
    ) -> None:
        self.fetch = fetch
        self.catalogue = catalogue
        self.quantized_repos = quantized_repos
        self.library = library
        self.parse = parse
        self.new_budget = new_budget

    def reading(self, fetch: Fetch) -> Sizer:
        """A Sizer that reads another source of snapshots."""
        return Sizer(
            fetch, self.catalogue, self.quantized_repos, self.library, self.parse, self.new_budget
        )

    def size(self, fields: Mapping[str, Any]) -> Report:
        """Profile, memory at every wanted quantization, and ranked GPUs.

        Raises any GpusizerError: bad fields, unknown GPUs, unreadable repositories, and
        LimitsExceeded where the answer takes too long.
        """
        request = SizeRequest.from_fields(fields)
        snapshot = self.snapshot(request)
        budget = self.new_budget()
        profile = self._profile_of(request, snapshot, budget)
        about: tuple[Note, ...] = ()
        if request.as_card:
            terms, note = with_authors_terms(fields, snapshot.card, profile)
            request, profile, unread = as_authors_draft(terms, profile, self.fetch, budget)
            about = (note, *unread)
        report = self._report(request, profile, budget)
        if snapshot.card is not None and request.card:
            asking = Asking(profile, self.catalogue, request, TimeBudget(_CARD_SECONDS))
            report = replace(report, model_card=answer_card(snapshot.card, asking))
        return replace(report, notes=(*about, *report.notes))

    def profile(self, request: SizeRequest) -> ModelProfile:
        """The profile of the requested model."""
        return build_profile(self.snapshot(request))

    def _profile_of(
        self, request: SizeRequest, snapshot: RepoSnapshot, budget: TimeBudget
    ) -> ModelProfile:
        """The profile of a snapshot, with the draft model that the request names."""
        return read_draft(request, build_profile(snapshot), self.fetch, self.parse, budget)

    def snapshot(self, request: SizeRequest) -> RepoSnapshot:
        """What the requested model's repository holds. Raises as `size` does."""
        ref = self.parse(request.model)
        if request.revision:
            ref = replace(ref, revision=check_revision(request.revision))
        if request.file:
            ref = replace(ref, file=request.file)
        if not request.card:
            ref = replace(ref, reads_card=False)
        return self.fetch(ref)

    def _report(self, request: SizeRequest, profile: ModelProfile, budget: TimeBudget) -> Report:
        boards = boards_of(request, request.gpu_count)
        named = find_named(request.gpus, boards, self.catalogue, request.own_memory)
        workload, notes = resolve_workload(request.workload, profile)
        quants = self._quants(request, profile)
        selection = select_quants(quants, profile, workload.engine)
        shown = Fitter(profile, workload, selection.shown, budget)
        ranker = Fitter(profile, workload, selection.rankable, budget)
        about: tuple[Note, ...] = ()
        if named:
            ranking = Ranking(as_requested(self.placed(ranker, named), ranker, request))
        else:
            ranking, about = self._ranked(ranker, request)
        rig = None
        if request.rig:
            notes += (Note("draft_not_in_rig"),) if profile.draft else ()
            rig = plan_rig(ranker, self._rig(request))
        published, problems = self._published(request, profile)
        return Report(
            request=request,
            profile=profile,
            workload=workload,
            estimates=_rows(shown, selection, named[0] if named else None, request.gpu_count),
            ranking=ranking.places,
            alternatives=ranking.alternatives,
            notes=(*notes, *about, *_stated_elsewhere(request), *problems),
            quantized_repos=published,
            rig=rig,
            serving_plan=serving_plan(request, profile, quants, self.catalogue, named, budget),
        )

    def placed(self, ranker: Fitter, named: Sequence[NamedGpu]) -> list[Ranked]:
        """The best way to run the model on each named GPU; benchmarks leave the advice out."""
        return advised_on_named(ranker, named)

    def _ranked(self, ranker: Fitter, request: SizeRequest) -> tuple[Ranking, tuple[Note, ...]]:
        """The ranking of what passes the filters, and what the reader must know about these."""
        catalogue = narrowed(self.catalogue, request.filters.groups)
        catalogue = with_used_memory(catalogue, request.own_memory)
        limits = board_limits(catalogue, request.filters)
        ranking = rank_gpus(
            ranker,
            catalogue,
            request.rank_by,
            request.top,
            assumptions=request.assumptions.without_own_prices,
            most_boards=limits,
            min_tok_s=request.min_tok_s,
        )
        notes = []
        if not catalogue.gpus:
            notes.append(Note("no_gpu_passes_filters"))
        elif not ranking.places and request.filters and not ranking.slower:
            notes.append(Note("filtered_gpus_do_not_run_it", count=len(catalogue.gpus)))
        if ranking.slower and request.min_tok_s is not None:
            notes.append(
                Note("slower_left_out", count=ranking.slower, tokens=significant(request.min_tok_s))
            )
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
        if not is_repo_id(base):  # a folder of this machine, whose name is nobody else's business
            return (), (Note("quantized_repos_not_listed", repo_id=base, reason="model_not_found"),)
        try:
            return self.quantized_repos(base, request.quantized_repos == "sizes"), ()
        except ModelUnreadable as error:
            return (), (Note("quantized_repos_not_listed", repo_id=base, reason=error.code),)

    def gpus(self, fields: Mapping[str, Any]) -> GpuListing:
        """GPUs that `query` names and that pass the filters, one board each.

        Raises InvalidRequest.
        """
        request = ListingRequest.from_fields(fields)
        passing = {
            gpu.slug
            for gpu in narrowed(self.catalogue, request.filters.groups).gpus
            if (most_boards(gpu, request.filters) or 0) >= 1
        }
        named = self.catalogue.search(request.query)
        if not named:
            return GpuListing((), nothing_found(request.query, self.catalogue))
        gpus = tuple(gpu for gpu in named if gpu.slug in passing)
        return GpuListing(gpus, () if gpus else (Note("no_gpu_passes_filters"),))

    def compare(self, fields: Mapping[str, Any]) -> Comparison:
        """GPUs side by side (`gpus`: names, with a count or not), with `model` how it runs on each.

        Raises any GpusizerError.
        """
        request = CompareRequest.from_fields(fields)
        boards = boards_of(request)
        named = find_named(request.compared, boards, self.catalogue, request.own_memory)
        if not request.model:
            return Comparison(tuple(ComparedGpu(*pair, None) for pair in named), None, None)
        snapshot = self.snapshot(request)
        budget = self.new_budget()
        profile = self._profile_of(request, snapshot, budget)
        workload, _ = resolve_workload(request.workload, profile)
        fitter = Fitter(
            profile,
            workload,
            select_quants(self._quants(request, profile), profile, workload.engine).rankable,
            budget,
        )
        ranking = as_requested(self.placed(fitter, named), fitter, request)
        items = (ComparedGpu(*pair, ranked) for pair, ranked in zip(named, ranking, strict=True))
        return Comparison(tuple(items), profile, workload)

    def models_for(self, fields: Mapping[str, Any]) -> ModelsFor:
        """Which models run on a GPU (`gpu`) or a machine (`rig`): of the library, or of `models`.

        Raises GpusizerErrors about the request; models that cannot be read are listed as such.
        """
        budget = self.new_budget()

        def read(model: str) -> ModelProfile:
            with budget.paused():
                snapshot = self.fetch(self.parse(model))
            budget.check(snapshot.repo_id)
            return build_profile(snapshot)

        return models_for(fields, self.catalogue, self.library, read, resolve_workload, budget)

    def _quants(self, request: SizeRequest, profile: ModelProfile) -> tuple[str, ...]:
        """Quantizations to answer for: of a GGUF repository only the file or tag that was named."""
        ref = self.parse(request.model)
        named = request.file or ref.file or ref.tag
        if profile.format == "gguf" and named and request.quants == (ALL_QUANTS,):
            return (NATIVE_QUANT,)
        return request.quants

    def _rig(self, request: SizeRequest) -> Rig:
        """The machine that the request names, with the memory and the disk that it states."""
        cards = OwnCards(self.catalogue, request.own_memory)
        return build_rig(
            parse_rig(request.rig, request.ram_bytes), cards, request.disk_bytes_per_second
        )


def _stated_elsewhere(request: SizeRequest) -> Iterator[Note]:
    """What becomes of fields that mean other requests than this one."""
    if request.gpus and request.filters:
        yield Note("filters_not_applied")
    if not request.gpus:
        if not request.rig:
            yield from unnamed_notes(request.own_memory, has_ram=bool(request.ram_gb))
        if request.assumptions.has_own_prices:
            yield Note("own_prices_need_a_gpu")
    if request.lacks_a_rate:
        yield Note("target_needs_a_rate")


def _rows(
    fitter: Fitter,
    selection: QuantSelection,
    named: NamedGpu | None,
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
                **_gguf_files(estimate, fitter.profile),
            )
        )
    return tuple(rows)


def _gguf_files(estimate: MemoryEstimate, profile: ModelProfile) -> dict[str, int]:
    """What GGUF files hold beside the tensors of the text, and apart from them.

    A plain checkpoint is converted for the engines that read nothing else.
    """
    if not isinstance(estimate.quant.layout, Gguf) and estimate.engine.slug not in OFFLOAD_ENGINES:
        return {}
    return {
        "header_bytes": header_bytes(profile.architecture),
        "projector_bytes": projector_bytes(profile, estimate.sizes),
    }


def _row_split(fitter: Fitter, engine: Engine, gpus: int) -> Split:
    requested = asked_split(fitter.workload)
    return requested or fitter.split(engine, gpus) or Split()
