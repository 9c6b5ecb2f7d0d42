"""Answer to the question which models a card or a machine runs."""

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
    """Models that run, best first."""

    request: ModelsRequest
    machine: Machine
    is_rig: bool  # the request describes a machine, not a GPU
    considered: int  # number of models after the filters
    families: tuple[Family, ...]  # all that run, in order; `rows` are the first of them
    rows: tuple[RunsOn, ...]
    unread: tuple[tuple[str, GpusizerError], ...]  # IDs that could not be read, and why
    now: UseNow  # figures of use that decide the order
    newcomers: tuple[ListedModel, ...]  # models that trend on the Hub and are not stored
    boards: ScoreBoards  # boards whose scores are shown for a purpose
    # for a purpose, up to three models with the reason for each
    picked: tuple[tuple[RunsOn, Note], ...]
    notes: tuple[Note, ...]  # caveats on the answer

    @property
    def found(self) -> tuple[Runs, ...]:
        """Every model that runs: family by family, the head of each first."""
        return tuple(runs for family in self.families for runs in family.members)

    @property
    def is_known(self) -> bool:
        """Whether the machine has an amount of memory; a CPU alone has that of its RAM."""
        return bool(self.machine.gpus) or self.machine.ram_bytes is not None

    @property
    def conclusion(self) -> Conclusion:
        """Number of models that run, and the first of them, or those to pick from."""
        if not self.is_known:
            return Conclusion("models", (Note("answer_runs_in_ram"),))
        picked = [why for _, why in self.picked]
        hardware, found = machine_name(self.machine), len(self.found)
        if self.is_rig and self.machine.gpus and self.machine.ram_bytes:
            hardware += f" + {self.machine.ram_bytes / GIB:g} GB RAM"
        return models(hardware, self.considered, found, self.rows, picked, self.request.purpose)

    @property
    def by_task(self) -> dict[str, dict[str, int | str]]:
        """Models by verdict, and the best of them, for each task with a running model."""
        summary: dict[str, dict[str, int | str]] = {}
        for task in TASKS:
            of_task = [runs for runs in self.found if runs.task == task]
            if of_task:
                verdicts = Counter(runs.verdict.value for runs in of_task)
                summary[task] = {**verdicts, "best": of_task[0].profile.repo_id}
        return summary


@dataclass(frozen=True, slots=True)
class RunsOn:
    """A family that runs, what else fits next to its head, and its speed."""

    rank: int
    family: Family
    fit: Fit
    decode: Rate | None
    prefill: Rate | None
    max_context: int | None  # tokens of the longest sequence that surely fits
    most_users: float | None  # sequences of this context that surely fit at once
    # scores of its head for a purpose, and its speed; None without a purpose
    scored: Scored | None = None

    @classmethod
    def from_family(cls, rank: int, family: Family, scored: Scored | None = None) -> RunsOn:
        """Return the row of a family, with the figures that only shown rows have."""
        study, config = family.head.study, family.head.config
        fit = Fit.from_config(study, config)
        rates, limits = (
            (one_user_rate(study, config), one_prompt_rate(study, config)),
            SureLimits(study, fit),
        )
        return cls(rank, family, fit, *rates, limits.context, limits.users, scored)

    @property
    def runs(self) -> Runs:
        """The head of the family."""
        return self.family.head

    @property
    def ram_bytes(self) -> int:
        """Bytes of the model in system memory, with the cache of earlier prompts."""
        return self.runs.config.ram_bytes

    @property
    def spare_bytes(self) -> int | None:
        """Spare bytes on the fullest device, or None if a part is in system memory or unknown."""
        return self.fit.headroom_bytes if self.runs.verdict.all_on_gpu else None

    @property
    def used_bytes(self) -> int:
        """Bytes used on the fullest device and in system memory together."""
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
    """Return the conclusion: the first rows, or the `picked` ones for some `work`.

    `hardware` is the requested GPU or machine.
    """
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
    # The first pick, and one that is newer than the board behind it.
    model = picked[0].fields["model"]
    newer = next((why for why in picked if why.code in ("pick_new", "pick_newer")), None)
    if newer is None:
        return Note("answer_suggests", **fields, model=model)
    return Note("answer_suggests_or", **fields, model=model, newer=newer.fields["model"])


def _row(row: RunsOn) -> Note:
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
