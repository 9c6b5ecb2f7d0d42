"""RunConfigs: every way to run a model on a machine.

An engine divides the model over equal devices; llama.cpp deals whole layers out to unlike ones. The
rest is in system memory: layers or routed experts under engines that run them there, components of
a pipeline until their turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gpusizer.core.messages import Note
from gpusizer.fit.compatibility import has_units, runnable, runs_on, why_not
from gpusizer.fit.division import asked_split, other_splits
from gpusizer.fit.machine import Machine
from gpusizer.fit.placement.arrangement import Arranged, arrange
from gpusizer.fit.placement.device_shares import Load
from gpusizer.fit.run_config import RunConfig, memory_of, ram_needed
from gpusizer.fit.study import (
    EngineRecipe,
    QuantOption,
    ScopedCache,
    Study,
    device_class_of,
    device_classes_of,
)
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import ENGINES, Engine, Split
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.quants import Quant
from gpusizer.memory.workload import OFFLOADS, Workload
from gpusizer.model.profile import ModelProfile

# Least share of the weights on the cards if system memory is unknown: below it they gain little.
_LEAST_SHARE = 0.25
# Share of a text decoder's bytes that devices hold at least; the rest is for rounding. Engines may
# leave towers and draft layers out, and keep embeddings in system memory.
_SURELY_LOADED = 0.98


# Bytes of the largest devices of a kind, in some number, that hold none of the options.
_TOO_SMALL: ScopedCache[tuple[object, ...], int] = ScopedCache()
_OPTIONS: ScopedCache[tuple[object, ...], tuple[QuantOption, ...]] = ScopedCache()
_ENGINES_ON: ScopedCache[tuple[object, ...], tuple[Engine, ...]] = ScopedCache()
_OTHER_SPLITS: ScopedCache[tuple[str, Split], tuple[Split, ...]] = ScopedCache()


def enumerate_configs(
    study: Study,
    machine: Machine,
    *,
    usual: bool,
    whole: bool = False,
    is_dominated: Callable[[QuantOption], bool] = lambda option: False,
) -> Iterator[RunConfig]:
    """Yield the usual ways to run the model on a machine, or all others.

    Ways are in the order of the table of quantizations. `whole` requires all of the model on the
    devices; `is_dominated` is called for each option in turn, to skip it. Yields nothing if no
    engine runs the model on such devices or divides it over them.
    """
    memory = sum([gpu.device_memory_bytes for gpu in machine.gpus])
    alike = _holding_alike(machine, usual=usual) if whole and machine.is_uniform else None
    too_small = _TOO_SMALL.values(study.quants_scope)
    # No smaller device holds an option that a device of this kind did not.
    if alike is not None and _most_bytes(machine.gpu) <= too_small.get(alike, 0):
        return
    holds_nothing = True
    for option in options(study, machine, usual=usual):
        if whole and option.least_bytes > memory:
            continue
        if is_dominated(option):
            holds_nothing = False
            continue
        for config in configs_of(study, machine, option, whole=whole):
            holds_nothing = False
            yield config
    if alike is not None and holds_nothing:
        gpu = machine.gpu
        least = min(gpu.device_free_bytes, gpu.device_torch_memory_bytes)
        too_small[alike] = max(least, too_small.get(alike, 0))


def _holding_alike(machine: Machine, *, usual: bool) -> tuple[object, ...]:
    # The same options take the same memory on machines with the same key.
    gpu, devices = machine.gpu, len(machine.gpus)
    return usual, runnable(gpu.kernel_class), device_classes_of(gpu), devices, machine.ram_bytes


def _most_bytes(gpu: Gpu) -> int:
    # Engines count a device's memory differently; this is the largest count.
    return max(gpu.device_memory_bytes, gpu.device_torch_memory_bytes)


def options(study: Study, machine: Machine, *, usual: bool) -> tuple[QuantOption, ...]:
    """Return the usual options for the machine's kinds of devices, or all others; cached."""
    key = (usual, machine.is_uniform, *[runnable(gpu.kernel_class) for gpu in machine.kinds])
    make = _usual_options if usual else _other_options
    return _OPTIONS.get(study.quants_scope, key, lambda: tuple(make(study, machine)))


def _usual_options(study: Study, machine: Machine) -> Iterator[QuantOption]:
    # The first engine of each quantization to choose unasked.
    for quant, native in study.quants:
        if _is_usual(study, machine, quant, native):
            for engine in engines_on(study, machine, quant)[:1]:
                yield QuantOption(quant, native, engine, True, least_bytes(study, quant, native))


