"""Remedies: single changes of a plan that make it surely fit or help, one rule for each kind.

`pain` orders remedies: a switch without cost is near 0, half the context or half the bits cost a
few points, more hardware comes last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import log2
from typing import TypeVar

from gpusizer.advice.capacity_limits import Plan, longest_context
from gpusizer.core.bisection import largest_holding
from gpusizer.core.messages import Note
from gpusizer.core.units import MIB
from gpusizer.fit.division import asked_split, board_counts, max_boards
from gpusizer.fit.machine import Machine
from gpusizer.fit.run_config import usable_memory
from gpusizer.fit.verdict import Verdict
from gpusizer.gpus.gpu_limit import larger_limit
from gpusizer.gpus.own_memory import FreeMemory, with_memory
from gpusizer.memory.engines import Split
from gpusizer.memory.kv_cache import ALIASES, element_bytes, key_and_value_bytes
from gpusizer.memory.workload import OFFLOADS

_MOST_UTILIZATION = 97  # percent; the driver and other processes keep the rest
_PAGE_BYTES = 4096  # of ttm.pages_limit
_SEQUENCES = (512, 256, 128, 64, 32, 16, 8, 4, 2, 1)
_STEP_TOKENS = (8192, 4096, 2048, 1024, 512)
_UBATCHES = (256, 128, 64, 32)
_SHORTEST_CONTEXT = 1024
_BELOW_FOUR_BITS = 4.0  # extra pain of widths that rankings do not pick unasked
_OTHER_ENGINE = 2.0
_TURNS = (4.5, 11.0)  # pain of offloading whole components, and single layers, to system memory


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change that helps."""

    note: Note
    fields: Mapping[str, object]  # request fields that make it
    pain: float  # position in the list of suggestions
    plan: Plan  # the changed plan
    # whether the changed plan surely fits; otherwise the rule cannot go further
    enough: bool = True


_T = TypeVar("_T")
RemedyRule = Callable[[Plan], Iterator[Remedy]]


