"""Question: a request about one model, studied once for everything that is said of it; and the
serving plan of one."""

from __future__ import annotations

from collections.abc import Sequence
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
    """A request, and the study of its model.

    Attributes:
        study: the model and the resolved workload, with the quantizations that a ranking may pick.
        selection: these, and those that the answer lists.
        wanted: the quantizations asked for, or that all may be taken.
        snapshot: what the model's repository holds.
        notes: what the reader must know of the workload and of the terms that were taken over.
    """

    request: SizeRequest
    snapshot: RepoSnapshot
    study: Study
    selection: QuantSelection
    wanted: tuple[str, ...]
    notes: tuple[Note, ...] = ()

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
        """Resolve the workload and select the quantizations of a request.

        `ref` is what the request's model names. Raises UnknownQuant, UnknownEngine and
        InvalidRequest.
        """
        wanted = asked_quants(request.quants, ref, profile)
        study, selection, notes = _studied(request, wanted, profile, budget)
        return cls(request, snapshot, study, selection, wanted, (*about, *notes))

    def of_another(self, profile: ModelProfile, budget: TimeBudget) -> Study:
        """The study of another model under the same request. Raises InvalidRequest where that
        model cannot do what is asked for.
        """
        return _studied(self.request, self.wanted, profile, budget)[0]

    @property
    def profile(self) -> ModelProfile:
        """The model."""
        return self.study.profile

    def with_quants(self, pairs: Sequence[QuantPair]) -> Question:
        """The same question about some of the quantizations."""
        return replace(self, study=self.study.with_quants(pairs))

    def asking(self, request: SizeRequest) -> Question:
        """The same model and workload, asked about with another request's GPUs, order and costs."""
        return replace(self, request=request)


def _studied(
    request: SizeRequest, wanted: tuple[str, ...], profile: ModelProfile, budget: TimeBudget
) -> tuple[Study, QuantSelection, tuple[Note, ...]]:
    """The study of a model as a request asks, its quantizations, and notes about the workload."""
    workload, notes = resolve_workload(request.workload, profile)
    load = request.load_within(workload)
    requirements = replace(request.requirements(wanted, request.min_tok_s), load=load)
    selection = select_quants(wanted, profile, workload.engine, requirements)
    selection = selection.cached_as(workload.kv_dtype)
    pickable = selection.rankable or selection.shown
    study = Study(profile, workload, selection.shown, budget, requirements).with_quants(pickable)
    return study, selection, notes


def serving_plan(
    question: Question, catalogue: Catalogue, named: Sequence[NamedGpu]
) -> ServingPlan | None:
    """Replicas that meet the request's target, None where it has none.

    GPUs that the request names are planned with alone, at the number of boards that it fixes for
    each, and at the reader's own prices; else those that pass the filters. Lengths left open share
    out a context that the model has. Raises InvalidRequest.
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