def _other_options(study: Study, machine: Machine) -> Iterator[QuantOption]:
    # Every engine that is not a quantization's first, and all of an unusual one.
    for quant, native in study.quants:
        first = _is_usual(study, machine, quant, native)
        for engine in engines_on(study, machine, quant)[int(first) :]:
            yield QuantOption(quant, native, engine, False, least_bytes(study, quant, native))


def engines_on(study: Study, machine: Machine, quant: Quant) -> tuple[Engine, ...]:
    """Return the engines that run the quantization on a machine, the usual one first."""
    engines = study.engines(quant)
    kinds = [runnable(gpu.kernel_class) for gpu in machine.kinds]
    key = (engines, quant.needs, machine.is_uniform, *kinds)
    return _ENGINES_ON.get(
        study.workload_scope,
        key,
        lambda: tuple(
            engine
            for engine in engines
            if (machine.is_uniform or engine.abilities.offloads)
            and study.support(engine).runs
            and all(runs_on(quant, engine, gpu) for gpu in machine.kinds)
        ),
    )


def _is_usual(study: Study, machine: Machine, quant: Quant, native: bool) -> bool:
    # FP4 is usual only on devices that multiply it.
    multiplied = quant.needs != "fp4" or all(has_units(quant, gpu) for gpu in machine.kinds)
    taken = study.requirements.takes(quant, study.profile) and multiplied
    return native or len(study.quants) == 1 or taken


def least_bytes(study: Study, quant: Quant, native: bool) -> float:
    """Return bytes of weights that are on devices under any engine; 0 with offloading."""
    workload = study.workload
    if workload.cpu_moe or workload.gpu_layers is not None or study.profile.pipeline is not None:
        return 0.0
    sizes = study.sizes(quant, native=native)
    return _SURELY_LOADED * (sizes.decoding + sizes.decoding_experts)


def configs_of(
    study: Study, machine: Machine, option: QuantOption, *, whole: bool = False
) -> Sequence[RunConfig]:
    """Return the ways of one option: on the GPUs alone, then with a part in system memory."""
    if not machine.is_uniform:
        return [
            config for config in _arranged(study, machine, option) if not (whole and config.in_part)
        ]
    gpu, usual = machine.gpu, option.is_usual
    estimate = study.whole(option, len(machine.gpus), device_class_of(option.engine, gpu))
    if estimate is None:
        return ()
    on_gpus = None
    if not whole or estimate.needed.likely <= gpu.device_memory_bytes:
        on_gpus = judged(study, machine, estimate, usual=usual)
        if on_gpus.verdict is Verdict.FITS:
            return (on_gpus,)
    others = _otherwise_divided(study, machine, estimate, usual=usual)
    if on_gpus is None or (whole and not on_gpus.verdict.all_on_gpu):
        return others
    # A part in system memory is tried for usual engines or a known size of it, unless the GPUs
    # suffice.
    if whole or on_gpus.verdict.all_on_gpu or not (usual or machine.ram_bytes is not None):
        return *others, on_gpus
    return *others, on_gpus, *_in_part(study, machine, on_gpus)


def _otherwise_divided(
    study: Study, machine: Machine, estimate: MemoryEstimate, *, usual: bool
) -> Sequence[RunConfig]:
    # Only ways that surely fit, since the engine's own division does not.
    if len(machine.gpus) < 2:
        return ()
    engine, split = estimate.engine, estimate.split
    splits = _OTHER_SPLITS.get(
        study.workload_scope,
        (engine.slug, split),
        lambda: tuple(other_splits(engine, study.profile, study.workload, split)),
    )
    configs = [judged(study, machine, study.reestimate(estimate, s), usual=usual) for s in splits]
    return [config for config in configs if config.verdict is Verdict.FITS]


def config_on_gpus(
    study: Study, machine: Machine, recipe: EngineRecipe, split: Split | None = None
) -> RunConfig | None:
    """Return the model divided over a machine's equal devices, None if they cannot share it.

    `split` is the division; None for the requested one or the engine's default.
    """
    quant, engine = recipe.quant, recipe.engine
    device_class = device_class_of(engine, machine.gpu)
    if split is None:
        estimate = study.whole(recipe, len(machine.gpus), device_class)
    else:
        estimate = study.estimate(quant, recipe.native, engine, split, device_class)
    return None if estimate is None else judged(study, machine, estimate)


