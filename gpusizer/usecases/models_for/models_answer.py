"""ModelsFor: the answer to what a card or a machine runs, and its one JSON shape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpusizer.advice.capacity_limits import SureLimits
from gpusizer.advice.conclusion.clauses import Conclusion, machine_name, names, short_name
from gpusizer.advice.weighed import weighed
from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note, NoteValue
from gpusizer.core.units import GIB, significant
from gpusizer.fit.fit import Fit
from gpusizer.fit.losses import quality_at
from gpusizer.fit.machine import Machine
from gpusizer.fit.user_speed import one_prompt_rate, one_user_rate
from gpusizer.hub.listed_models import ListedModel
from gpusizer.launch.llama_cpp import machine_flags
from gpusizer.model.tasks import TASKS
from gpusizer.quality.boards import LEADING, MAKERS, SECOND, BoardScore, ScoreBoards
from gpusizer.speed import Rate
from gpusizer.usecases.contract.answers import ModelsAnswer
from gpusizer.usecases.gpu_json import machine_json
from gpusizer.usecases.json_shapes import (
    SCHEMA_VERSION,
    Answered,
    Json,
    fields_of,
    parts,
    rounded,
)
from gpusizer.usecases.models_for.by_purpose import Scored
from gpusizer.usecases.models_for.live_use import (
    ORDER,
    ORDER_OF_PURPOSE,
    UseNow,
    Uses,
    newcomer_json,
)
from gpusizer.usecases.models_for.models_request import ModelsRequest
from gpusizer.usecases.models_for.ordering import Family, Runs, use_of


@dataclass(frozen=True, slots=True)
class ModelsFor(Answered[ModelsAnswer]):
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

    def shape(self) -> Json:
        """The contract's object.

        `gpu` or `rig` says what was asked about, the other is null. `found` counts the models that
        run and `families` their families; `models` are the first `top` families in the `order`
        named, each by the repository that most people run, with its others that run as `copies`
        and the sums of all in `family`. A model runs as docs/recommendation.md prefers: it surely
        fits, else it is tight (on a rig alone "offload": a part in system memory, and "from_disk":
        a part on its disk, in the fewest bits that people use, with `disk` the bytes of a token and
        the most tokens/s). `context` is the one asked for, or the default within the model's limit;
        models whose limit is below a context that was asked for are left out. `headroom_bytes` is
        what the fullest device has to spare; `max_context` tokens of one sequence, and
        `max_concurrency` sequences of this context, that surely fit; rates are null where unknown.
        `created`, `downloads` (30 days), `likes` and `trending_score` are the Hub's, of the day
        `use_as_of`, null where unknown; `use` says whether they are live. With a purpose `purpose`
        names its boards and up to three models with a reason, and `scores` of a model says what
        boards measured: the `share` of the board's other open models below, never averaged.
        `by_task` counts all that run, and names the first in order. `trending` names what trends on
        the Hub and is not stored. `unread` lists IDs asked for without an answer.
        """
        request, machine = self.request, self.machine
        gpu = None if self.is_rig else machine.gpu
        return {
            "answer": self.conclusion,
            "schema_version": SCHEMA_VERSION,
            "gpu": gpu and gpu.slug,
            "gpu_name": gpu and gpu.name,
            "count": None if self.is_rig else machine.boards,
            "rig": machine_json(machine) if self.is_rig else None,
            "workload": {
                **fields_of(request.workload),
                **parts(request, "max_loss", "fold", "from_disk", "top"),
                "quant": request.quants,
                "model_task": request.task or None,
                "license": request.licenses or None,
                "purpose": request.work,
            },
            "order": ORDER if request.work is None else ORDER_OF_PURPOSE,
            "purpose": self._purpose,
            "use": self.now,
            "considered": self.considered,
            "found": len(self.found),
            "families": len(self.families),
            "by_task": self.by_task,
            "models": [_row_json(row, self.now.uses, on_rig=self.is_rig) for row in self.rows],
            "trending": [newcomer_json(listed) for listed in self.newcomers],
            "unread": [
                {"repo_id": repo_id, "code": error.code, "fields": dict(error.fields)}
                for repo_id, error in self.unread
            ],
            "notes": self.notes,
        }

    @property
    def _purpose(self) -> Json | None:
        """The boards of the purpose and what is picked; None without a purpose."""
        purpose = self.request.work
        if purpose is None:
            return None
        named = {"leading": LEADING, "second": SECOND, "makers": MAKERS}
        boards = {role: self.boards.board(of.get(purpose)) for role, of in named.items()}
        picked = [
            {"repo_id": row.runs.profile.repo_id, "reason": reason} for row, reason in self.picked
        ]
        return {"name": purpose, **boards, "picks": picked}

    @property
    def by_task(self) -> Json:
        """For each task that something runs: models by verdict, and the best of them."""
        summary: Json = {}
        for task in TASKS:
            of_task = [runs for runs in self.found if runs.task == task]
            if of_task:
                verdicts = Counter(runs.verdict.value for runs in of_task)
                summary[task] = {**verdicts, "best": of_task[0].profile.repo_id}
        return summary


def _row_json(row: RunsOn, uses: Uses, *, on_rig: bool) -> Json:
    runs, fit, family, arranged = row.runs, row.fit, row.family, row.runs.way.arranged
    facts = {
        **_runs_json(runs, uses),
        **parts(row, "rank", "context"),
        "headroom_bytes": fit.headroom_bytes,
        "max_context": row.max_context,
        "max_concurrency": row.most_users,
        "decode_tokens_per_second": row.decode,
        "prefill_tokens_per_second": row.prefill,
        "quality": quality_at(fit.estimate),
        "choice": weighed(runs.study, fit.way),
        "scores": row.scored and _scores_json(row.scored),
        **_pace_json(row.scored),
        "per_gpu_bytes": fit.way.fullest_gpu_bytes,
        "family": {
            "name": family.name,
            "repositories": len(family.members),
            **fields_of(family.use),
        },
        "copies": [_runs_json(copy, uses) for copy in family.copies],
    }
    if not on_rig:
        return facts
    return {
        **facts,
        "ram_bytes": row.ram_bytes,
        "disk": arranged and arranged.disk,
        "flags": machine_flags(runs.study.workload, runs.way),
    }


def _scores_json(scored: Scored) -> Json:
    """What boards say of a model, and whether they measured another precision of it."""
    measured = scored.measured
    roles = {role: getattr(measured, role) for role in ("leading", "second", "maker")}
    return {
        **parts(measured, "group"),
        **parts(scored, "runs_well"),
        **{role: score and _score_json(score) for role, score in roles.items()},
        **parts(measured, "boards_disagree"),
        **parts(scored, "at_full_precision"),
    }


def _pace_json(scored: Scored | None) -> Json:
    """How fast a model that writes no text is, in the unit that such models are counted in."""
    if scored is None or scored.pace is None:
        return {}
    of_task = {
        "embedding": ("read_tokens_per_second", scored.pace),
        "speech": ("audio_seconds_per_second", scored.pace),
        "image": ("picture_seconds", scored.picture_seconds),
    }
    return dict([of_task[scored.runs.task]] if scored.runs.task in of_task else [])


def _score_json(score: BoardScore) -> Json:
    shown = parts(score, "score", "low", "high", "setting")
    return {"board": score.board.board, **shown, "share": rounded(score.share)}


def _runs_json(runs: Runs, uses: Uses) -> Json:
    """A repository: the model, whether and with what it runs, and how much it is used."""
    estimate, member = runs.way.estimate, runs.candidate.member
    use = use_of(member.repo_id, uses)
    return {
        **parts(runs.profile, "repo_id", "pipeline_tag", "parameters", "active_parameters"),
        **parts(runs.profile, "license", "gated"),
        **parts(runs, "task", "verdict", "how"),
        "kind": member.kind,
        "quant": estimate.quant.slug,
        "quant_name": estimate.quant.name,
        "native": estimate.native,
        "engine": estimate.engine.slug,
        "engine_name": estimate.engine.name,
        **parts(use, "created", "downloads", "likes", "trending_score"),
        "use_as_of": use.as_of,
        "use_source": use.source or None,
    }


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
    def of(cls, rank: int, family: Family, scored: Scored | None = None) -> RunsOn:
        """The row of a family, with the figures that only shown rows have."""
        study, way = family.head.study, family.head.way
        fit = Fit.of(study, way)
        rates, limits = (
            (one_user_rate(study, way), one_prompt_rate(study, way)),
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
        arranged = self.runs.way.arranged
        return arranged.host.total.likely if arranged else self.fit.estimate.host_bytes

    @property
    def spare_bytes(self) -> int | None:
        """To spare on the fullest device; None where a part of the model is left to system memory,
        and where it is not known."""
        return self.fit.headroom_bytes if self.runs.verdict.all_on_gpu else None

    @property
    def used_bytes(self) -> int:
        """Of the fullest device and of system memory together."""
        return self.fit.way.fullest_gpu_bytes + self.ram_bytes

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
    estimate = row.runs.way.estimate
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
