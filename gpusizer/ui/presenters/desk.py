"""Several models on one machine: who holds what, the servers in starting order, and their files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from gpusizer.advice.conclusion.clauses import is_text, short_name
from gpusizer.advice.desk.memories import DeskMemory
from gpusizer.ui.presenters.conclusion import first_sentence, unbroken
from gpusizer.ui.presenters.figures import used_text
from gpusizer.ui.presenters.pieces.number_format import DASH
from gpusizer.ui.presenters.pieces.templates import Columns, piece, render
from gpusizer.ui.presenters.pieces.words import Words
from gpusizer.ui.presenters.starting import duration_text
from gpusizer.usecases.desk import Desk, DeskModel


@dataclass(frozen=True, slots=True)
class Holder:
    """Part of a device that one model holds.

    Attributes:
        mark: name of its colour, the same on every device.
    """

    mark: str
    name: str
    held_bytes: int


@dataclass(frozen=True, slots=True)
class DeviceBar:
    """A device, or system memory, and who stays there."""

    name: str
    used: str
    capacity_bytes: int
    left_bytes: int
    holders: tuple[Holder, ...]


def desk_html(desk: Desk, words: Words) -> Markup:
    """Write the verdict, a bar for each device, the servers, what waits, and the files."""
    bars = [*_bars(desk, words)]
    holders = dict.fromkeys((holder.mark, holder.name) for bar in bars for holder in bar.holders)
    files = {"Docker Compose": desk.files.compose, "llama-swap": desk.files.llama_swap}
    return render(
        "desk.html",
        words,
        first=unbroken(first_sentence(desk.conclusion, words)),
        bars=bars,
        scale=max((bar.capacity_bytes for bar in bars), default=0),
        holders=[*holders],
        columns=_columns(words),
        models=desk.in_starting_order,
        waits=[*_waits(desk, words)],
        change=words.note(desk.changes.note) if desk.changes else "",
        notes=desk.notes,
        files={name: text for name, text in files.items() if text},
    )


def _bars(desk: Desk, words: Words) -> Iterator[DeviceBar]:
    several = len(desk.devices) > 1
    for device in desk.devices:
        name = f"{device.number}: {device.gpu.name}" if several else device.gpu.name
        yield _bar(name, device, desk, words)
    memory = desk.system_memory
    if memory is not None and memory.held:
        yield _bar(words("bar.ram"), memory, desk, words)


def _bar(name: str, memory: DeskMemory, desk: Desk, words: Words) -> DeviceBar:
    used = used_text(memory.held_bytes, memory.free_bytes, words)
    holders = tuple(
        Holder(f"model-{number}", short_name(desk.models[number].profile), held_bytes)
        for number, held_bytes in memory.held.items()
    )
    return DeviceBar(name, used, memory.free_bytes, memory.left_bytes, holders)


def _waits(desk: Desk, words: Words) -> Iterator[str]:
    """Say of each model that does not stay why, and how long it takes to load."""
    for model in desk.models:
        if model.state == "resident":
            continue
        why = "left_out" if model.has_place else "no_place"
        if model.server is not None:
            why = "no_room" if model.must_stay else "may_wait"
        yield words(f"desk.{why}", model=short_name(model.profile), time=_loading(model, words))


def _columns(words: Words) -> Columns[DeskModel]:
    return {
        "desk_start": lambda model: _start(model, words),
        "model": lambda model: short_name(model.profile),
        "desk_role": lambda model: words(f"role.{model.role}"),
        "desk_way": _way,
        "desk_on": lambda model: _on(model, words),
        "desk_holds": lambda model: _holds(model, words),
        "desk_told": lambda model: model.server.told if model.server else "",
        "desk_context": lambda model: _context(model, words),
        "desk_loads": lambda model: _loading(model, words),
    }


def _start(model: DeskModel, words: Words) -> str:
    start = model.server.start if model.server else None
    return words(f"desk.state.{model.state}") if start is None else str(start)


def _way(model: DeskModel) -> Markup | str:
    if model.server is None:
        return DASH
    estimate = model.server.config.estimate
    return f"{estimate.quant.name} · {estimate.engine.name}"


def _on(model: DeskModel, words: Words) -> str:
    if model.server is None:
        return DASH
    numbers = " + ".join(map(str, model.server.devices))
    return words("desk.on", numbers=numbers) if numbers else words("desk.in_ram")


def _holds(model: DeskModel, words: Words) -> str:
    if model.server is None:
        return DASH
    option = model.server.seat.option
    parts = [words.gib(taking.held_bytes) for taking in option.takings]
    if option.ram_bytes:
        parts.append(words("reverse.ram", amount=words.gib(option.ram_bytes)))
    return " + ".join(parts)


def _context(model: DeskModel, words: Words) -> Markup | str:
    workload = model.question.study.workload
    if not is_text(model.profile):
        return words.at_once(workload.concurrency)
    asked = f"{words.whole(workload.concurrency)} × {words.whole(workload.context)}"
    longest = model.server.longest_context if model.server else None
    if longest is None:
        return asked
    return piece("figure", asked, words("desk.longest", tokens=words.whole(longest)))


def _loading(model: DeskModel, words: Words) -> str:
    return DASH if model.loading is None else duration_text(model.loading.disk_minutes, words)
