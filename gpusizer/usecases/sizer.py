"""Sizer: the use cases. It gets snapshots from a function and never touches the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gpusizer.advice.conclusion.fit import best_of
from gpusizer.advice.in_turns import study_of
from gpusizer.advice.quant_tradeoff import shared_tradeoff
from gpusizer.advice.ranking import Ranked, Ranking, describe, rank_gpus
from gpusizer.core.errors import ModelUnreadable
from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.core.units import significant
from gpusizer.fit.filters import board_limits, most_boards, narrowed
from gpusizer.fit.machine import Machine, build_machine
from gpusizer.fit.machine_parser import parse_rig
from gpusizer.fit.preference import best_config, one_for_all
from gpusizer.fit.study import Study
from gpusizer.gpus import Catalogue
from gpusizer.gpus.own_memory import NOTHING_STATED, FreeMemory
from gpusizer.gpus.user_gpus import UserGpus, with_used_memory
from gpusizer.hub.listed_models import Lister, QuantizedRepo
from gpusizer.hub.model_ref import ModelRef, ParseRef, is_repo_id, parse_model_ref
from gpusizer.hub.pasted_model import pasted_model
from gpusizer.hub.snapshot import Fetch, RepoSnapshot
from gpusizer.model.profile import ModelProfile, build_profile
from gpusizer.usecases.comparison import ComparedGpu, Comparison, GpuListing, nothing_found
from gpusizer.usecases.conclude import Found, conclude
from gpusizer.usecases.loose_names import by_loose_names
from gpusizer.usecases.model_card.asking import Asking
from gpusizer.usecases.model_card.card_answer import (
    ModelCardAnswer,
    answer_card,
    with_authors_terms,
)
from gpusizer.usecases.models_for.model_library import ModelLibrary
from gpusizer.usecases.models_for.models_answer import ModelsFor
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.models_for.service import models_for
from gpusizer.usecases.near_models import suggesting_models
from gpusizer.usecases.report import Report, estimate_rows, published_notes
from gpusizer.usecases.requests.named_gpus import (
    NamedGpu,
    best_on_named,
    find_named,
    more_boards,
    ranked_on_named,
)
from gpusizer.usecases.requests.question import Question, serving_plan
from gpusizer.usecases.requests.request import CompareRequest, ListingRequest, SizeRequest
from gpusizer.usecases.requests.request_fields import unnamed_notes
from gpusizer.usecases.requests.resolution import as_authors_draft, read_draft
from gpusizer.usecases.siblings import Sibling, larger_sibling

_MOST_SHOWN_CHARS = 120
_NO_NOTES: tuple[Note, ...] = ()
_CARD_SECONDS = 0.5  # processor time for the statements of a model card, on top of the answer's


class Sizer:
    """Answers requests from a snapshot source and a GPU catalogue.

    `quantized_repos` lists a model's published quantizations, for requests that ask for them;
    `library` holds the models to choose from when a request names none; `parse` reads pasted
    models, with the loose names that people use; `new_budget` gives each answer its time.
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
        self.parse = by_loose_names(parse)
        self._parse = parse
        self.new_budget = new_budget

    def reading(self, fetch: Fetch) -> Sizer:
        """Return a Sizer that reads another source of snapshots."""
        return Sizer(
            fetch, self.catalogue, self.quantized_repos, self.library, self._parse, self.new_budget
        )

    def size(self, request: SizeRequest) -> Report:
        """Return profile, memory at every wanted quantization, and ranked GPUs.

        Raises any GpusizerError: bad fields, unknown GPUs, unreadable repositories, and
        LimitsExceeded if the answer takes too long.
        """
        return self.report(self.question(request))

    @suggesting_models()
    def question(self, request: SizeRequest) -> Question:
        """Read the model of a request and study it. Raises as `size` does."""
        ref = self._ref(request)
        snapshot = self.fetch(ref)
        budget = self.new_budget()
        profile = read_draft(request, self.profiled(snapshot), self.fetch, self.parse, budget)
        about: tuple[Note, ...] = _read_as(request.model, ref)
        if request.as_card:
            request, note = with_authors_terms(request, snapshot.card, profile)
            request, profile, unread = as_authors_draft(request, profile, self.fetch, budget)
            about = (*about, note, *unread)
        return Question.from_request(request, ref, snapshot, profile, budget, about)

    def report(self, question: Question) -> Report:
        """Return the complete answer to a studied question. Raises as `size` does."""
        request, found = question.request, self.found(question)
        published, problems = self._published(request, question.profile)
        rows = estimate_rows(question, found.ranking.places if request.gpus else ())
        files = tuple(published_notes(published or (), rows))
        return Report(
            request=request,
            profile=question.profile,
            workload=question.study.workload,
            estimates=rows,
            ranking=found.ranking.places,
            conclusion=conclude(question, found),
            alternatives=found.ranking.alternatives,
            notes=(
                *request.about_machine,
                *files,
                *question.notes,
                *found.notes,
                *_stated_elsewhere(request),
                *problems,
            ),
            quantized_repos=published,
            rig=found.rig,
            serving_plan=found.serving_plan,
            sibling=found.sibling,
            model_card=self._card(question),
        )

    def found(self, question: Question) -> Found:
        """Search the named GPUs or the catalogue, and the machine that the request describes.

        Raises as `size` does.
        """
        request = question.request
        named = find_named(request.gpus, request.gpu_count, self.catalogue, request.own_memory)
        if named:
            named_places = tuple(self.places(question, named))
            beside = more_boards(question.study, named, named_places, request)
            ranking, about = Ranking(named_places, beside), _NO_NOTES
        else:
            ranking, about = self._ranked(question)
        rig, about_rig = self._rig(question)
        places = ranking.places if rig is None else (rig,)
        return Found(
            ranking=ranking,
            rig=rig,
            serving_plan=serving_plan(question, self.catalogue, named),
            sibling=self._sibling(question, places[: None if named else 1]),
            notes=(*about_rig, *about),
        )

    @suggesting_models()
    def profile(self, request: SizeRequest) -> ModelProfile:
        """Return the profile of the requested model."""
        return self.profiled(self.fetch(self._ref(request)))

    def profiled(self, snapshot: RepoSnapshot) -> ModelProfile:
        """Build the profile of a snapshot, without a cache: no model is known to come again."""
        return build_profile(snapshot)

    def _ref(self, request: SizeRequest) -> ModelRef:
        # Reads the model card only if requested.
        ref = request.ref(self.parse)
        return ref if request.card else replace(ref, reads_card=False)

    def places(
        self, question: Question, named: Sequence[NamedGpu], *, advised: bool = True
    ) -> Iterator[Ranked]:
        """Yield the model's ranking entry on each named GPU."""
        for rank, gpu in enumerate(named, start=1):
            yield ranked_on_named(question.study, gpu, question.request, rank, advised=advised)

    def _ranked(self, question: Question) -> tuple[Ranking, tuple[Note, ...]]:
        # GPUs that pass the filters, with notes on these.
        request = question.request
        catalogue = narrowed(self.catalogue, request.filters.groups)
        catalogue = with_used_memory(catalogue, request.own_memory)
        limits = board_limits(catalogue, request.filters)
        ranking = rank_gpus(
            question.study,
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
        elif not ranking.places and not ranking.slower:
            if request.filters:
                notes.append(Note("filtered_gpus_do_not_run_it", count=len(catalogue.gpus)))
            else:
                notes.append(Note("no_gpu_runs_it", count=len(catalogue.gpus)))
        if ranking.slower and request.min_tok_s is not None:
            notes.append(
                Note("slower_left_out", count=ranking.slower, tokens=significant(request.min_tok_s))
            )
        if ranking.lossier:
            notes.append(Note("lossier_left_out", count=ranking.lossier))
        unknown = limits.count(None) if limits else 0
        if unknown:
            notes.append(Note("unknown_figures_left_out", count=unknown))
        return ranking, tuple(notes)

    def _rig(self, question: Question) -> tuple[Ranked | None, tuple[Note, ...]]:
        request, study = question.request, question.study
        if not request.rig:
            return None, ()
        notes = (Note("draft_not_in_rig"),) if question.profile.draft else ()
        return describe(study, best_config(study, self.machine(request)), rank=1), notes

    def machine(self, request: SizeRequest) -> Machine:
        """Return the machine that the request describes, with its stated memory and disk."""
        cards = UserGpus(self.catalogue, request.own_memory)
        words = parse_rig(request.rig, request.ram_bytes)
        return build_machine(
            words, cards, request.disk_bytes_per_second, request.ram_bytes_per_second
        )

    def _sibling(self, question: Question, places: Sequence[Ranked]) -> Sibling | None:
        # None for a request with a load.
        if not places or question.request.kind == "load":
            return None
        return larger_sibling(question, best_of(places), self.library)

    def _card(self, question: Question) -> ModelCardAnswer | None:
        card, request = question.snapshot.card, question.request
        if card is None or not request.card:
            return None
        budget = self.new_budget().of_seconds(_CARD_SECONDS)
        return answer_card(card, Asking(question.profile, self.catalogue, request, budget))

    def _published(
        self, request: SizeRequest, profile: ModelProfile
    ) -> tuple[tuple[QuantizedRepo, ...] | None, tuple[Note, ...]]:
        # The listing if requested: the model's own, or its original's for a quantization. A failed
        # listing leaves a note: the sizes are valid without it.
        if not request.quantized_repos or self.quantized_repos is None:
            return None, ()
        derived = profile.base_relation == "quantized" and profile.base_models
        base = profile.base_models[0] if derived else profile.repo_id
        if not is_repo_id(base):  # a folder of this machine, whose name is private
            return (), (Note("quantized_repos_not_listed", repo_id=base, reason="model_not_found"),)
        try:
            return self.quantized_repos(base, request.quantized_repos == "sizes"), ()
        except ModelUnreadable as error:
            return (), (Note("quantized_repos_not_listed", repo_id=base, reason=error.code),)

    def gpus(self, request: ListingRequest) -> GpuListing:
        """Return GPUs that `query` names and that pass the filters, one board each.

        Raises InvalidRequest.
        """
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

    def compare(self, request: CompareRequest) -> Comparison:
        """Return GPUs side by side, with `model` its run on each in one quantization for all.

        `gpus` are names, with or without a count. Raises any GpusizerError.
        """
        if request.model:
            return self.compared(self.question(request), request.compared, alike=True)
        return self.listed(request.compared, request.own_memory)

    def listed(self, gpus: Sequence[str], memory: FreeMemory = NOTHING_STATED) -> Comparison:
        """Return GPUs side by side without a model. Raises as `compare` does."""
        named = find_named(gpus, None, self.catalogue, memory)
        return Comparison(tuple(ComparedGpu(n.gpu, n.boards, None) for n in named), None, None)

    def compared(
        self,
        question: Question,
        gpus: Sequence[str],
        *,
        alike: bool = False,
        advised: bool = True,
    ) -> Comparison:
        """Return GPUs side by side, each with the run config that the ranking prefers.

        With `alike` one quantization is used for all. Raises as `compare` does.
        """
        asked, request = question.study, question.request
        named = find_named(gpus, None, self.catalogue, request.own_memory)
        if alike:
            configs = [best_on_named(asked, gpu, request) for gpu in named]
            # Machines that serve users in turns are judged by the users served at once.
            pair = one_for_all([(study_of(asked, config), config) for config in configs])
            if pair is not None:
                question = question.with_quants([pair])
                named = [replace(n, boards=w.boards) for n, w in zip(named, configs, strict=True)]
        return self._side_by_side(question, named, asked, advised=advised)

    def _side_by_side(
        self, question: Question, named: Sequence[NamedGpu], asked: Study, *, advised: bool = True
    ) -> Comparison:
        # `asked` is the study of all quantizations that could be chosen.
        places = list(self.places(question, named, advised=advised))
        items = (
            ComparedGpu(n.gpu, n.boards, place) for n, place in zip(named, places, strict=True)
        )
        alone = places if len(places) == 1 else []
        sibling = self._sibling(question, alone)
        lost = shared_tradeoff(asked, [place.fit.config for place in places])
        return Comparison(tuple(items), question.profile, question.study.workload, sibling, lost)

    def models_for(self, request: ModelsRequest) -> ModelsFor:
        """Return the models that run on a GPU (`gpu`) or a machine (`rig`).

        They come from the library or from `models`. Raises GpusizerErrors about the request;
        unreadable models are listed as such.
        """
        budget = self.new_budget()

        @suggesting_models()
        def read(model: str) -> tuple[ModelProfile, ModelRef]:
            ref = self.parse(model)
            with budget.paused():
                snapshot = self.fetch(ref)
            budget.check(snapshot.repo_id)
            return build_profile(snapshot), ref

        return models_for(request, self.catalogue, self.library, read, budget)


def _read_as(text: str, ref: ModelRef) -> tuple[Note, ...]:
    # The model that a name without an owner, or a text around one, was taken for.
    is_plain = "/" in text and pasted_model(text) is None
    if is_plain or "/" not in ref.repo_id:
        return ()
    shown = " ".join(text.split())[:_MOST_SHOWN_CHARS]
    return (Note("model_read_as", text=shown, repo_id=ref.repo_id),)


def _stated_elsewhere(request: SizeRequest) -> Iterator[Note]:
    # Fields that have no effect in this request.
    if request.gpus and request.filters:
        yield Note("filters_not_applied")
    if not request.gpus:
        if not request.rig:
            yield from unnamed_notes(request.own_memory, has_ram=bool(request.ram_gb))
        if request.assumptions.has_own_prices:
            yield Note("own_prices_need_a_gpu")
    if request.lacks_a_load(request.workload.concurrency):
        yield Note("target_needs_a_rate")
