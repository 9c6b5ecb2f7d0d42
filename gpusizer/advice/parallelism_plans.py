"""Every way to run a model on one kind of GPU: one plan for each kind, with the fewest boards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpusizer.advice.capacity_limits import Limits, most_layers, without_experts
from gpusizer.core.messages import Note
from gpusizer.fit.compatibility import runs_on
from gpusizer.fit.division import board_counts, costs, obstacles
from gpusizer.fit.fit import Fit
from gpusizer.fit.machine import Machine
from gpusizer.fit.platforms import BoardLink, Setup, setup_of
from gpusizer.fit.study import EngineRecipe, QuantOption, Study
from gpusizer.fit.user_speed import one_user_rate
from gpusizer.fit.verdict import Verdict
from gpusizer.fit.way import Way
from gpusizer.fit.ways import whole_way
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine, Split
from gpusizer.model.architecture import Architecture
from gpusizer.speed import Rate

PlanKind = Literal[
    "single",
    "tensor",
    "pipeline",
    "tensor_pipeline",
    "expert",
    "offload_layers",
    "offload_experts",
]
"""In order: one board; each matrix divided; whole layers per board; both; routed experts spread
whole over boards; layers, or routed experts alone, in system memory."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One way to run a model.

    Attributes:
        boards: of this GPU, over all nodes.
        nodes, platform: machines it takes, and their name where the table of platforms has one.
        split: how the model is divided over the devices of the boards.
        link: what joins the boards; the network where there are several nodes.
        ram_bytes: system memory that weights and cache stay in; not what loading takes.
        fit: how each device's share fits it, None where the model cannot be divided like this.
            Memory is never pooled: the fullest device decides.
        limits: the most that surely fits, None where there is no fit.
        decode: tokens/s of one user, None when it does not fit or nobody knows.
        notes: why degrees were passed over, and what the one taken costs.
    """

    kind: PlanKind
    gpu: Gpu
    boards: int
    nodes: int
    platform: str | None
    split: Split
    link: BoardLink
    ram_bytes: int
    fit: Fit | None
    limits: Limits | None
    decode: Rate | None
    notes: tuple[Note, ...]

    @property
    def longest_context(self) -> int | None:
        """Tokens that surely fit for one user alone; None where there is no fit."""
        return None if self.limits is None else self.limits.context

    @property
    def verdict(self) -> Verdict:
        """Whether it runs; OFFLOAD where it does with part of it in system memory."""
        if self.fit is None:
            return Verdict.DOES_NOT_FIT
        runs = self.fit.verdict.all_on_gpu
        if self.kind.startswith("offload"):
            return Verdict.OFFLOAD if runs else Verdict.DOES_NOT_FIT
        return self.fit.verdict


def run_plans(study: Study, chosen: Way, boards: int | None) -> tuple[RunPlan, ...]:
    """One plan of each kind on the GPU of `chosen`, with the fewest boards that surely hold it.

    `boards` is how many were asked for, None for any number one plans with. Each kind keeps the
    quantization of `chosen` where an engine divides it that way, else takes the nearest in width.
    Unlike devices have one arrangement alone.
    """
    if not chosen.machine.is_uniform or chosen.verdict is Verdict.NOT_SUPPORTED:
        return ()
    gpu = chosen.gpu
    plans = [_single(study, chosen)]
    counts = [boards] if boards else board_counts(gpu)
    several = [n for n in counts if n * gpu.devices_per_board > 1 and n > 1]
    if several and study.profile.architecture is not None:
        for kind, able, split in _DIVISIONS:
            recipe = _recipe(study, chosen, able)
            if recipe is not None and _applies(kind, study):
                plans += _divided(study, gpu, several, kind, recipe, split)
    if not plans[0].verdict.all_on_gpu:
        plans += _offloaded(study, chosen, boards or 1)
    return tuple(plans)


def _single(study: Study, chosen: Way) -> RunPlan:
    recipe, devices = chosen.estimate, chosen.gpu.devices_per_board
    split = Split() if devices == 1 else study.split(recipe.engine, devices) or Split()
    return _plan(study, "single", chosen.gpu, 1, split, _way(study, chosen.gpu, 1, recipe, split))


def _applies(kind: PlanKind, study: Study) -> bool:
    arch = study.profile.architecture
    return kind != "expert" or (arch is not None and bool(arch.experts))


def _recipe(study: Study, chosen: Way, able: Callable[[Engine], bool]) -> EngineRecipe | None:
    """The chosen quantization, else the nearest in width, with the first engine that is able."""
    wanted = chosen.estimate.quant
    near = sorted(
        study.quants,
        key=lambda pair: (pair[0].slug != wanted.slug, abs(pair[0].bits - wanted.bits)),
    )
    for quant, native in near:
        engines = [chosen.estimate.engine] if quant.slug == wanted.slug else []
        for engine in (*engines, *study.engines(quant)):
            if able(engine) and runs_on(quant, engine, chosen.gpu):
                return QuantOption(quant, native, engine)
    return None


Splitter = Callable[[Architecture, Setup, int, int], Iterator[Split | Note]]
"""Ways to divide over so many devices, of which one machine has the last number, best first, with
notes on those that are refused."""


def _tensor(arch: Architecture, setup: Setup, degree: int, inside: int) -> Iterator[Split | Note]:
    """All devices share each matrix, inside one machine or one rack's fabric."""
    if setup.nodes > 1 and setup.link.kind == "network":
        yield Note("beyond_one_node", degree=degree, per_node=setup.per_node)
        return
    refused = list(obstacles(arch, degree, dealt=False))
    yield from refused
    if not refused:
        yield Split(tensor=degree)


