"""Suggestions: single changes that make a model fit, each verified by another fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpusizer.advice.capacity_limits import Plan, most_layers
from gpusizer.advice.remedies import RULES, Remedy
from gpusizer.core.messages import Note
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.verdict import Verdict

_OFFLOAD_PAIN = 12.0  # after everything that runs at full speed


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One change and its effect."""

    note: Note
    change: Mapping[str, object]  # request fields that make it
    pain: float  # position in the list
    saving_bytes: int  # headroom on each GPU after the change, less that before
    # verdict, headroom_bytes: after the change
    verdict: Verdict
    headroom_bytes: int
    enough: bool = True  # the plan then runs; otherwise it is still too large, by less


def advise(plan: Plan, config: RunConfig) -> tuple[Suggestion, ...]:
    """Return single changes after which the plan surely fits, least painful first.

    `way` is the plan's present one; without changes if it fits. The last may be partial offload,
    which runs but does not fit.
    """
    if config.verdict is Verdict.FITS:
        return ()
    if config.verdict is Verdict.NOT_SUPPORTED:
        return tuple(_supported(plan))
    before = plan.config()
    if before is None:
        return ()
    changes = [change for rule in RULES for change in rule(plan)]
    # Without a change that is enough, those that go part of the way are returned.
    if any(change.enough for change in changes):
        changes = [change for change in changes if change.enough]
    suggestions = [_suggestion(change, before) for change in changes]
    helpful = [
        suggestion for suggestion in suggestions if suggestion.enough or suggestion.saving_bytes > 0
    ]
    offloads = _offload(plan, before) if config.verdict is Verdict.OFFLOAD else ()
    return tuple(sorted([*helpful, *offloads], key=lambda suggestion: suggestion.pain))


def _suggestion(change: Remedy, before: RunConfig) -> Suggestion:
    after = change.plan.config()
    assert after is not None  # a change is made of plans that an engine runs there
    left = after.headroom_bytes
    return Suggestion(
        note=change.note,
        change=change.fields,
        pain=round(change.pain, 2),
        saving_bytes=left - before.headroom_bytes,
        verdict=after.verdict,
        headroom_bytes=left,
        enough=change.enough,
    )


def _supported(plan: Plan) -> Iterator[Suggestion]:
    # The quantization and the engine that run on the machine.
    best = plan.best()
    if best is None:
        return
    estimate, left = best.estimate, best.headroom_bytes
    yield Suggestion(
        note=Note(
            "try_quant_engine",
            quant=estimate.quant.name,
            before=plan.quant.name,
            engine=estimate.engine.name,
        ),
        change={"quant": estimate.quant.slug, "engine": estimate.engine.slug},
        pain=0.0,
        saving_bytes=0,
        verdict=best.verdict,
        headroom_bytes=left,
    )


def _offload(plan: Plan, before: RunConfig) -> Iterator[Suggestion]:
    # The GPUs keep as many layers as surely fit, the others stay in system memory.
    if plan.workload.gpu_layers is not None or not plan.engine.abilities.offloads:
        return
    part = most_layers(plan.study, before)
    if part is not None:
        yield Suggestion(
            note=Note(
                "try_offload",
                layers=part.layers,
                all=part.of_layers,
                ram_bytes=part.ram_bytes,
            ),
            change={"gpu_layers": part.layers},
            pain=_OFFLOAD_PAIN,
            saving_bytes=part.headroom_bytes - before.headroom_bytes,
            verdict=Verdict.OFFLOAD,
            headroom_bytes=part.headroom_bytes,
        )
