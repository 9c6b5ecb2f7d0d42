"""Parallelism plans: each kind of division on one kind of GPU, with the fewest boards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpusizer.advice.capacity_limits import SureLimits, most_layers, without_experts
from gpusizer.core.messages import Note
from gpusizer.fit.compatibility import runs_on
from gpusizer.fit.division import board_counts, costs, obstacles
from gpusizer.fit.fit import Fit
from gpusizer.fit.machine import Machine
from gpusizer.fit.platforms import BoardLink, Setup, setup_of
from gpusizer.fit.run_config import RunConfig
from gpusizer.fit.run_configs import config_on_gpus
from gpusizer.fit.study import EngineRecipe, QuantOption, Study
from gpusizer.fit.user_speed import one_user_rate
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine, Split
from gpusizer.model.architecture import Architecture
from gpusizer.speed import Rate

# One board; each matrix divided; whole layers per board; both; routed experts spread whole over
# boards; layers, or routed experts alone, in system memory.
PlanKind = Literal[
    "single",
    "tensor",
    "pipeline",
    "tensor_pipeline",
    "expert",
    "offload_layers",
    "offload_experts",
]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """One way to run a model."""

    kind: PlanKind
    gpu: Gpu
    boards: int  # of this GPU, over all nodes
    # nodes, platform: machines it takes, and their name in the table of platforms
    nodes: int
    platform: str | None
    split: Split  # division of the model over the devices of the boards
    link: BoardLink  # connection of the boards; the network for several nodes
    ram_bytes: int  # weights and cache in system memory, without memory for loading
    # Memory is never pooled: the fullest device decides.
    fit: Fit | None  # fit of each device's share, None if the model cannot be divided like this
    limits: SureLimits | None  # the most that surely fits, None without a fit
    decode: Rate | None  # tokens/s of one user, None if it does not fit or the speed is unknown
    notes: tuple[Note, ...]  # why degrees were refused, and the costs of the one taken

    @property
    def longest_context(self) -> int | None:
        """Tokens that surely fit for one user alone; None without a fit."""
        return None if self.limits is None else self.limits.context

    @property
    def verdict(self) -> Verdict:
        """Whether it runs; OFFLOAD if a part of it is in system memory."""
        if self.fit is None:
            return Verdict.DOES_NOT_FIT
        runs = self.fit.verdict.all_on_gpu
        if self.kind.startswith("offload"):
            return Verdict.OFFLOAD if runs else Verdict.DOES_NOT_FIT
        return self.fit.verdict


def run_plans(study: Study, chosen: RunConfig, boards: int | None) -> tuple[RunPlan, ...]:
    """Return one plan of each kind on the GPU of `chosen`, with the fewest boards that hold it.

    `boards` is the requested number, None for any number of `board_counts`. Each kind keeps the
    quantization of `chosen` if an engine divides it that way, else takes the nearest in width.
    """
    # Unlike devices have only one arrangement.
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


def _single(study: Study, chosen: RunConfig) -> RunPlan:
    recipe, devices = chosen.estimate, chosen.gpu.devices_per_board
    split = Split() if devices == 1 else study.split(recipe.engine, devices) or Split()
    return _plan(study, "single", chosen.gpu, 1, split, _way(study, chosen.gpu, 1, recipe, split))


def _applies(kind: PlanKind, study: Study) -> bool:
    arch = study.profile.architecture
    return kind != "expert" or (arch is not None and bool(arch.experts))


def _recipe(study: Study, chosen: RunConfig, able: Callable[[Engine], bool]) -> EngineRecipe | None:
    # The chosen quantization, else the nearest in width, with the first engine that is able.
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


# Yields divisions over a number of devices, best first, with notes on refused ones. The last
# argument is the number of devices of one machine.
Splitter = Callable[[Architecture, Setup, int, int], Iterator[Split | Note]]


def _tensor(arch: Architecture, setup: Setup, degree: int, inside: int) -> Iterator[Split | Note]:
    # All devices share each matrix, inside one machine or one rack's fabric.
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
    # The largest tensor-parallel degree inside a node that leaves at least two stages.
    for tensor in range(min(inside, devices // 2), 1, -1):
        if devices % tensor == 0 and devices // tensor <= arch.layers:
            refused = list(obstacles(arch, tensor, dealt=False))
            yield from refused
            if not refused:
                yield Split(tensor, devices // tensor)
                return


def _expert(arch: Architecture, setup: Setup, devices: int, inside: int) -> Iterator[Split | Note]:
    # Routed experts spread over all devices; the rest divided inside a node, repeated on each node.
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
    # The plan with the fewest boards that surely hold the model, else with the number that misses
    # least; nothing if the kind needs more boards, as both kinds do on two.
    arch, each = study.profile.architecture, gpu.devices_per_board
    if arch is None:
        return
    refused: dict[str, Note] = {}
    best: RunConfig | None = None
    for boards in counts:
        setup = setup_of(gpu, boards)
        for split_or_note in splits(arch, setup, boards * each, setup.per_node * each):
            if isinstance(split_or_note, Note):
                refused.setdefault(split_or_note.code, split_or_note)
                continue
            config = _way(study, gpu, boards, recipe, split_or_note)
            if best is None or _rank(config) < _rank(best):
                best = config
        if best is not None and best.verdict is Verdict.FITS:
            break
    notes = tuple(refused.values())
    if best is not None:
        split = best.estimate.split
        about = (*costs(arch, split.tensor), *notes)
        yield _plan(study, kind, gpu, best.boards, split, best, about)
    elif notes:
        yield _plan(study, kind, gpu, counts[0], Split(), None, notes)


def _rank(config: RunConfig) -> tuple[int, int]:
    # A way that fits first, else the one that misses least.
    return config.verdict.place, 0 if config.verdict.all_on_gpu else config.missing_bytes


def _offloaded(study: Study, chosen: RunConfig, boards: int) -> Iterator[RunPlan]:
    # Layers, or routed experts alone, if the system memory is large enough.
    gpu = chosen.gpu
    recipe = _recipe(study, chosen, lambda engine: engine.abilities.offloads)
    if recipe is None:
        return
    split = Split(pipeline=boards * gpu.devices_per_board)
    memory_speed = chosen.machine.ram_bytes_per_second
    machine = Machine.with_boards(gpu, boards, ram_bytes_per_second=memory_speed)
    whole = _way(study, gpu, boards, recipe, split)
    if whole.verdict.all_on_gpu:
        return
    part = most_layers(study, whole)
    if part is not None and _has_room_for(chosen.machine, part.ram_bytes):
        offloaded = study.with_workload(gpu_layers=part.layers)
        note = Note(
            "layers_that_fit",
            layers=part.layers,
            of_layers=part.of_layers,
            ram_bytes=part.ram_bytes,
        )
        config = replace(_way(offloaded, gpu, boards, recipe, split), machine=machine)
        yield _plan(
            offloaded, "offload_layers", gpu, boards, split, config, (note,), part.ram_bytes
        )
    experts_bytes = without_experts(study, whole)
    if experts_bytes is not None and _has_room_for(chosen.machine, experts_bytes):
        offloaded = study.with_workload(cpu_moe=True)
        note = Note("experts_in_memory", ram_bytes=experts_bytes)
        config = replace(_way(offloaded, gpu, boards, recipe, split), machine=machine)
        yield _plan(
            offloaded, "offload_experts", gpu, boards, split, config, (note,), experts_bytes
        )


def _has_room_for(machine: Machine, ram_bytes: int) -> bool:
    # True if the size of system memory is not stated.
    return machine.free_ram_bytes is None or ram_bytes <= machine.free_ram_bytes


def _way(study: Study, gpu: Gpu, boards: int, recipe: EngineRecipe, split: Split) -> RunConfig:
    config = config_on_gpus(study, Machine.with_boards(gpu, boards), recipe, split)
    assert config is not None  # the split is given
    return config


def _plan(
    study: Study,
    kind: PlanKind,
    gpu: Gpu,
    boards: int,
    split: Split,
    config: RunConfig | None,
    notes: tuple[Note, ...] = (),
    ram_bytes: int | None = None,
) -> RunPlan:
    setup = setup_of(gpu, boards)
    host = 0 if config is None else config.ram_bytes
    fit = None if config is None else Fit.from_config(study, config)
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
        limits=None if fit is None else SureLimits(study, fit),
        decode=None if config is None else one_user_rate(study, config),
        notes=notes,
    )
