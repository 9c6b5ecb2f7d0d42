"""Rules that choose the few answers that the page shows first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpusizer.answers.conclusion.clauses import Conclusion
from gpusizer.answers.report import EstimateRow, Report
from gpusizer.answers.requests.question import Question
from gpusizer.core.errors import GpusizerError
from gpusizer.fit.advice.policies import RankedCandidate
from gpusizer.fit.ranking import Ranked
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu

MAX_PICKS = 4
_LANDMARKS = ("rtx-4090-24gb", "a100-sxm-80gb", "apple-m3-max-128gb", "rtx-3060-12gb")
"""Cards that every buying guide mentions: a big and a small desktop card, a server card, a Mac."""
_OLDEST_YEAR = 2020
_ON_SALE = frozenset({"current", "eol"})


@dataclass(frozen=True, slots=True)
class Tier:
    """A level of precision people ask for.

    Attributes:
        name: "16", "8" or "4" (bits).
        row: the estimate that stands for the tier.
        best: for each kind of hardware the smallest boards that run it, where any do.
    """

    name: str
    row: EstimateRow
    best: Mapping[str, Ranked]


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The content of a page about a model: a report that ranks every GPU, its tiers, and what is
    concluded of the visitor's own machine or picks, or is wrong with that machine."""

    question: Question
    report: Report
    tiers: tuple[Tier, ...]
    own: Conclusion | GpusizerError | None = None


KINDS: dict[str, Callable[[Gpu], bool]] = {
    "desktop": lambda gpu: gpu.segment == "consumer" and gpu.form_factor.startswith("PCIe"),
    "server": lambda gpu: gpu.segment in ("datacenter", "workstation"),
    "mac": lambda gpu: gpu.segment == "apple",
}
"""Kinds of hardware for which a tier names the best boards."""


def best_of_each_kind(candidates: Iterable[RankedCandidate]) -> dict[str, RankedCandidate]:
    """Choose for each kind the fewest, smallest and fastest boards that surely hold the model."""
    best: dict[str, RankedCandidate] = {}
    for candidate in candidates:
        gpu = candidate.way.gpu
        familiar = gpu.status in _ON_SALE and gpu.release_year >= _OLDEST_YEAR
        if candidate.way.verdict is not Verdict.FITS or not familiar:
            continue
        for kind, belongs in KINDS.items():
            least = best.get(kind)
            if belongs(gpu) and (least is None or _effort(candidate) < _effort(least)):
                best[kind] = candidate
    return best


def _effort(candidate: RankedCandidate) -> tuple[float, ...]:
    """Sort key: fewest boards, an engine made for serving, the smallest label, then the fastest."""
    way = candidate.way
    able, label = way.estimate.engine.abilities, way.gpu.memory_marketing_gb
    return (way.boards, able.launches_kernels, label, -(candidate.speed or 0.0))


def default_gpus(ranking: Sequence[Ranked]) -> tuple[str, ...]:
    """Return the GPUs to compare when the visitor picked none: the headline's and landmarks."""
    slugs = [*(item.fit.gpu.slug for item in ranking[:1]), *_LANDMARKS]
    return tuple(dict.fromkeys(slugs))[:MAX_PICKS]
