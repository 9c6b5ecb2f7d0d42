"""GPUs as answers list them, alone or side by side, and the model's run on each."""

from __future__ import annotations

from dataclasses import dataclass

from gpusizer.advice.conclusion.clauses import Conclusion, with_doubts
from gpusizer.advice.conclusion.compare import Boards, compared_boards, compared_models
from gpusizer.advice.conclusion.fit import fit
from gpusizer.advice.conclusion.load import users_served
from gpusizer.advice.ranking import Ranked
from gpusizer.core.messages import Note
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.catalogue import MAX_NAME_CHARS
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, plan_costs
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile
from gpusizer.usecases.siblings import Sibling


@dataclass(frozen=True, slots=True)
class ComparedGpu:
    """One GPU of a comparison, in the requested order."""

    gpu: Gpu
    count: int | None
    ranked: Ranked | None  # its entry if a model was named


@dataclass(frozen=True, slots=True)
class Comparison:
    """Answer to a compare request."""

    items: tuple[ComparedGpu, ...]
    profile: ModelProfile | None
    workload: Workload | None
    sibling: Sibling | None = None
    lost: tuple[Note, ...] = ()  # notes on the trade-off of one quantization for all

    @property
    def conclusion(self) -> Conclusion:
        """The best of the GPUs, for the model if one is named; for one GPU whether it fits."""
        return with_doubts(self._concluded, self.profile)

    @property
    def _concluded(self) -> Conclusion:
        places = [item.ranked for item in self.items if item.ranked is not None]
        if self.profile is None or self.workload is None or not places:
            return compared_boards([_boards(item) for item in self.items])
        users = self.workload.concurrency
        if len(places) > 1:
            return compared_models(self.profile, users, places, self.lost)
        if users > 1:
            return users_served(self.profile, self.workload, places, ())
        offered = self.sibling.notes if self.sibling else ()
        return fit(self.profile, self.workload, places, offered)


def _boards(item: ComparedGpu) -> Boards:
    count = item.count or 1
    return Boards(item.gpu, count, plan_costs(item.gpu, count, None, DEFAULT_ASSUMPTIONS))


@dataclass(frozen=True, slots=True)
class GpuListing:
    """The catalogue, or a part of it."""

    gpus: tuple[Gpu, ...]
    notes: tuple[Note, ...] = ()  # why no GPU was found, and near names


def nothing_found(query: str, catalogue: Catalogue) -> tuple[Note, ...]:
    """Return notes that the catalogue has no GPU of that name, with the nearest names."""
    query = query[:MAX_NAME_CHARS]
    unknown = catalogue.unknown(query)
    reason, near = unknown.fields.get("reason"), unknown.fields["suggestions"]
    missing = Note(f"gpu_{reason}" if reason else "no_gpu_found", query=query)
    assert isinstance(near, list)
    return (missing, Note("similar_gpus", names=", ".join(near))) if near else (missing,)
