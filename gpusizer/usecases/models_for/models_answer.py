"""ModelsFor: the answer to what a card or a machine runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpusizer.advice.capacity_limits import SureLimits
from gpusizer.advice.conclusion.clauses import Conclusion, machine_name, names, short_name
from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import GIB, significant
from gpusizer.fit.fit import Fit
from gpusizer.fit.losses import quality_at
from gpusizer.fit.machine import Machine
from gpusizer.fit.user_speed import one_prompt_rate, one_user_rate
from gpusizer.hub.listed_models import ListedModel
from gpusizer.model.tasks import TASKS
from gpusizer.quality.boards import ScoreBoards
from gpusizer.speed import Rate
from gpusizer.usecases.models_for.by_purpose import Scored
from gpusizer.usecases.models_for.live_use import UseNow
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.models_for.ordering import Family, Runs


@dataclass(frozen=True, slots=True)
class ModelsFor:
    """Models that run, best first.

    Attributes:
        is_rig: the machine was described as one, not as a GPU.
        considered: how many models were looked at, after the filters.
        families: all that run, in order; `rows` are the first of them.
        unread: IDs that could not be read, and why.
        now: the figures of use that the order goes by.
        newcomers: models that trend on the Hub and are not stored.
        boards: whose scores are shown of a purpose.
        picked: of a purpose, up to three models with the reason for each.
        notes: what the reader must know about the answer.
    """

    request: ModelsRequest
    machine: Machine
    is_rig: bool
    considered: int
    families: tuple[Family, ...]
    rows: tuple[RunsOn, ...]
    unread: tuple[tuple[str, GpusizerError], ...]
    now: UseNow
    newcomers: tuple[ListedModel, ...]
    boards: ScoreBoards
    picked: tuple[tuple[RunsOn, Note], ...]
    notes: tuple[Note, ...]

    @property
    def found(self) -> tuple[Runs, ...]:
        """Every model that runs: family by family, the head of each first."""
        return tuple(runs for family in self.families for runs in family.members)

    @property
    def conclusion(self) -> Conclusion:
        """How many models run, and the first of them, or those to pick from."""
        picked = [why for _, why in self.picked]
        hardware, found = machine_name(self.machine), len(self.found)
        if self.is_rig and self.machine.gpus and self.machine.ram_bytes:
            hardware += f" + {self.machine.ram_bytes / GIB:g} GB RAM"
        return models(hardware, self.considered, found, self.rows, picked, self.request.purpose)

    @property
    def by_task(self) -> dict[str, dict[str, int | str]]:
        """For each task that something runs: models by verdict, and the best of them."""
        summary: dict[str, dict[str, int | str]] = {}
        for task in TASKS:
            of_task = [runs for runs in self.found if runs.task == task]
            if of_task:
                verdicts = Counter(runs.verdict.value for runs in of_task)
                summary[task] = {**verdicts, "best": of_task[0].profile.repo_id}
        return summary


@dataclass(frozen=True, slots=True)
class RunsOn:
    """A family that runs, what fits beside its head, and how fast that is.

    Attributes:
        scored: what boards say of its head for a purpose, and its speed; None without one.
        max_context: tokens of the longest sequence that surely fits.
        most_users: sequences of this context that surely fit at once.
    """

    rank: int
    family: Family
    fit: Fit
    decode: Rate | None
    prefill: Rate | None
    max_context: int | None
    most_users: float | None
    scored: Scored | None = None

    @classmethod
    def from_family(cls, rank: int, family: Family, scored: Scored | None = None) -> RunsOn:
        """The row of a family, with the figures that only shown rows have."""
        study, config = family.head.study, family.head.config
        fit = Fit.from_config(study, config)
        rates, limits = (
            (one_user_rate(study, config), one_prompt_rate(study, config)),
            SureLimits(study, fit),
        )
        return cls(rank, family, fit, *rates, limits.context, limits.users, scored)

    @property
    def runs(self) -> Runs:
        """The model that stands for the family."""
        return self.family.head

    @property
    def ram_bytes(self) -> int:
        """Of the model in system memory."""
        arranged = self.runs.config.arranged
        return arranged.host.total.likely if arranged else self.fit.estimate.host_bytes

    @property
    def spare_bytes(self) -> int | None:
        """To spare on the fullest device; None where a part of the model is left to system memory,
        and where it is not known."""
        return self.fit.headroom_bytes if self.runs.verdict.all_on_gpu else None

    @property
    def used_bytes(self) -> int:
        """Of the fullest device and of system memory together."""
        return self.fit.config.fullest_gpu_bytes + self.ram_bytes

    @property
    def context(self) -> int:
        """Tokens of each sequence."""
        return self.runs.study.workload.context


_NAMED = 3


def models(
    hardware: str,
    considered: int,
    found: int,
    rows: Sequence[RunsOn],
    picked: Sequence[Note] = (),
    work: str = "",
) -> Conclusion:
    """The first rows of an answer, or what is `picked` for some `work`; `hardware` is what was
    asked about."""
    first = rows[:_NAMED]
    fields: dict[str, NoteValue] = {"hardware": hardware, "found": found, "considered": considered}
    if not first:
        return Conclusion("models", (Note("answer_runs_nothing", **fields),), (), fields)
    named = names([short_name(row.runs.profile) for row in first])
    said = (Note("answer_runs", **fields), Note("answer_runs_first", models=named))
    facts: dict[str, NoteValue] = {**fields, "first": first[0].runs.profile.repo_id}
    if picked:
        suggested = _suggested(picked, {"work": work, "hardware": hardware})
        return Conclusion("models", (suggested, said[0]), tuple(picked), facts)
    return Conclusion("models", said, tuple(map(_row, first)), facts)


def _suggested(picked: Sequence[Note], fields: Mapping[str, NoteValue]) -> Note:
    """The first of what is picked, and what is newer than the board that put it there."""
    model = picked[0].fields["model"]
    newer = next((why for why in picked if why.code in ("pick_new", "pick_newer")), None)
    if newer is None:
        return Note("answer_suggests", **fields, model=model)
    return Note("answer_suggests_or", **fields, model=model, newer=newer.fields["model"])


def _row(row: RunsOn) -> Note:
    """How one of them runs."""
    estimate = row.runs.config.estimate
    fields: dict[str, NoteValue] = {
        "model": short_name(row.runs.profile),
        "quant": estimate.quant.name,
        "loss": quality_at(estimate).word.value,
        "engine": estimate.engine.name,
        "how": row.runs.how,
    }
    if row.decode is None:
        return Note("answer_model", **fields)
    return Note("answer_model_at", **fields, tokens=significant(row.decode.likely))
