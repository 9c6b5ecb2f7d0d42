"""A desk for a terminal: who lives where, the options of each server, and where the files are."""

from __future__ import annotations

from gpusizer.advice.conclusion.clauses import is_text, short_name
from gpusizer.advice.desk.memories import DeskMemory
from gpusizer.cli.output import Columns, gib, lines_text, padded, table
from gpusizer.core.units import SECONDS_PER_MINUTE
from gpusizer.text import say_note
from gpusizer.usecases.desk import Desk, DeskModel

_FILES = "files: --compose FILE, --llama-swap FILE; more: --details, --json"


def desk_summary(desk: Desk) -> str:
    """Write the conclusion, the models in starting order, the memories and the notes."""
    said = lines_text([desk.conclusion.sentence(say_note)])
    notes = lines_text(f"! {say_note(note)}" for note in desk.notes)
    return "\n\n".join(
        filter(None, (said, table(_MODELS, desk.in_starting_order), _memories(desk), notes, _FILES))
    )


def _memories(desk: Desk) -> str:
    rows = [_memory(f"{it.number}: {it.gpu.name}", it, desk) for it in desk.devices]
    if desk.system_memory is not None:
        rows.append(_memory("RAM", desk.system_memory, desk))
    return padded(("device", "held GiB", "left GiB", "models"), rows) if rows else ""


def _memory(name: str, memory: DeskMemory, desk: Desk) -> list[str]:
    there = ", ".join(short_name(desk.models[number].profile) for number in memory.models)
    return [name, gib(memory.held_bytes, 1), gib(memory.left_bytes, 1), there]


def _start(model: DeskModel) -> str:
    if model.server is None:
        return "no room" if model.has_place else "no place"
    return "on demand" if model.server.start is None else str(model.server.start)


def _quant(model: DeskModel) -> str:
    return model.server.config.estimate.quant.name if model.server else ""


def _engine(model: DeskModel) -> str:
    return model.server.config.estimate.engine.slug if model.server else ""


def _where(model: DeskModel) -> str:
    if model.server is None:
        return ""
    return "+".join(map(str, model.server.devices)) or "RAM"


def _held(model: DeskModel) -> str:
    if model.server is None:
        return ""
    option = model.server.seat.option
    parts = [gib(taking.held_bytes, 1) for taking in option.takings]
    if option.ram_bytes:
        parts.append(f"{gib(option.ram_bytes, 1)} RAM")
    return " + ".join(parts)


def _context(model: DeskModel) -> str:
    workload, server = model.question.study.workload, model.server
    if not is_text(model.profile):
        return f"{workload.concurrency} at once"
    longest = server.longest_context if server else None
    asked = f"{workload.concurrency} x {workload.context:,}"
    return asked if longest is None else f"{asked} (one: {longest:,})"


def _load(model: DeskModel) -> str:
    if model.loading is None:
        return ""
    return f"{max(1, model.loading.disk_minutes * SECONDS_PER_MINUTE):.0f} s"


_MODELS: Columns[DeskModel] = {
    "start": _start,
    "model": lambda model: short_name(model.profile),
    "role": lambda model: model.role,
    "quantization": _quant,
    "engine": _engine,
    "on": _where,
    "holds GiB": _held,
    "told": lambda model: model.server.told if model.server else "",
    "context": _context,
    "weights in": _load,
}
