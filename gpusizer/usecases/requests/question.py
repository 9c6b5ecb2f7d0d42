"""Question: a request about one model, studied once for all parts of the answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gpusizer.core.messages import Note
from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.filters import board_limits, narrowed
from gpusizer.fit.study import QuantPair, Study
from gpusizer.gpus import Catalogue
from gpusizer.gpus.user_gpus import with_used_memory
from gpusizer.hub.model_ref import ModelRef
from gpusizer.hub.snapshot import RepoSnapshot
from gpusizer.model.profile import ModelProfile
from gpusizer.serving.replicas import serving_workload
from gpusizer.serving.serving_plan import plan_serving
from gpusizer.serving.serving_rows import ServingPlan, joined
from gpusizer.usecases.requests.named_gpus import NamedGpu
from gpusizer.usecases.requests.request import SizeRequest
from gpusizer.usecases.requests.resolution import resolve_workload
from gpusizer.usecases.requests.selection import QuantSelection, asked_quants, select_quants


@dataclass(frozen=True, slots=True)
class Question:
    """A request, and the study of its model."""

    request: SizeRequest
    snapshot: RepoSnapshot  # content of the model's repository
    study: Study  # model and resolved workload, with the quantizations that a ranking may pick
    selection: QuantSelection  # these, and those that the answer lists
    wanted: tuple[str, ...]  # requested quantizations, or that all may be taken
    notes: tuple[Note, ...] = ()  # notes on the workload and on terms that were taken over

    @classmethod
    def from_request(
        cls,
        request: SizeRequest,
        ref: ModelRef,
        snapshot: RepoSnapshot,
        profile: ModelProfile,
        budget: TimeBudget,
        about: tuple[Note, ...] = (),
    ) -> Question:
        """Return the question with resolved workload and selected quantizations.

        `ref` is the reference in the request's model. Raises UnknownQuant, UnknownEngine and
        InvalidRequest.
        """
        wanted = asked_quants(request.quants, ref, profile)
        study, selection, notes = _studied(request, wanted, profile, budget)
        notes = (*about, *notes, *_stretched(snapshot, profile, request.context))
        return cls(request, snapshot, study, selection, wanted, notes)

    def of_another(self, profile: ModelProfile, budget: TimeBudget) -> Study:
        """Return the study of another model under this request.

        Raises InvalidRequest if that model cannot do what is requested.
        """
        return _studied(self.request, self.wanted, profile, budget)[0]

    @property
    def profile(self) -> ModelProfile:
        """Profile of the model."""
        return self.study.profile

    def with_quants(self, pairs: Sequence[QuantPair]) -> Question:
        """Return the question limited to some of the quantizations."""
        return replace(self, study=self.study.with_quants(pairs))

    def asking(self, request: SizeRequest) -> Question:
        """Return the question with another request's GPUs, order and costs."""
        return replace(self, request=request)


def _studied(
    request: SizeRequest, wanted: tuple[str, ...], profile: ModelProfile, budget: TimeBudget
) -> tuple[Study, QuantSelection, tuple[Note, ...]]:
    # The study, the selected quantizations, and notes on the workload.
    workload, notes = resolve_workload(request.workload, profile)
    load = request.load_within(workload)
    requirements = replace(request.requirements(wanted, request.min_tok_s), load=load)
    selection = select_quants(wanted, profile, workload.engine, requirements)
    selection = selection.cached_as(workload.kv_dtype)
    pickable = selection.rankable or selection.shown
    study = Study(profile, workload, selection.shown, budget, requirements).with_quants(pickable)
    return study, selection, notes


def _stretched(snapshot: RepoSnapshot, profile: ModelProfile, asked: int) -> Iterator[Note]:
    # The longer context that the model's card reaches with YaRN, if a request exceeds its own.
    native, card = profile.max_context, snapshot.card
    if native is None or asked <= native or card is None:
        return
    extended = [said for said in card.statements if said.native_context and said.context]
    longest = max((said.context or 0 for said in extended), default=0)
    if longest > native:
        original = extended[0].native_context or native
        yield Note("context_by_yarn", longest=longest, original=original)


def serving_plan(
    question: Question, catalogue: Catalogue, named: Sequence[NamedGpu]
) -> ServingPlan | None:
    """Return replicas that meet the request's target, or None without a target.

    Named GPUs are planned alone, at the stated number of boards and the user's own prices; else all
    that pass the filters. Open lengths share a context that the model has. Raises InvalidRequest.
    """
    request, profile = question.request, question.profile
    longest = profile.max_context
    pictures = question.study.workload.image_tokens
    context = min(request.context, (longest or request.context + pictures) - pictures)
    target = request.target_within(context, pictures)
    if target is None:
        return None
    sequence = serving_workload(request.workload, target, longest)
    workload, _ = resolve_workload(sequence, profile)
    asked, assumptions = question.study, request.assumptions
    if "hours_per_day" not in request.model_fields_set:  # a service runs day and night
        assumptions = replace(assumptions, hours_per_day=24.0)
    study = Study(profile, workload, asked.quants, asked.budget, asked.requirements)
    if named:
        plans = [
            plan_serving(study, Catalogue((n.gpu,)), target, assumptions, boards=[n.boards])
            for n in named
        ]
        return joined(plans).beside_apis(profile.repo_id)
    passing = narrowed(catalogue, request.filters.groups)
    passing = with_used_memory(passing, request.own_memory)
    plan = plan_serving(
        study,
        passing,
        target,
        assumptions.without_own_prices,
        boards=[request.gpu_count] * len(passing.gpus),
        most_boards=board_limits(passing, request.filters),
        top=request.top,
    )
    return plan.beside_apis(profile.repo_id)