def _pipeline(arch: Architecture, setup: Setup, stages: int, inside: int) -> Iterator[Split | Note]:
    if stages > arch.layers:
        yield Note("more_stages_than_layers", degree=stages, layers=arch.layers)
    else:
        yield Split(pipeline=stages)


def _both(arch: Architecture, setup: Setup, devices: int, inside: int) -> Iterator[Split | Note]:
    """The largest tensor-parallel degree inside a node that leaves at least two stages."""
    for tensor in range(min(inside, devices // 2), 1, -1):
        if devices % tensor == 0 and devices // tensor <= arch.layers:
            refused = list(obstacles(arch, tensor, dealt=False))
            yield from refused
            if not refused:
                yield Split(tensor, devices // tensor)
                return


def _expert(arch: Architecture, setup: Setup, devices: int, inside: int) -> Iterator[Split | Note]:
    """Routed experts spread over all devices; the rest divided inside a node, repeated on each
    node.
    """
    if devices > (arch.experts or 0):
        yield Note("more_ranks_than_experts", degree=devices, experts=arch.experts or 0)
        return
    for tensor in range(min(inside, devices), 0, -1):
        if devices % tensor == 0 and not list(obstacles(arch, tensor, dealt=True)):
            yield Split(tensor, 1, devices // tensor, devices)
            return


_DIVISIONS: tuple[tuple[PlanKind, Callable[[Engine], bool], Splitter], ...] = (
    ("tensor", lambda engine: engine.split_by == "tensor", _tensor),
    ("pipeline", lambda engine: engine.abilities.stages, _pipeline),
    (
        "tensor_pipeline",
        lambda engine: engine.split_by == "tensor" and engine.abilities.stages,
        _both,
    ),
    ("expert", lambda engine: engine.abilities.expert_parallel, _expert),
)


def _divided(
    study: Study,
    gpu: Gpu,
    counts: Sequence[int],
    kind: PlanKind,
    recipe: EngineRecipe,
    splits: Splitter,
) -> Iterator[RunPlan]:
    """Yield the plan with the fewest boards that surely hold the model, else with the number that
    misses least. Yield nothing where the kind needs more boards, as both kinds do on two.
    """
    arch, each = study.profile.architecture, gpu.devices_per_board
    if arch is None:
        return
    refused: dict[str, Note] = {}
    best: Way | None = None
    for boards in counts:
        setup = setup_of(gpu, boards)
        for split_or_note in splits(arch, setup, boards * each, setup.per_node * each):
            if isinstance(split_or_note, Note):
                refused.setdefault(split_or_note.code, split_or_note)
                continue
            way = _way(study, gpu, boards, recipe, split_or_note)
            if best is None or _rank(way) < _rank(best):
                best = way
        if best is not None and best.verdict is Verdict.FITS:
            break
    notes = tuple(refused.values())
    if best is not None:
        split = best.estimate.split
        about = (*costs(arch, split.tensor), *notes)
        yield _plan(study, kind, gpu, best.boards, split, best, about)
    elif notes:
        yield _plan(study, kind, gpu, counts[0], Split(), None, notes)


def _rank(way: Way) -> tuple[int, int]:
    """What fits first, else what misses least."""
    return way.verdict.place, 0 if way.verdict.all_on_gpu else -way.headroom_bytes


def _offloaded(study: Study, chosen: Way, boards: int) -> Iterator[RunPlan]:
    """Layers, or routed experts alone, in system memory, where the machine has so much."""
    gpu = chosen.gpu
    recipe = _recipe(study, chosen, lambda engine: engine.abilities.offloads)
    if recipe is None:
        return
    split = Split(pipeline=boards * gpu.devices_per_board)
    memory_speed = chosen.machine.ram_bytes_per_second
    machine = Machine.of(gpu, boards, ram_bytes_per_second=memory_speed)
    whole = _way(study, gpu, boards, recipe, split)
    if whole.verdict.all_on_gpu:
        return
    part = most_layers(study, whole)
    if part is not None and _has_room_for(chosen.machine, part.ram_bytes):
        offloaded = study.under(gpu_layers=part.layers)
        note = Note(
            "layers_that_fit",
            layers=part.layers,
            of_layers=part.of_layers,
            ram_bytes=part.ram_bytes,
        )
        way = replace(_way(offloaded, gpu, boards, recipe, split), machine=machine)
        yield _plan(offloaded, "offload_layers", gpu, boards, split, way, (note,), part.ram_bytes)
    experts_bytes = without_experts(study, whole)
    if experts_bytes is not None and _has_room_for(chosen.machine, experts_bytes):
        offloaded = study.under(cpu_moe=True)
        note = Note("experts_in_memory", ram_bytes=experts_bytes)
        way = replace(_way(offloaded, gpu, boards, recipe, split), machine=machine)
        yield _plan(offloaded, "offload_experts", gpu, boards, split, way, (note,), experts_bytes)


def _has_room_for(machine: Machine, ram_bytes: int) -> bool:
    """Whether system memory holds that much; true if its size is not stated."""
    return machine.free_ram_bytes is None or ram_bytes <= machine.free_ram_bytes


def _way(study: Study, gpu: Gpu, boards: int, recipe: EngineRecipe, split: Split) -> Way:
    way = whole_way(study, Machine.of(gpu, boards), recipe, split)
    assert way is not None  # the split is given
    return way


def _plan(
    study: Study,
    kind: PlanKind,
    gpu: Gpu,
    boards: int,
    split: Split,
    way: Way | None,
    notes: tuple[Note, ...] = (),
    ram_bytes: int | None = None,
) -> RunPlan:
    setup = setup_of(gpu, boards)
    host = 0 if way is None else way.estimate.host_bytes
    fit = None if way is None else Fit.of(study, way)
    return RunPlan(
        kind=kind,
        gpu=gpu,
        boards=boards,
        nodes=setup.nodes,
        platform=setup.platform,
        split=split,
        link=setup.link,
        ram_bytes=host if ram_bytes is None else ram_bytes,
        fit=fit,
        limits=None if fit is None else Limits(study, fit),
        decode=None if way is None else one_user_rate(study, way),
        notes=notes,
    )