def round_context(tokens: int) -> int:
    """Return `tokens` rounded down to a usual length: a multiple of an eighth to a quarter of it.

    >>> [round_context(n) for n in (25_000, 13_000, 100_000, 8_191)]
    [24576, 12288, 98304, 7168]
    """
    step = 1 << max(0, (tokens // 4).bit_length() - 1)
    return tokens - tokens % step


def _first(
    plan: Plan, field: str, values: Iterable[_T], say: Callable[[_T], Note], pain: float
) -> Iterator[Remedy]:
    # The first value of a workload field that makes it fit, else the last.
    furthest = None
    for value in values:
        other = plan.with_workload(**{field: value})
        enough = other.surely_fits()
        furthest = Remedy(say(value), {field: value}, pain, other, enough)
        if enough:
            break
    if furthest is not None:
        yield furthest


def _flash_attention(plan: Plan) -> Iterator[Remedy]:
    if not plan.workload.flash_attention:
        yield from _first(
            plan, "flash_attention", [True], lambda on: Note("try_flash_attention"), 0.0
        )


def _memory_utilization(plan: Plan) -> Iterator[Remedy]:
    # Engines that budget a share of the card can take a larger one.
    share = plan.engine.utilization(plan.workload)
    if share < 1:
        above = range(int(share * 100) + 1, _MOST_UTILIZATION + 1)
        yield from _first(
            plan,
            "memory_utilization",
            [percent / 100 for percent in above],
            lambda s: Note(
                "try_memory_utilization", engine=plan.engine.name, percent=round(s * 100)
            ),
            1.0,
        )


def _refused_utilization(plan: Plan) -> Iterator[Remedy]:
    # vLLM refuses to start with a larger share than is free; the share can be lowered.
    fit = plan.config()
    if fit is None or not usable_memory(plan.machine.gpu, fit.estimate).refused_bytes:
        return
    default = plan.with_workload(memory_utilization=None).config()
    if default is not None:
        share = usable_memory(plan.machine.gpu, default.estimate).utilization
        yield from _first(
            plan,
            "memory_utilization",
            [share] if share else [],
            lambda s: Note(
                "try_lower_utilization", engine=plan.engine.name, percent=round(s * 100)
            ),
            0.5,
        )


def _gpu_limit(plan: Plan) -> Iterator[Remedy]:
    # A system that shares its memory with the GPU can be set to lend more of it.
    limit = larger_limit(plan.machine.gpu) if plan.machine.is_uniform else None
    if limit is None:
        return
    gpu = with_memory(plan.machine.gpu, FreeMemory(free_bytes=limit.limit_bytes))
    other = replace(plan, machine=Machine.with_boards(gpu, plan.machine.boards))
    if other.config() is None:
        return
    amounts = {"limit_bytes": limit.limit_bytes, "default_bytes": plan.machine.gpu.memory_bytes}
    settings = {"mib": limit.limit_bytes // MIB, "pages": limit.limit_bytes // _PAGE_BYTES}
    note = Note(f"try_gpu_limit_{limit.setting}", **amounts, **settings)
    yield Remedy(note, {"usable_gb": limit.gigabytes}, 1.5, other, other.surely_fits())


def _buffers(plan: Plan) -> Iterator[Remedy]:
    # Buffers are sized for the largest step of a data-parallel rank, which the scheduler limits.
    workload = plan.workload
    users = (asked_split(workload) or Split()).users_each(workload.concurrency)
    sequences = [n for n in _SEQUENCES if users <= n < (workload.max_num_seqs or 2**31)]
    yield from _first(
        plan, "max_num_seqs", sequences, lambda n: Note("try_max_num_seqs", sequences=n), 2.0
    )
    steps = [n for n in _STEP_TOKENS if n < (workload.max_num_batched_tokens or 2**31)]
    yield from _first(
        plan,
        "max_num_batched_tokens",
        steps,
        lambda n: Note("try_max_num_batched_tokens", tokens=n),
        2.4,
    )
    batches = [n for n in _UBATCHES if n < (workload.ubatch_size or 2**31)]
    yield from _first(
        plan, "ubatch_size", batches, lambda n: Note("try_ubatch_size", tokens=n), 2.6
    )


def _enforce_eager(plan: Plan) -> Iterator[Remedy]:
    if not plan.workload.enforce_eager:
        yield from _first(plan, "enforce_eager", [True], lambda on: Note("try_enforce_eager"), 3.0)


def _kv_cache(plan: Plan) -> Iterator[Remedy]:
    # Each narrower cache type: half the bits 4, a quarter of them 8.
    keys, values = key_and_value_bytes(plan.workload.kv_dtype)
    now = (keys + values) / 2
    abilities = plan.engine.abilities
    if abilities.cache_needs_flash_attention and not plan.workload.flash_attention:
        return
    proposed = abilities.proposed_caches
    for dtype in abilities.cache_types if proposed is None else proposed:
        narrower = element_bytes(dtype) < now and (dtype != "fp8" or plan.machine.gpu.fp8_support)
        halvings = round(log2(float(now / element_bytes(dtype))))
        if narrower:
            yield from _first(
                plan,
                "kv_dtype",
                [dtype],
                lambda kind: Note(
                    "try_kv_cache",
                    dtype=kind,
                    before=ALIASES.get(plan.workload.kv_dtype, plan.workload.kv_dtype),
                ),
                4.0 * max(1, halvings),
            )


def _context(plan: Plan) -> Iterator[Remedy]:
    # The longest usual context that fits; half of it costs 2.
    context = plan.workload.context
    longest = longest_context(plan)
    tokens = max(_SHORTEST_CONTEXT, round_context(min(longest or 0, context - 1)))
    if longest is not None and tokens < context:
        yield from _first(
            plan,
            "context",
            [tokens],
            lambda n: Note("try_context", context=n, asked=context),
            5.0 + 2 * log2(context / tokens),
        )


def _concurrency(plan: Plan) -> Iterator[Remedy]:
    # The most users that fit; half of them cost 2.
    concurrency = plan.workload.concurrency
    if concurrency == 1:
        return
    users = largest_holding(
        lambda n: plan.with_workload(concurrency=n).surely_fits(), concurrency - 1
    )
    yield from _first(
        plan,
        "concurrency",
        [users or 1],
        lambda n: Note("try_concurrency", concurrency=n, asked=concurrency),
        5.5 + 2 * log2(concurrency / (users or 1)),
    )


def _cpu_offload(plan: Plan) -> Iterator[Remedy]:
    # Components of a pipeline, or its layers, wait in system memory between their steps.
    if plan.study.profile.pipeline is None:
        return
    weaker = OFFLOADS.index(plan.workload.cpu_offload) + 1
    for mode, pain in zip(OFFLOADS[weaker:], _TURNS[weaker - 1 :], strict=True):
        for change in _first(
            plan, "cpu_offload", [mode], lambda m: Note(f"try_cpu_offload_{m}"), pain
        ):
            yield change
            if change.enough:
                return


def _quantization(plan: Plan) -> Iterator[Remedy]:
    # The most faithful narrower quantization, with its engine and with another one. If none fits,
    # the narrowest one that keeps four bits, with its engine if possible.
    engines_found: set[bool] = set()
    furthest: dict[bool, Plan] = {}
    for other in plan.requantized():
        same = other.engine == plan.engine
        narrower = other.quant.order > plan.quant.order
        if not narrower or same in engines_found or True in engines_found:
            continue
        if other.surely_fits():
            engines_found.add(same)
            yield _requantized(plan, other, enough=True)
        elif other.quant.recommended and other.config() is not None:
            furthest[same] = other
    if not engines_found and furthest:
        yield _requantized(plan, furthest.get(True) or furthest[False], enough=False)


def _requantized(plan: Plan, other: Plan, *, enough: bool) -> Remedy:
    same = other.engine == plan.engine
    before, bits = plan.quant, other.quant.bits
    pain = 6.0 + 2 * log2(max(1.0, before.bits / bits))
    pain += _BELOW_FOUR_BITS * (not other.quant.recommended) + _OTHER_ENGINE * (not same)
    note = Note("try_quant", quant=other.quant.name, before=before.name)
    change = {"quant": other.quant.slug, "engine": other.engine.slug}
    if not same:
        note = Note(
            "try_quant_engine", quant=other.quant.name, before=before.name, engine=other.engine.name
        )
    return Remedy(note, change, pain, other, enough)


def _more_gpus(plan: Plan) -> Iterator[Remedy]:
    # The smallest number of the same GPUs that works, else the largest.
    if not plan.machine.is_uniform:
        return
    gpu, machine = plan.machine.gpu, plan.machine
    everywhere = range(1, max_boards(gpu) + 1)
    counts = everywhere if plan.engine.split_by == "layer" else board_counts(gpu)
    furthest = None
    free = plan.with_workload(tensor_parallel=None, pipeline_parallel=None, expert_parallel=None)
    for boards in counts:
        if boards <= machine.boards:
            continue
        other = replace(free, machine=Machine.with_boards(gpu, boards, machine.ram_bytes))
        config = other.config()
        if config is None:
            continue
        enough = config.verdict is Verdict.FITS
        furthest = _with_boards(plan, other, config.estimate.split, enough=enough)
        if enough:
            break
    if furthest is not None:
        yield furthest


def _with_boards(plan: Plan, other: Plan, split: Split, *, enough: bool) -> Remedy:
    facts = {"count": other.machine.boards, "before": plan.machine.boards}
    note = Note("try_more_gpus", **facts)
    if split.tensor > 1 and split.pipeline == 1:
        note = Note("try_tensor_parallel", degree=split.tensor, **facts)
    change = {
        "gpu_count": other.machine.boards,
        "tensor_parallel": split.tensor,
        "pipeline_parallel": split.pipeline,
    }
    if plan.workload.expert_parallel is not None:
        change["expert_parallel"] = 1
    return Remedy(
        note, change, 9.0 + log2(other.machine.boards / plan.machine.boards), other, enough
    )


# Every kind of change that is tried.
RULES: tuple[RemedyRule, ...] = (
    _flash_attention,
    _memory_utilization,
    _refused_utilization,
    _gpu_limit,
    _buffers,
    _enforce_eager,
    _kv_cache,
    _context,
    _concurrency,
    _cpu_offload,
    _quantization,
    _more_gpus,
)