def judged(
    study: Study, machine: Machine, estimate: MemoryEstimate, *, usual: bool = True
) -> RunConfig:
    """Return the way of an estimate on equal devices; each has to hold the fullest share."""
    gpu = machine.gpu
    memory = memory_of(estimate.engine, gpu)
    likely, least = estimate.spare(memory, gpu.free_bytes)
    # Offloaded weights and kept prefixes have to fit into system memory too; a GPU with shared
    # memory holds both, prefixes beside the share that the engine takes at once.
    in_part = keeps_part_in_memory(study.profile, study.workload, estimate)
    offloaded = estimate.host_bytes if in_part else 0
    needed, short = ram_needed(machine, estimate, offloaded)
    if machine.shares_memory:
        likely, least = likely - offloaded, least - offloaded
        likely, least = (min(left, -short) if short else left for left in (likely, least))
    fits = Verdict.FITS if least >= 0 else Verdict.TIGHT if likely >= 0 else Verdict.DOES_NOT_FIT
    verdict = Verdict.DOES_NOT_FIT if short else fits
    share = likely / memory if memory else 0.0
    reasons = (Note("rig_needs_ram", ram_bytes=needed),) if short else ()
    return RunConfig(
        machine, estimate, verdict, likely, share, usual, None, reasons, ram_short_bytes=short
    )


def keeps_part_in_memory(
    profile: ModelProfile, workload: Workload, estimate: MemoryEstimate
) -> bool:
    if not estimate.engine.abilities.offloads:
        return False
    layers, arch = workload.gpu_layers, profile.architecture
    some_layers = layers is not None and (arch is None or layers <= arch.layers)
    return some_layers or (workload.cpu_moe and bool(arch and arch.experts))


def not_supported(study: Study, machine: Machine) -> RunConfig:
    """Return a way with the reasons why no engine runs the model on a machine.

    Its estimate is of the first quantization under its first engine.
    """
    quant, native = study.quants[0]
    engine = engines_of(study, quant)[0]
    reasons = tuple(dict.fromkeys(_reasons(study, machine)))
    if machine.is_uniform:
        split = study.split(engine, len(machine.gpus)) or Split()
        device_class = device_class_of(engine, machine.gpu)
        config = judged(study, machine, study.estimate(quant, native, engine, split, device_class))
        return replace(config, verdict=Verdict.NOT_SUPPORTED, reasons=reasons)
    estimate = study.estimate(quant, native, engine, Split())
    return RunConfig(machine, estimate, Verdict.NOT_SUPPORTED, 0, 0.0, reasons=reasons)


def engines_of(study: Study, quant: Quant) -> tuple[Engine, ...]:
    """Return the engines that run the model at a quantization, else all of the quantization's."""
    return study.engines(quant) or tuple(ENGINES[slug] for slug in quant.engines)


def _reasons(study: Study, machine: Machine) -> Iterator[Note]:
    # The reason of the usual engine for each quantization.
    for quant, _ in study.quants:
        engine = engines_of(study, quant)[0]
        support = study.support(engine)
        unsupported = (why_not(quant, engine, gpu) for gpu in machine.gpus)
        why = next((note for note in unsupported if note is not None), None)
        if not support.cache:
            yield Note("engine_lacks_cache", engine=engine.name, dtype=study.workload.kv_dtype)
        elif not support.kind:
            yield Note("engine_of_other_models", engine=engine.name)
        elif why is not None:
            yield why
        elif support.refused:
            yield from support.refused
        elif not machine.gpus and not engine.abilities.offloads:
            yield Note("engine_needs_a_gpu", engine=engine.name)
        elif not machine.is_uniform and not engine.abilities.offloads:
            yield Note("engine_needs_one_kind", engine=engine.name)
        elif not machine.is_uniform:
            yield Note("layers_unknown")
        else:
            yield Note("cannot_be_divided", engine=engine.name, devices=len(machine.gpus))


def _in_part(study: Study, machine: Machine, on_gpus: RunConfig) -> Iterator[RunConfig]:
    estimate, profile = on_gpus.estimate, study.profile
    if machine.shares_memory:
        return
    if profile.pipeline is not None:
        yield from _in_turns(study, machine, on_gpus)
        return
    if not estimate.engine.abilities.offloads or profile.architecture is None:
        return
    if study.workload.gpu_layers is not None or asked_split(study.workload) is not None:
        return
    short, weights = -on_gpus.headroom_bytes, estimate.per_gpu.weights.likely
    if machine.ram_bytes is None and short > weights * (1 - _LEAST_SHARE):
        return
    load = load_of(study, machine, estimate)
    arranged = arrange(load)
    if arranged.verdict.runs:
        config = _arranged_way(machine, load, arranged, usual=on_gpus.is_usual)
        left, lacking = on_gpus.headroom_bytes, on_gpus.ram_short_bytes
        yield replace(config, estimate=estimate, headroom_bytes=left, ram_short_bytes=lacking)


