"""Order of models for a purpose, by the board that leads for it.

Models as fast as one reads come before slower ones; in both groups, those that the leading board
measured, then those that only the second board measured, then the rest. Within a board its order
decides, and between ties speed as far as a reader notices it. Unmeasured models are ordered by
classes of size, so that no small new model comes before one many times as large.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from itertools import product

from gpusizer.fit.picture_time import picture_seconds
from gpusizer.fit.requirements import COMFORTABLE_SPEED, READING_SPEED
from gpusizer.fit.user_speed import heard_rate, one_user_rate, read_rate
from gpusizer.fit.verdict import Verdict
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tasks import Task
from gpusizer.quality.boards import (
    GROUPS,
    UNMEASURED,
    Measured,
    ScoreBoards,
    WorkPurpose,
    in_order,
)
from gpusizer.speed import Rate
from gpusizer.usecases.models_for.families import name_of, unpacked_name
from gpusizer.usecases.models_for.ordering import Family, Runs

# kinds of models that serve a purpose
TASKS_OF: Mapping[WorkPurpose, frozenset[Task]] = {
    **dict.fromkeys(("chat", "code", "agents"), frozenset({"text", "vision"})),
    "vision": frozenset({"vision"}),
    "embeddings": frozenset({"embedding"}),
    "speech": frozenset({"speech"}),
    "pictures": frozenset({"image"}),
}

_REAL_TIME = 1.0  # seconds of sound a second
_STEP = 1.25

# Parameters at which the next class begins: models for a phone, a laptop, a card, a strong card and
# a server of several cards.
_SIZE_CLASSES = (2e9, 6e9, 24e9, 70e9, 200e9)


@dataclass(frozen=True)  # without `slots`: properties are cached
class Scored:
    """A model that runs, its scores on boards, and its speed."""

    runs: Runs
    measured: Measured  # scores on the boards of the purpose

    @cached_property
    def picture_seconds(self) -> Rate | None:
        """Seconds for a picture; None for other models, and if unknown."""
        return picture_seconds(self.runs.study, self.runs.config)

    @cached_property
    def pace(self) -> Rate | None:
        """Rate for one user, or None if unknown.

        Tokens/s written, or read by an embedding model; seconds of sound per second; pictures per
        second.
        """
        study, config = self.runs.study, self.runs.config
        if self.runs.task == "embedding":
            return read_rate(study, config)
        if self.runs.task == "speech":
            return heard_rate(study, config)
        if self.runs.task == "image":
            seconds = self.picture_seconds
            return seconds and Rate(1 / seconds.high, 1 / seconds.likely, 1 / seconds.low)
        return one_user_rate(study, config)

    @property
    def likely(self) -> float:
        """The likely pace, 0 if unknown."""
        return 0.0 if self.pace is None else self.pace.likely

    @property
    def step_of_speed(self) -> int:
        """Pace in steps of a quarter, up to the comfort of a reader: more adds no quality."""
        if not self.likely:
            return 0
        return math.floor(math.log(min(self.likely, COMFORTABLE_SPEED), _STEP))

    @property
    def runs_well(self) -> bool:
        """Whether it is as fast as one reads or speaks.

        If the speed is unknown, whether all of it is on devices.
        """
        verdict = self.runs.verdict
        if self.pace is None or self.runs.task in ("embedding", "image"):
            return verdict.all_on_gpu
        enough = _REAL_TIME if self.runs.task == "speech" else READING_SPEED
        return verdict is not Verdict.FROM_DISK and self.pace.likely >= enough

    @property
    def is_sure(self) -> bool:
        """Whether it surely fits, even with a part in system memory."""
        return self.runs.verdict is not Verdict.TIGHT

    @property
    def at_full_precision(self) -> bool:
        """Whether boards measured it in another precision than it runs in here."""
        return not self.runs.config.estimate.native and self.measured.first is not None


ScoredFamily = tuple[Family, Scored]  # a family, with the scores of its head


def credited(boards: ScoreBoards, purpose: WorkPurpose) -> Callable[[ModelProfile], Measured]:
    """Return the function that finds a model's scores by its own name.

    A quantized copy has the scores of its original, never those of a relative.
    """
    originals = {unpacked_name(model_id): model_id for model_id in boards.model_ids(purpose)}

    def of(profile: ModelProfile) -> Measured:
        own = boards.measured(purpose, profile.repo_id)
        if replace(own, hub=None) != UNMEASURED or name_of(profile).kind != "quantized":
            return own
        stated = profile.base_models[:1] if profile.base_relation == "quantized" else ()
        named = originals.get(unpacked_name(profile.repo_id), "")
        original = boards.measured(purpose, next(iter(stated), named))
        return replace(original, hub=own.hub or original.hub)

    return of


def ordered_for(
    families: Iterable[Family], measured: Callable[[ModelProfile], Measured], today: date
) -> Sequence[ScoredFamily]:
    """Return families in the order of a purpose, each with the scores of its head.

    `families` come in the order of age and use, which is kept between equals.
    """
    headed = [_headed(family, measured) for family in families]
    sections = product((True, False), GROUPS, (True, False))
    return [
        pair
        for section in sections
        for pair in _of_section([pair for pair in headed if _section(pair[1]) == section], today)
    ]


def _section(scored: Scored) -> tuple[bool, str, bool]:
    return scored.runs_well, scored.measured.group, scored.is_sure


def _headed(family: Family, measured: Callable[[ModelProfile], Measured]) -> ScoredFamily:
    # The head is the member that runs best, is measured by the first board, and scores highest.
    members = [Scored(runs, measured(runs.profile)) for runs in family.members]

    def place(scored: Scored) -> tuple[bool, int, bool, float]:
        first = scored.measured.first
        share = 0.0 if first is None or first.share is None else first.share
        group = GROUPS.index(scored.measured.group)
        return not scored.runs_well, group, not scored.is_sure, -share

    head = min(members, key=place)
    copies = tuple(scored.runs for scored in members if scored is not head)
    return replace(family, head=head.runs, copies=copies), head


def _of_section(pairs: Sequence[ScoredFamily], today: date) -> Sequence[ScoredFamily]:
    # Families of one board by its order, others by size, age and use.
    fastest_first = sorted(pairs, key=lambda pair: -pair[1].likely)
    measured = [(p, score) for p in fastest_first if (score := p[1].measured.first) is not None]
    ordered = in_order(measured, lambda item: item[1], lambda item: item[0][1].step_of_speed)
    unmeasured = [pair for pair in pairs if pair[1].measured.first is None]
    unmeasured.sort(key=lambda pair: unmeasured_place(pair[0], today))
    return [*(pair for pair, _ in ordered), *unmeasured]


def unmeasured_place(family: Family, today: date) -> tuple[int, ...]:
    """Return the sort key of a family that no board lists.

    Models that are only pretrained come last; then the larger class of size first, then age and
    use, then size.
    """
    head, parameters = family.head, family.head.profile.parameters
    return (
        int(head.candidate.member.kind == "base" and head.task in ("text", "vision")),
        -size_class(parameters),
        *family.use.place(today),
        -parameters,
    )


def size_class(parameters: float) -> int:
    """Return the class of size: 0 for the smallest models, one more from each bound on.

    >>> size_class(0.8e9), size_class(4e9), size_class(14e9), size_class(32e9)
    (0, 1, 2, 3)
    """
    return bisect_right(_SIZE_CLASSES, parameters)
