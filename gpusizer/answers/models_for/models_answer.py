"""ModelsFor: the answer to what a card or a machine runs, and its one JSON shape."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from gpusizer.answers.models_for.family_json import family_json, model_json, way_json
from gpusizer.answers.models_for.live_use import UseNow, newcomer_json
from gpusizer.answers.models_for.models_request import ModelsRequest
from gpusizer.answers.models_for.ordering import ORDER, Family
from gpusizer.answers.models_for.search import Runs, RunsOn
from gpusizer.answers.models_for.tasks import TASKS
from gpusizer.core.errors import GpusizerError
from gpusizer.core.messages import Note, Say, note_json
from gpusizer.fit.mixed_gpus.machine import Rig
from gpusizer.fit.mixed_gpus.rig_plan import machine_json
from gpusizer.gpus import Gpu
from gpusizer.hub.listed_models import ListedModel

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class ModelsFor:
    """Models that run, best first.

    Attributes:
        gpu, boards: the GPU asked about; None and 0 when it was a rig.
        considered: how many models were looked at, after the filters.
        families: all that run, in order; `rows` are the heads of the first of them.
        unread: IDs that could not be read, and why.
        now: the figures of use that the order goes by.
        newcomers: models that trend on the Hub and are not stored.
        notes: what the reader must know about the answer.
    """

    request: ModelsRequest
    gpu: Gpu | None
    boards: int
    rig: Rig | None
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

    def to_json(self, say: Say) -> dict[str, Any]:
        """The contract's object.

        `gpu` or `rig` says what was asked about, the other is null. `found` counts the models that
        run and `families` their families; `models` are the first `top` families in the `order`
        named, each by the repository that most people run, with its others that run as `copies`
        and the sums of all in `family`. A model is at the most faithful quantization that
        people use which surely fits, else one that is tight (on a rig alone "offload": a part in
        system memory, and "from_disk": a part on its disk, in the fewest of those
        bits, with `disk` the bytes of a token and the most tokens/s). `context` is the one asked
        for, or the default within the model's limit; models whose limit is below a context that was
        asked for are left out. `headroom_bytes` is
        what the fullest device has to spare; `max_context` one sequence's tokens; rates are null
        where unknown. `created`, `downloads` (30 days), `likes` and `trending_score` are the Hub's,
        of the day `use_as_of`, null where unknown; `use` says whether they are live. `by_task`
        counts all that run, and names the first in order. `trending` names what trends on the Hub
        and is not stored. `unread` lists IDs asked for without an answer.
        """
        workload = self.request.workload.to_json()
        return {
            "schema_version": SCHEMA_VERSION,
            "gpu": None if self.gpu is None else self.gpu.slug,
            "gpu_name": None if self.gpu is None else self.gpu.name,
            "count": self.boards or None,
            "rig": None if self.rig is None else machine_json(self.rig),
            "workload": {
                **workload,
                "quant": list(self.request.quants),
                "model_task": self.request.task or None,
                "license": list(self.request.licenses) or None,
                "fold": self.request.fold,
                "from_disk": self.request.from_disk,
                "top": self.request.top,
            },
            "order": ORDER,
            "use": self.now.to_json(),
            "considered": self.considered,
            "found": len(self.found),
            "families": len(self.families),
            "by_task": self._by_task(),
            "models": [
                {**_row_json(rank, row), **family_json(family, self.now.uses)}
                for rank, (row, family) in enumerate(
                    zip(self.rows, self.families, strict=False), start=1
                )
            ],
            "trending": [newcomer_json(listed) for listed in self.newcomers],
            "unread": [
                {"repo_id": repo_id, "code": error.code, "fields": dict(error.fields)}
                for repo_id, error in self.unread
            ],
            "notes": [note_json(note, say) for note in self.notes],
        }

    def _by_task(self) -> dict[str, Any]:
        """For each task that something runs: models by verdict, and the best of them."""
        summary: dict[str, Any] = {}
        for task in TASKS:
            of_task = [runs for runs in self.found if runs.task == task]
            if of_task:
                verdicts = Counter(runs.verdict.value for runs in of_task)
                summary[task] = {**verdicts, "best": of_task[0].profile.repo_id}
        return summary


def _row_json(rank: int, row: RunsOn) -> dict[str, Any]:
    runs, fit = row.runs, row.fit
    facts = {
        "rank": rank,
        **model_json(runs),
        "context": runs.fitter.workload.context,
        "decode_tokens_per_second": row.decode.to_json() if row.decode else None,
        "prefill_tokens_per_second": row.prefill.to_json() if row.prefill else None,
    }
    if fit is not None:
        return {
            **facts,
            **way_json(fit.estimate),
            "headroom_bytes": fit.headroom_bytes,
            "per_gpu_bytes": fit.estimate.per_gpu.total.likely,
            "max_context": fit.max_context,
            "max_concurrency": fit.max_concurrency,
        }
    plan = runs.plan
    assert plan is not None  # a row is of a GPU or of a rig
    return {
        **facts,
        **way_json(plan.estimate),
        "headroom_bytes": plan.headroom_bytes,
        "per_gpu_bytes": max((s.total.likely for s in plan.arranged.devices), default=None),
        "ram_bytes": plan.arranged.host.total.likely,
        "max_context": plan.max_context,
        "max_concurrency": None,
        "disk": plan.disk.to_json() if plan.disk else None,
        "flags": list(plan.flags),
    }
