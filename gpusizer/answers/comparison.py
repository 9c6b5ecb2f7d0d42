"""GPUs as answers list them, alone or side by side, and how one model runs on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gpusizer.answers.conclusion.compare import Boards, compared_boards, compared_models
from gpusizer.answers.conclusion.conclusion import Conclusion
from gpusizer.answers.conclusion.fit import fit
from gpusizer.answers.evidence import evidence_json
from gpusizer.answers.report import SCHEMA_VERSION, model_json, ranked_json
from gpusizer.core.messages import Note, Say, note_json
from gpusizer.fit.ranking import Ranked
from gpusizer.gpus import Catalogue, Gpu
from gpusizer.gpus.catalogue import MAX_NAME_CHARS
from gpusizer.gpus.costs import DEFAULT_ASSUMPTIONS, plan_costs, rental_quote
from gpusizer.gpus.purpose import purpose_of
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile


@dataclass(frozen=True, slots=True)
class ComparedGpu:
    """One GPU of a comparison, in the requested order; `ranked` if a model was named."""

    gpu: Gpu
    count: int | None
    ranked: Ranked | None

    def to_json(self, say: Say) -> dict[str, Any]:
        fit = None if self.ranked is None else ranked_json(self.ranked, say)
        return {**gpu_json(self.gpu, say), "count": self.count, "fit": fit}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The answer to a compare request."""

    items: tuple[ComparedGpu, ...]
    profile: ModelProfile | None
    workload: Workload | None

    @property
    def conclusion(self) -> Conclusion:
        """Which of them, for the model where one is named; of one whether it fits."""
        places = [item.ranked for item in self.items if item.ranked is not None]
        if self.profile is not None and self.workload is not None and len(places) == 1:
            return fit(self.profile, self.workload, places)
        if self.profile is not None and places:
            return compared_models(self.profile, places)
        return compared_boards([_boards(item) for item in self.items])

    def to_json(self, say: Say) -> dict[str, Any]:
        """GPUs in the requested order, each with its `fit` or null."""
        return {
            "answer": self.conclusion.to_json(say),
            "schema_version": SCHEMA_VERSION,
            "model": None if self.profile is None else model_json(self.profile, say),
            "workload": None if self.workload is None else self.workload.to_json(),
            "gpus": [self._item_json(item, say) for item in self.items],
        }

    def _item_json(self, item: ComparedGpu, say: Say) -> dict[str, Any]:
        """One GPU; its `fit` with what it can be checked by."""
        data = item.to_json(say)
        if item.ranked is not None and self.profile is not None and self.workload is not None:
            data["fit"] |= evidence_json(self.profile, item.ranked, self.workload, say)
        return data


def _boards(item: ComparedGpu) -> Boards:
    count = item.count or 1
    return Boards(item.gpu, count, plan_costs(item.gpu, count, None, DEFAULT_ASSUMPTIONS))


@dataclass(frozen=True, slots=True)
class GpuListing:
    """The catalogue, or a part of it; `notes` say why there is no GPU, and which are near."""

    gpus: tuple[Gpu, ...]
    notes: tuple[Note, ...] = ()

    def to_json(self, say: Say) -> dict[str, Any]:
        """GPUs, the likeliest first where a query was asked."""
        return {
            "schema_version": SCHEMA_VERSION,
            "count": len(self.gpus),
            "gpus": [gpu_json(gpu, say) for gpu in self.gpus],
            "notes": [note_json(note, say) for note in self.notes],
        }


def nothing_found(query: str, catalogue: Catalogue) -> tuple[Note, ...]:
    """That the catalogue has no GPU of that name, and the names nearest to it."""
    near = catalogue.suggestions(query)
    missing = Note("no_gpu_found", query=query[:MAX_NAME_CHARS])
    return (missing, Note("similar_gpus", names=", ".join(near))) if near else (missing,)


def gpu_json(gpu: Gpu, say: Say) -> dict[str, Any]:
    """One GPU: its facts, what it is good for and why, and what providers ask for it."""
    purpose, quote = purpose_of(gpu), rental_quote(gpu)
    sentences = " ".join(say(note) for note in purpose.notes())
    return {
        **gpu.to_json(),
        "purpose": {**purpose.to_json(), "message": sentences},
        "rental": None if quote is None else quote.to_json(),
        "statements": [note_json(note, say) for note in gpu.statements],
    }
