"""RigPlan: the best way to run a model on a rig, and the switches of llama.cpp that say so."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpusizer.engines import Engine, Split
from gpusizer.errors import InvalidRequest
from gpusizer.fit import OFFLOAD_ENGINES, Fitter, Verdict
from gpusizer.inverse import largest_holding
from gpusizer.kv_cache import grows, llama_cpp_types
from gpusizer.memory import MemoryEstimate
from gpusizer.notes import Note
from gpusizer.quants import Quant
from gpusizer.rig.arranging import Arranged, arrange, judged
from gpusizer.rig.machine import Rig
from gpusizer.rig.shares import Load
from gpusizer.rig.speed import rig_rate
from gpusizer.speed import Rate
from gpusizer.workload import MOST_CONTEXT, Workload


@dataclass(frozen=True, slots=True)
class RigPlan:
    """How a model runs on one machine.

    Attributes:
        estimate: the model on one device with all memory it wants, for what does not depend on
            the machine.
        arranged: what is where, and whether it fits.
        max_context: longest single sequence that surely fits in the same arrangement, None where
            the cache does not grow.
        decode: tokens/s of one user; None where part of it is in system memory, whose speed
            nobody stated, or a card's is not known.
        flags: switches of llama-server.
        notes: what the reader must know.
    """

    rig: Rig
    workload: Workload
    estimate: MemoryEstimate
    arranged: Arranged
    max_context: int | None
    decode: Rate | None
    flags: tuple[str, ...]
    notes: tuple[Note, ...]

    @property
    def verdict(self) -> Verdict:
        return self.arranged.verdict

    @property
    def headroom_bytes(self) -> int:
        """To spare on the fullest device at the likely values, or in system memory without any."""
        made, rig = self.arranged, self.rig
        if made.devices:
            pairs = zip(made.devices, rig.gpus, strict=False)
            return min(gpu.device_memory_bytes - share.total.likely for share, gpu in pairs)
        return (rig.free_ram_bytes or 0) - made.host.total.likely


def plan_rig(fitter: Fitter, rig: Rig, *, explore: bool = True) -> RigPlan:
    """The best way to run the fitter's model there.

    The most faithful of its quantizations that surely fits the cards, else one that is tight;
    else the most faithful of the fewest bits with a part in system memory; where nothing fits
    the narrowest tells what is missing. Raises InvalidRequest where llama.cpp runs
    none of them, or the layers of the model are not known.

    Without `explore` the longest context and the speed, which take most of the time, are None.
    """
    best: tuple[tuple[float, ...], Load, Arranged] | None = None
    for load in _loads(fitter, rig):
        made = arrange(load)
        rank = _preference(made.verdict, load.estimate.quant)
        if best is None or rank < best[0]:
            best = (rank, load, made)
        if made.verdict is Verdict.FITS:
            break
    if best is None:
        names = ", ".join(quant.slug for quant, _ in fitter.quants)
        raise InvalidRequest(field="quant", value=names[:80], reason="rig_quant")
    return _planned(best[1], best[2], explore=explore)


def _preference(verdict: Verdict, quant: Quant) -> tuple[float, ...]:
    if verdict is Verdict.OFFLOAD:
        return (verdict.place, quant.bits, quant.order)
    narrowest = verdict is Verdict.DOES_NOT_FIT
    return (verdict.place, 0, -quant.order if narrowest else quant.order)


def _loads(fitter: Fitter, rig: Rig) -> Iterator[Load]:
    """Every quantization that llama.cpp runs, the most faithful first."""
    profile, workload = fitter.profile, fitter.workload
    if workload.engine is not None and workload.engine not in OFFLOAD_ENGINES:
        raise InvalidRequest(field="engine", value=workload.engine, reason="rig_engine")
    if profile.architecture is None:
        raise InvalidRequest(field="rig", value=profile.repo_id, reason="rig_layers_unknown")
    for quant, native in sorted(fitter.quants, key=lambda pair: pair[0].order):
        engine = _engine(fitter, quant)
        if engine is not None:
            estimate = fitter.estimate(quant, native, engine, Split(), rig.device_class)
            yield Load(profile, workload, rig, engine, estimate)


def _engine(fitter: Fitter, quant: Quant) -> Engine | None:
    return next((one for one in fitter.engines(quant) if one.slug in OFFLOAD_ENGINES), None)


def _planned(load: Load, made: Arranged, *, explore: bool) -> RigPlan:
    notes = list(load.rig.notes)
    if load.rig.gpus and len(load.rig.gpus) > 1 and not made.default:
        notes.append(Note("rig_split_tuned"))
    if load.rig.free_ram_bytes is None and made.verdict is Verdict.OFFLOAD:
        notes.append(Note("rig_needs_ram", ram_bytes=made.host.total.likely))
    if made.verdict is Verdict.OFFLOAD:
        notes.append(Note("rig_speed_unknown"))
    kind = load.workload.kv_dtype
    if llama_cpp_types(kind) is None:
        notes.append(Note("launch_cache_type", engine=load.engine.slug, kv_dtype=kind))
    return RigPlan(
        rig=load.rig,
        workload=load.workload,
        estimate=load.estimate,
        arranged=made,
        max_context=_longest(load, made) if explore else None,
        decode=rig_rate(load, made) if explore else None,
        flags=flags(load, made),
        notes=tuple(notes),
    )


def _longest(load: Load, made: Arranged) -> int | None:
    """Bounded by the model; the arrangement stays, so that the switches given hold it."""
    arch = load.profile.architecture
    if arch is None or not grows(arch):
        return None
    limit = min(arch.max_context or MOST_CONTEXT, MOST_CONTEXT)

    def holds(context: int) -> bool:
        other = replace(load, workload=replace(load.workload, context=context, concurrency=1))
        again = judged(other, made.how, default=made.default)
        every = {*again.verdicts, again.host_verdict or Verdict.FITS}
        return every == {Verdict.FITS}

    return largest_holding(holds, limit)


def flags(load: Load, made: Arranged) -> tuple[str, ...]:
    """Switches of llama-server for this arrangement: -c is for all sequences together."""
    workload, how = load.workload, made.how
    words = ["-c", str(workload.context * workload.concurrency)]
    if workload.concurrency > 1:
        words += ["-np", str(workload.concurrency)]
    words += ["-ngl", str(how.gpu_layers)]
    if how.gpu_layers and len(load.rig.gpus) > 1 and not made.default:
        words += ["-ts", ",".join(map(str, how.split))]
    if how.cpu_experts:
        words += ["--n-cpu-moe", str(how.cpu_experts)]
    types = llama_cpp_types(workload.kv_dtype)
    if types is not None and types != ("f16", "f16"):
        words += ["-ctk", types[0], "-ctv", types[1]]
    if not workload.flash_attention:
        words += ["-fa", "off"]
    for switch, size in (("-b", workload.batch_size), ("-ub", workload.ubatch_size)):
        words += [switch, str(size)] if size else []
    return tuple(words)
