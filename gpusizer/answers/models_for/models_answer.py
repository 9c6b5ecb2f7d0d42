"""ModelsFor: the answer to what a card or a machine runs, and its one JSON shape."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gpusizer.answers.conclusion.clauses import machine_name
from gpusizer.answers.conclusion.conclusion import Conclusion
from gpusizer.answers.conclusion.models import models
from gpusizer.answers.json_shapes import SCHEMA_VERSION, Answered, Json, fields_of
from gpusizer.answers.launch.llama_cpp import machine_flags
from gpusizer.answers.machine_json import machine_json
from gpusizer.answers.models_for.family_json import family_json, model_json, way_json
from gpusizer.answers.models_for.live_use import UseNow, newcomer_json
from gpusizer.answers.models_for.models_request import ModelsRequest
from gpusizer.answers.models_for.ordering import ORDER, Family
from gpusizer.answers.models_for.runs_on import RunsOn
from gpusizer.answers.models_for.search import Runs
from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note
from gpusizer.fit.losses import quality_at
from gpusizer.fit.machine import Machine
from gpusizer.fit.weighed import weighed
from gpusizer.hub.listed_models import ListedModel
from gpusizer.model.tasks import TASKS


@dataclass(frozen=True, slots=True)
class ModelsFor(Answered):
    """Models that run, best first.

    Attributes:
        is_rig: the machine was described as one, not as a GPU.
        considered: how many models were looked at, after the filters.
        families: all that run, in order; `rows` are the first of them.
        unread: IDs that could not be read, and why.
        now: the figures of use that the order goes by.
        newcomers: models that trend on the Hub and are not stored.
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
    notes: tuple[Note, ...]

    @property
    def found(self) -> tuple[Runs, ...]:
        """Every model that runs: family by family, the head of each first."""
        return tuple(runs for family in self.families for runs in family.members)

    @property
    def conclusion(self) -> Conclusion:
        """How many models run, and the first of them."""
        return models(machine_name(self.machine), self.considered, len(self.found), self.rows)

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
        what the fullest device has to spare; `max_context` one sequence's tokens; rates are null
        where unknown. `created`, `downloads` (30 days), `likes` and `trending_score` are the Hub's,
        of the day `use_as_of`, null where unknown; `use` says whether they are live. `by_task`
        counts all that run, and names the first in order. `trending` names what trends on the Hub
        and is not stored. `unread` lists IDs asked for without an answer.
        """
        workload, machine = fields_of(self.request.workload), self.machine
        return {
            "answer": self.conclusion,
            "schema_version": SCHEMA_VERSION,
            "gpu": None if self.is_rig else machine.gpu.slug,
            "gpu_name": None if self.is_rig else machine.gpu.name,
            "count": None if self.is_rig else machine.boards,
            "rig": machine_json(machine) if self.is_rig else None,
            "workload": {
                **workload,
                "quant": list(self.request.quants),
                "max_loss": self.request.max_loss,
                "model_task": self.request.task or None,
                "license": list(self.request.licenses) or None,
                "fold": self.request.fold,
                "from_disk": self.request.from_disk,
                "top": self.request.top,
            },
            "order": ORDER,
            "use": self.now,
            "considered": self.considered,
            "found": len(self.found),
            "families": len(self.families),
            "by_task": self.by_task,
            "models": [
                {**_row_json(row, on_rig=self.is_rig), **family_json(row.family, self.now.uses)}
                for row in self.rows
            ],
            "trending": [newcomer_json(listed) for listed in self.newcomers],
            "unread": [
                {"repo_id": repo_id, "code": error.code, "fields": dict(error.fields)}
                for repo_id, error in self.unread
            ],
            "notes": self.notes,
        }

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


def _row_json(row: RunsOn, *, on_rig: bool) -> Json:
    runs, fit, arranged = row.runs, row.fit, row.runs.way.arranged
    facts = {
        "rank": row.rank,
        **model_json(runs),
        "context": row.context,
        "decode_tokens_per_second": row.decode,
        "prefill_tokens_per_second": row.prefill,
        **way_json(fit.estimate),
        "quality": quality_at(fit.estimate),
        "choice": weighed(runs.study, fit.way),
        "headroom_bytes": fit.headroom_bytes,
        "per_gpu_bytes": fit.way.fullest_gpu_bytes,
        "max_context": fit.max_context,
        "max_concurrency": fit.max_concurrency,
    }
    if not on_rig:
        return facts
    return {
        **facts,
        "ram_bytes": arranged.host.total.likely if arranged else fit.estimate.host_bytes,
        "disk": arranged and arranged.disk,
        "flags": machine_flags(runs.study.workload, runs.way),
    }
