"""Every way to run a model on one kind of GPU: one plan for each kind, with the fewest boards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from gpusizer.core.messages import Note
from gpusizer.fit.compatibility import runs_on
from gpusizer.fit.fit import (
    COUNTS,
    OFFLOAD_ENGINES,
    Fit,
    Fitter,
    Verdict,
    device_class_of,
    max_cards,
)
from gpusizer.fit.offload import most_layers, without_experts
from gpusizer.fit.parallel_degrees import EXPERT_ENGINES, costs, obstacles
from gpusizer.fit.parallelism.platforms import setup_of
from gpusizer.fit.parallelism.run_plan import PlanKind, RunPlan
from gpusizer.fit.speed import decode_rate
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine, Split
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.quants import Quant

_NO_PIPELINE = frozenset({"tgi", "diffusers", "mlx"})  # engines without pipeline stages


@dataclass(frozen=True, slots=True)
class _Recipe:
    """A quantization and the engine that runs it."""

    quant: Quant
    native: bool
    engine: Engine


def ways(fitter: Fitter, chosen: Fit, boards: int | None) -> tuple[RunPlan, ...]:
    """One plan of each kind on the GPU of `chosen`, with the fewest boards that surely hold it.

    `boards` is how many were asked for, None for any number one plans with. Each kind keeps the
    quantization of `chosen` where an engine divides it that way, else takes the nearest in width.
    """
    gpu = chosen.gpu
    plans = [_single(fitter, chosen)]
    counts = [boards] if boards else [n for n in COUNTS if n <= max_cards(gpu)]
    several = [n for n in counts if n * gpu.devices_per_board > 1 and n > 1]
    if several and fitter.profile.architecture is not None:
        for kind, able, split in _DIVISIONS:
            recipe = _recipe(fitter, chosen, able, gpu)
            if recipe is not None and _applies(kind, fitter):
                plans += _divided(fitter, gpu, several, kind, recipe, split)
    if not plans[0].verdict.all_on_gpu:
        plans += _offloaded(fitter, chosen, boards or 1)
    return tuple(plans)


def _single(fitter: Fitter, chosen: Fit) -> RunPlan:
    estimate = chosen.estimate
    recipe = _Recipe(estimate.quant, estimate.native, estimate.engine)
    devices = chosen.gpu.devices_per_board
    split = Split() if devices == 1 else fitter.split(recipe.engine, devices)
    fit = _fit(fitter, chosen.gpu, 1, recipe, split or Split())
    return _plan(fitter, "single", chosen.gpu, 1, split or Split(), fit, ())


def _applies(kind: PlanKind, fitter: Fitter) -> bool:
    arch = fitter.profile.architecture
    return kind != "expert" or (arch is not None and bool(arch.experts))


def _recipe(
    fitter: Fitter, chosen: Fit, able: Callable[[Engine], bool], gpu: Gpu
) -> _Recipe | None:
    """The chosen quantization, else the nearest in width, with the first engine that is able."""
    wanted = chosen.estimate.quant
    near = sorted(
        fitter.quants,
        key=lambda pair: (pair[0].slug != wanted.slug, abs(pair[0].bits - wanted.bits)),
    )
    for quant, native in near:
        engines = [chosen.estimate.engine] if quant.slug == wanted.slug else []
        for engine in (*engines, *fitter.engines(quant)):
            if able(engine) and runs_on(quant, engine, gpu):
                return _Recipe(quant, native, engine)
    return None


Splitter = Callable[[Fitter, Gpu, int], Iterator[Split | Note]]
"""Ways to divide over so many boards, best first, with notes on those that are refused."""


def _tensor(fitter: Fitter, gpu: Gpu, boards: int) -> Iterator[Split | Note]:
    """All devices share each matrix, inside one machine or one rack's fabric."""
    arch, setup = fitter.profile.architecture, setup_of(gpu, boards)
    assert arch is not None
    degree = boards * gpu.devices_per_board
    if setup.nodes > 1 and setup.link.kind == "network":
        yield Note("beyond_one_node", degree=degree, per_node=setup.per_node)
        return
    refused = list(obstacles(arch, degree, dealt=False))
    yield from refused
    if not refused:
        yield Split(tensor=degree)


def _pipeline(fitter: Fitter, gpu: Gpu, boards: int) -> Iterator[Split | Note]:
    arch = fitter.profile.architecture
    assert arch is not None
    stages = boards * gpu.devices_per_board
    if stages > arch.layers:
        yield Note("more_stages_than_layers", degree=stages, layers=arch.layers)
    else:
        yield Split(pipeline=stages)


