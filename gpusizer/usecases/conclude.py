"""Conclusion of a studied question, from the places that were found for it."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.advice.conclusion.clauses import Conclusion, with_doubts
from gpusizer.advice.conclusion.fit import fit, need
from gpusizer.advice.conclusion.load import requests_served, users_served
from gpusizer.advice.ranking import Ranked, Ranking
from gpusizer.core.messages import Note
from gpusizer.serving.serving_rows import ServingPlan
from gpusizer.usecases.report import shown_estimates
from gpusizer.usecases.requests.question import Question
from gpusizer.usecases.siblings import Sibling


@dataclass(frozen=True, slots=True)
class Found:
    """Places where a model runs, and further findings about them."""

    ranking: Ranking  # the named GPUs in the request's order, or those of the catalogue
    rig: Ranked | None  # best run config on the machine that the request describes, if any
    serving_plan: ServingPlan | None  # replicas for a rate of requests, if the request states one
    sibling: Sibling | None  # a larger model that the best place also holds
    notes: tuple[Note, ...]  # notes on the search itself


def conclude(question: Question, found: Found) -> Conclusion:
    """Return the answer to the request's question, with what is unknown of the model."""
    return with_doubts(_concluded(question, found), question.profile)


def _concluded(question: Question, found: Found) -> Conclusion:
    profile, workload, kind = question.profile, question.study.workload, question.request.kind
    places = found.ranking.places if found.rig is None else (found.rig,)
    if found.serving_plan is not None:
        return requests_served(profile, found.serving_plan, shown_estimates(question))
    if kind == "load":
        return users_served(profile, workload, places, found.ranking.alternatives)
    offered = found.sibling.notes if found.sibling else ()
    if kind == "fit" and places:
        return fit(profile, workload, places, offered)
    memory = shown_estimates(question)
    return need(profile, workload, places, found.ranking.alternatives, memory, offered)
