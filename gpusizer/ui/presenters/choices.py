"""Rules that choose the few answers that the page shows first."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpusizer.advice.candidates import in_groups, smallest_boards, ways_to_rank
from gpusizer.advice.conclusion.clauses import Conclusion
from gpusizer.advice.ranking import Ranked, describe
from gpusizer.core.errors import GpusizerError
from gpusizer.fit.study import Study
from gpusizer.gpus import Gpu
from gpusizer.model.tasks import task_of
from gpusizer.usecases.conclude import Found
from gpusizer.usecases.figures.memory import Capacity
from gpusizer.usecases.report import EstimateRow, Report
from gpusizer.usecases.requests.question import Question

ModelUse = Literal["tokens", "vision", "pictures"]
"""Use of a model, as far as the form depends on it: it reads text or sound alone, reads pictures
too, or makes pictures."""
MAX_PICKS = 4
_LANDMARKS = ("rtx-4090-24gb", "a100-sxm-80gb", "apple-m3-max-128gb", "rtx-3060-12gb")
"""Cards that every buying guide mentions: a big and a small desktop card, a server card, a Mac."""
_USUAL = ("rtx-3060-12gb", "rtx-4090-24gb", "apple-m3-max-128gb")
"""Cards that people have already: a small and a large one of a desktop, and a Mac."""
_OLDEST_YEAR = 2020
_ON_SALE = frozenset({"current", "eol"})


@dataclass(frozen=True, slots=True)
class Tier:
    """A level of precision people ask for.

    Attributes:
        name: "16", "8" or "4" (bits).
        row: the estimate that represents the tier.
        best: boards for each kind of hardware that has any that run it.
    """

    name: str
    row: EstimateRow
    best: Mapping[str, Ranked]


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The content of a page about a model: a report that ranks GPUs, its tiers, and what is
    concluded of the visitor's own machine or picks, or is wrong with that machine.

    Attributes:
        usual: cards that people have already, if they hold the model alone.
        found: the places that `own` concludes from.
        cards: usable memory of that machine and of the picks.
    """

    question: Question
    report: Report
    tiers: tuple[Tier, ...]
    usual: tuple[Ranked, ...] = ()
    own: Conclusion | GpusizerError | None = None
    found: Found | None = None
    cards: tuple[Capacity, ...] = ()

    @property
    def use(self) -> ModelUse:
        """Use of the model, by which the page shows its fields."""
        profile = self.report.profile
        if profile.pipeline is not None:
            return "pictures"
        sees = profile.picture_rule is not None or task_of(profile) == "vision"
        return "vision" if sees else "tokens"


KINDS: dict[str, Callable[[Gpu], bool]] = {
    "desktop": lambda gpu: gpu.segment == "consumer" and gpu.form_factor.startswith("PCIe"),
    "server": lambda gpu: (
        gpu.segment in ("datacenter", "workstation") and gpu.form_factor != "laptop"
    ),
    "mac": lambda gpu: gpu.segment == "apple",
}
"""Kinds of hardware for which a tier names the best boards."""


def best_of_each_kind(
    study: Study, gpus: Sequence[Gpu], ranking: Sequence[Ranked], quants: Collection[str]
) -> dict[str, Ranked]:
    """Choose boards for each kind of hardware: the first place of the ranking where it is in one
    of these quantizations, else the fewest, smallest and fastest familiar ones that surely hold
    the model, first among those that are on offer to the audience today."""
    first = [it for it in ranking[:1] if it.fit.estimate.quant.slug in quants]
    best = {kind: it for kind, of in KINDS.items() for it in first if of(it.fit.gpu)}
    familiar = [g for g in gpus if g.status in _ON_SALE and g.release_year >= _OLDEST_YEAR]
    for kind, of in KINDS.items():
        if kind in best:
            continue
        offers = [(gpu, None) for gpu in familiar if of(gpu)]
        for some, _ in in_groups(study, offers):
            if one := smallest_boards(study, (gpu for gpu, _ in some)):
                best[kind] = describe(study, one.config, rank=1)
                break
    return best


def usual_cards(study: Study, gpus: Sequence[Gpu], ranking: Sequence[Ranked]) -> tuple[Ranked, ...]:
    """Return those cards among `gpus` that people have already and that hold the model alone."""
    known = {item.fit.gpu.slug: item for item in ranking}
    unranked = [(gpu, None) for gpu in gpus if gpu.slug in _USUAL and gpu.slug not in known]
    known |= {
        config.gpu.slug: describe(study, config, rank=0) for config in ways_to_rank(study, unranked)
    }
    cards = (known[slug] for slug in _USUAL if slug in known)
    return tuple(item for item in cards if item.fit.count == 1)


def default_gpus(ranking: Sequence[Ranked]) -> tuple[str, ...]:
    """Return the GPUs to compare when the visitor picked none: the headline's and landmarks."""
    slugs = [*(item.fit.gpu.slug for item in ranking[:1]), *_LANDMARKS]
    return tuple(dict.fromkeys(slugs))[:MAX_PICKS]
