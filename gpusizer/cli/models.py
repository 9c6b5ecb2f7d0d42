"""Which models run on a card or a machine, as plain text."""

from __future__ import annotations

from gpusizer.cli.tables import table
from gpusizer.models_for.answer import ModelsFor
from gpusizer.models_for.find import RunsOn
from gpusizer.text import say_error, say_note, text
from gpusizer.units import GIB, format_count

_HEAD = (
    "#", "model", "task", "parameters", "quant", "engine", "verdict", "spare GiB", "max context",
    "tok/s",
)  # fmt: skip


def models_text(found: ModelsFor) -> str:
    """The largest models that surely fit first, then what is tight, then what needs offload."""
    parts = [
        f"Models for {_where(found)}: {len(found.found)} of {found.considered} run, largest first"
        f" ({found.request.asked.workload.context:,} tokens of context or the model's limit,"
        f" {found.request.asked.workload.concurrency} at once)."
    ]
    if found.rig is not None:
        parts += [f"  {say_note(note)}" for note in found.rig.notes]
    if found.rows:
        parts.append(table(_HEAD, [_cells(rank, row) for rank, row in enumerate(found.rows, 1)]))
    else:
        parts.append(text("answer.no_model_fits", "en"))
    parts += [f"{repo_id}: {say_error(error)}" for repo_id, error in found.unread]
    return "\n\n".join(parts)


def _where(found: ModelsFor) -> str:
    if found.gpu is not None:
        return f"{found.boards} x {found.gpu.name}"
    assert found.rig is not None
    return found.request.rig


def _cells(rank: int, row: RunsOn) -> tuple[str, ...]:
    runs = row.runs
    of = row.fit or runs.plan
    assert of is not None
    return (
        str(rank),
        runs.profile.repo_id,
        runs.task,
        format_count(runs.profile.parameters),
        of.estimate.quant.slug,
        of.estimate.engine.slug,
        text(f"verdict.{runs.verdict.value}", "en"),
        f"{of.headroom_bytes / GIB:.1f}",
        "unknown" if of.max_context is None else f"{of.max_context:,}",
        "unknown" if row.decode is None else f"{row.decode.low:g}-{row.decode.high:g}",
    )