def _both(fitter: Fitter, gpu: Gpu, boards: int) -> Iterator[Split | Note]:
    """The largest tensor-parallel degree inside a node that leaves at least two stages."""
    arch, setup = fitter.profile.architecture, setup_of(gpu, boards)
    assert arch is not None
    devices = boards * gpu.devices_per_board
    inside = min(setup.per_node * gpu.devices_per_board, devices // 2)
    for tensor in range(inside, 1, -1):
        if devices % tensor == 0 and devices // tensor <= arch.layers:
            refused = list(obstacles(arch, tensor, dealt=False))
            yield from refused
            if not refused:
                yield Split(tensor, devices // tensor)
                return


def _expert(fitter: Fitter, gpu: Gpu, boards: int) -> Iterator[Split | Note]:
    """Routed experts spread over all devices; the rest divided inside a node, repeated on each
    node.
    """
    arch, setup = fitter.profile.architecture, setup_of(gpu, boards)
    assert arch is not None
    devices = boards * gpu.devices_per_board
    if devices > (arch.experts or 0):
        yield Note("more_ranks_than_experts", degree=devices, experts=arch.experts or 0)
        return
    for tensor in range(min(setup.per_node * gpu.devices_per_board, devices), 0, -1):
        if devices % tensor == 0 and not list(obstacles(arch, tensor, dealt=True)):
            yield Split(tensor, 1, devices // tensor, devices)
            return


_DIVISIONS: tuple[tuple[PlanKind, Callable[[Engine], bool], Splitter], ...] = (
    ("tensor", lambda engine: engine.split_by == "tensor", _tensor),
    ("pipeline", lambda engine: engine.slug not in _NO_PIPELINE, _pipeline),
    (
        "tensor_pipeline",
        lambda engine: engine.split_by == "tensor" and engine.slug not in _NO_PIPELINE,
        _both,
    ),
    ("expert", lambda engine: engine.slug in EXPERT_ENGINES, _expert),
)


def _divided(
    fitter: Fitter,
    gpu: Gpu,
    counts: Sequence[int],
    kind: PlanKind,
    recipe: _Recipe,
    splits: Splitter,
) -> Iterator[RunPlan]:
    """Yield the plan with the fewest boards that surely hold the model, else with the number that
    misses least. Yield nothing where the kind needs more boards, as both kinds do on two.
    """
    refused: dict[str, Note] = {}
    best: tuple[tuple[int, int], int, Split, Fit] | None = None
    for boards in counts:
        for split_or_note in splits(fitter, gpu, boards):
            if isinstance(split_or_note, Note):
                refused.setdefault(split_or_note.code, split_or_note)
                continue
            fit = _fit(fitter, gpu, boards, recipe, split_or_note)
            rank = (fit.verdict.place, 0 if fit.verdict.all_on_gpu else -fit.headroom_bytes)
            if best is None or rank < best[0]:
                best = (rank, boards, split_or_note, fit)
        if best is not None and best[3].verdict is Verdict.FITS:
            break
    notes = tuple(refused.values())
    if best is not None:
        _, boards, split, fit = best
        arch = fitter.profile.architecture
        cost_notes = tuple(costs(arch, split.tensor)) if arch is not None else ()
        yield _plan(fitter, kind, gpu, boards, split, fit, (*cost_notes, *notes))
    elif notes:
        yield _plan(fitter, kind, gpu, counts[0], Split(), None, notes)


def _offloaded(fitter: Fitter, chosen: Fit, boards: int) -> Iterator[RunPlan]:
    """Layers, or routed experts alone, in system memory."""
    gpu = chosen.gpu
    recipe = _recipe(fitter, chosen, lambda engine: engine.slug in OFFLOAD_ENGINES, gpu)
    if recipe is None:
        return
    split = Split(pipeline=boards * gpu.devices_per_board)
    whole = _estimate(fitter, gpu, recipe, split)
    if fitter.verdict(gpu, whole).all_on_gpu:
        return
    part = most_layers(fitter, gpu, whole)
    if part is not None:
        offloaded = fitter.for_workload(replace(fitter.workload, gpu_layers=part.layers))
        note = Note(
            "layers_that_fit",
            layers=part.layers,
            of_layers=part.of_layers,
            ram_bytes=part.ram_bytes,
        )
        fit = _fit(offloaded, gpu, boards, recipe, split)
        yield _plan(offloaded, "offload_layers", gpu, boards, split, fit, (note,), part.ram_bytes)
    experts_bytes = without_experts(fitter, gpu, whole)
    if experts_bytes is not None:
        offloaded = fitter.for_workload(replace(fitter.workload, cpu_moe=True))
        note = Note("experts_in_memory", ram_bytes=experts_bytes)
        fit = _fit(offloaded, gpu, boards, recipe, split)
        yield _plan(offloaded, "offload_experts", gpu, boards, split, fit, (note,), experts_bytes)


def _estimate(fitter: Fitter, gpu: Gpu, recipe: _Recipe, split: Split) -> MemoryEstimate:
    device_class = device_class_of(recipe.engine, gpu)
    return fitter.estimate(recipe.quant, recipe.native, recipe.engine, split, device_class)


def _fit(fitter: Fitter, gpu: Gpu, boards: int, recipe: _Recipe, split: Split) -> Fit:
    return fitter.fit(gpu, boards, _estimate(fitter, gpu, recipe, split))


def _plan(
    fitter: Fitter,
    kind: PlanKind,
    gpu: Gpu,
    boards: int,
    split: Split,
    fit: Fit | None,
    notes: tuple[Note, ...],
    ram_bytes: int | None = None,
) -> RunPlan:
    setup = setup_of(gpu, boards)
    runs = fit is not None and fit.verdict.all_on_gpu and ram_bytes is None
    host = 0 if fit is None else fit.estimate.host_bytes
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
        decode=decode_rate(fitter.profile, fit.estimate, fitter.workload, gpu)
        if fit is not None and runs
        else None,
        notes=notes,
    )