def _in_turns(study: Study, machine: Machine, on_gpus: RunConfig) -> Iterator[RunConfig]:
    whole, free = on_gpus.estimate, machine.free_ram_bytes
    if free is not None and whole.sizes.total > free:
        return
    notes: list[Note] = []
    fitting = turns(study, machine, whole)
    for mode, estimate in fitting:
        # Every component starts in system memory and returns to it.
        facts = {"ram_bytes": whole.sizes.total, "gpu_bytes": estimate.per_gpu.total.likely}
        notes.append(Note(f"pipeline_offload_{mode}", **facts))
        if judged(study, machine, estimate).verdict is not Verdict.FITS:
            notes.append(Note("may_run_out"))
    if fitting:
        _, first = fitting[0]
        yield replace(on_gpus, verdict=Verdict.OFFLOAD, reasons=tuple(notes), in_turns=first)


def turns(
    study: Study, machine: Machine, whole: MemoryEstimate
) -> tuple[tuple[str, MemoryEstimate], ...]:
    """Return the modes of `cpu_offload` that fit, up to the first that surely does."""
    fitting: list[tuple[str, MemoryEstimate]] = []
    if study.profile.pipeline is None or "pipeline" not in whole.engine.abilities.kinds:
        return ()
    for mode in OFFLOADS[OFFLOADS.index(study.workload.cpu_offload) + 1 :]:
        estimate = study.with_workload(cpu_offload=mode).reestimate(whole)
        verdict = judged(study, machine, estimate).verdict
        if verdict.all_on_gpu:
            fitting.append((mode, estimate))
        if verdict is Verdict.FITS:
            break
    return tuple(fitting)


def _arranged(study: Study, machine: Machine, option: QuantOption) -> Iterator[RunConfig]:
    if study.profile.architecture is not None:
        load = load_of(study, machine, option)
        yield _arranged_way(machine, load, arrange(load), usual=option.is_usual)


def _arranged_way(machine: Machine, load: Load, arranged: Arranged, *, usual: bool) -> RunConfig:
    headroom, share = _headroom(machine, arranged)
    reasons = tuple(_about(machine, arranged))
    return RunConfig(
        machine, load.estimate, arranged.verdict, headroom, share, usual, arranged, reasons
    )


def load_of(study: Study, machine: Machine, recipe: EngineRecipe) -> Load:
    """Return the load to deal out: the model on one device of unlimited memory."""
    quant, engine = recipe.quant, recipe.engine
    estimate = study.estimate(quant, recipe.native, engine, Split(), machine.device_class)
    return Load(study.profile, study.workload, machine, engine, estimate)


def _headroom(machine: Machine, arranged: Arranged) -> tuple[int, float]:
    # Bytes to spare on the fullest device at the likely values, and as a share of its memory; of
    # system memory without devices.
    if arranged.devices:
        pairs = zip(arranged.devices, machine.gpus, strict=False)
        spare = [(gpu.device_free_bytes - share.total.likely, gpu) for share, gpu in pairs]
        least = min(bytes_left for bytes_left, _ in spare)
        return least, min(left / gpu.device_memory_bytes for left, gpu in spare)
    free = machine.free_ram_bytes or 0
    left = free - arranged.host.total.likely
    return left, left / free if free else 0.0


def _about(machine: Machine, arranged: Arranged) -> Iterator[Note]:
    if len(machine.gpus) > 1 and not arranged.default and arranged.verdict.runs:
        yield Note("rig_split_tuned")
    host = arranged.host.total.likely
    held = (arranged.host.weights + arranged.host.kv_cache).likely
    if arranged.verdict in (Verdict.OFFLOAD, Verdict.FROM_DISK):
        how, layers = arranged.how, arranged.of_layers
        if how.cpu_experts and how.gpu_layers == layers:
            yield Note("some_experts_in_memory", layers=how.cpu_experts, ram_bytes=held)
        else:
            yield Note("layers_that_fit", layers=how.gpu_layers, of_layers=layers, ram_bytes=held)
    if machine.free_ram_bytes is None and arranged.verdict is Verdict.OFFLOAD:
        yield Note("rig_needs_ram", ram_bytes=host)
