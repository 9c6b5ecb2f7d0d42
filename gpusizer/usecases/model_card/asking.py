"""Requests in the terms of a model card's author, resolved as for every answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpusizer.core.time_budget import TimeBudget
from gpusizer.fit.machine import Machine
from gpusizer.fit.preference import best_config
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.study import Study
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.hub.card_statements import ModelCardStatement
from gpusizer.memory.engines import Engine, Split
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.quants import Quant
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.usecases.model_card.own_terms import quant_of, terms_of
from gpusizer.usecases.requests.request import AuthorTerms, SizeRequest
from gpusizer.usecases.requests.resolution import resolve_workload
from gpusizer.usecases.requests.selection import select_quants

_SHORT_CONTEXT = 1024


@dataclass(frozen=True, slots=True)
class Asked:
    """One request in the author's terms, ready to be estimated and fitted."""

    study: Study
    quant: Quant
    is_native: bool

    @property
    def workload(self) -> Workload:
        """The resolved workload."""
        return self.study.workload

    @property
    def engine(self) -> Engine:
        """The author's engine, else the first that runs the quantization."""
        return self.study.engines(self.quant)[0]

    def estimate(self, gpus: int) -> MemoryEstimate | None:
        """Return the memory on `gpus` GPUs, or None if the model cannot be divided by them."""
        split = self.study.split(self.engine, gpus) if gpus > 1 else Split()
        if split is None:
            return None
        return self.study.estimate(self.quant, self.is_native, self.engine, split)

    def band_bytes(self, gpus: int, *, short: bool) -> tuple[int, int] | None:
        """Return the ends of the memory of all GPUs, or None if they cannot share the model.

        With `short` the low end is that of a short context: the author names none.
        """
        estimate = self.estimate(gpus)
        if estimate is None:
            return None
        total = estimate.all_gpus.total
        if not short or self.workload.context <= _SHORT_CONTEXT:
            return total.low, total.high
        least = replace(self, study=self.study.with_workload(context=_SHORT_CONTEXT)).estimate(gpus)
        return (least.all_gpus.total.low if least else total.low), total.high

    def config(self, gpu: Gpu, boards: int) -> RunConfig:
        """Return the best run config on `boards` boards."""
        return best_config(self.study, Machine.with_boards(gpu, boards))


@dataclass(frozen=True, slots=True)
class Asking:
    """Facts for the requests of all statements of one card."""

    profile: ModelProfile
    catalogue: Catalogue
    request: SizeRequest  # the visitor's; its context applies if the author names none
    budget: TimeBudget  # time for all statements together

    def ask(self, statement: ModelCardStatement) -> Asked | None:
        """Return the author's request, or None if the quantization is not stated.

        Raises a GpusizerError for an invalid request.
        """
        if quant_of(statement, self.profile) is None:
            return None
        terms = {"context": self.request.context, **terms_of(statement, self.profile)}
        if statement.kind != "command":
            terms |= {"tensor_parallel": None, "pipeline_parallel": None}
        request = AuthorTerms.from_fields(terms)
        workload, _ = resolve_workload(request.workload, self.profile)
        selection = select_quants(request.quants, self.profile, workload.engine)
        quant, is_native = selection.shown[0]
        study = Study(self.profile, workload, selection.shown[:1], self.budget)
        return Asked(study, quant, is_native)
