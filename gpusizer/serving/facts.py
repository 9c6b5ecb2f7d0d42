"""Work of a server before any constant: seconds at data-sheet rates, limits of its engine."""

# Every amount is that of one replica's slowest rank. Data-parallel ranks step together, each for
# its part of the users: facts are those of one rank.

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

from gpusizer.core.paths import DATA_DIR
from gpusizer.core.tables import TableRow, read_table
from gpusizer.gpus import Gpu
from gpusizer.memory.engines import Engine, Split
from gpusizer.memory.engines.base import Placement
from gpusizer.memory.engines.vllm.engine import VllmEngine
from gpusizer.memory.engines.vllm.releases import vllm_release
from gpusizer.memory.engines.vllm.version_defaults import limits_of
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.kv_cache import cache_curve
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile
from gpusizer.speed.classes import decode_classes, prefill_classes
from gpusizer.speed.decode import expert_launches
from gpusizer.speed.links import REDUCES_PER_LAYER
from gpusizer.speed.prefill import arithmetic_of
from gpusizer.speed.tables import Release, host_of, release_of
from gpusizer.speed.work import Work, attention_flops

_ACTIVATION_BYTES = 2
_USUAL_PCIE = 32e9  # bytes per second, both directions: 4.0 x8, if the catalogue has none
_ONE_SERVER = 8  # most GPUs that share a machine


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """One replica under requests of one length. Seconds are at data-sheet rates."""

    # tokens of a request
    prompt: int
    answer: int
    # decoder layers
    layers: int
    # seconds of reading the weights of every step, and all routed experts
    dense: float
    experts: float
    # share of the experts that one token does not choose; 0 for dense models
    unused: float
    # seconds of reading one sequence's cache, halfway through its answer
    cache: float
    # seconds of a token's products at the peak of `arithmetic`
    product: float
    # seconds of a prompt token's attention, at the 16-bit peak
    attention: float
    # seconds in which one token's all-reduces cross the link
    traffic: float
    # all-reduces of a step; 0 on one GPU
    reduces: int
    # seconds of a step in which experts are launched one by one
    launching: float
    # sequences whose caches fit the pool at once, None if caches do not grow
    room: float | None
    # sequences whose caches fit at the end of their answers
    room_whole: float | None
    # data-parallel ranks, and stages of a pipeline that work side by side
    ranks: int
    stages: int
    scheduler: Scheduler
    # the remaining fields select constants; `generation` is that of the engine's release
    # (`data/speed_hosts.csv`)
    engine: str
    generation: str
    arithmetic: str
    link: str
    memory_classes: tuple[str, ...]
    compute_classes: tuple[str, ...]
    is_moe: bool
    eager: bool

    @classmethod
    def from_estimate(
        cls,
        work: Work,
        profile: ModelProfile,
        estimate: MemoryEstimate,
        gpu: Gpu,
        pool_bytes: int,
        answer: int,
    ) -> ServerFacts | None:
        """Return the facts of one entry of a ranking, for prompts of the work's length.

        None without an architecture, or if the catalogue lacks the bandwidth or the peak. `work` is
        that of `estimate`, `pool_bytes` the cache memory of one GPU.
        """
        arch = profile.architecture
        if arch is None:
            return None
        scheduler = scheduler_of(profile, work.facts.workload, estimate)
        return cls.of_work(work, arch, estimate.kv_dtype, scheduler, gpu, pool_bytes, answer)

    @classmethod
    def of_work(
        cls,
        work: Work,
        arch: Architecture,
        kv_dtype: str,
        scheduler: Scheduler,
        gpu: Gpu,
        pool_bytes: int,
        answer: int,
    ) -> ServerFacts | None:
        """Return the facts of a pass of a model or of its draft, or None as in `of`."""
        facts, prompt = work.facts, work.facts.prompt
        arithmetic, peak = arithmetic_of(work, gpu)
        bandwidth, half_peak = gpu.bandwidth_bytes_per_second, gpu.fp16_flops
        if peak is None or half_peak is None or bandwidth is None:
            return None
        board, tensor = gpu.devices_per_board, work.tensor
        rate = bandwidth / board * tensor
        curve = cache_curve(arch, kv_dtype, tensor)
        middle, whole = curve.bytes_at(prompt + answer // 2), curve.bytes_at(prompt + answer)
        stages = work.pipeline
        link, link_rate = _link(gpu, tensor)
        sent = 2 * (tensor - 1) / tensor * facts.hidden * _ACTIVATION_BYTES
        return cls(
            prompt=prompt,
            answer=answer,
            layers=facts.layers,
            dense=work.dense_bytes / rate,
            experts=work.expert_bytes / work.data / rate,
            unused=1 - facts.experts_per_token / facts.experts if work.is_moe else 0.0,
            cache=middle / (bandwidth / board),
            product=2 * (facts.matrix_parameters + facts.head_parameters) * board / peak / tensor,
            attention=attention_flops(arch, prompt) * board / half_peak / tensor,
            traffic=REDUCES_PER_LAYER * facts.layers * sent / link_rate,
            reduces=REDUCES_PER_LAYER * facts.layers if tensor > 1 else 0,
            launching=expert_launches(work),
            room=pool_bytes * stages / middle if middle else None,
            room_whole=pool_bytes * stages / whole if whole else None,
            ranks=work.data,
            stages=stages,
            scheduler=scheduler,
            engine=work.engine,
            generation=host_of(work.engine, facts.workload.engine_version).generation,
            arithmetic=arithmetic,
            link=link,
            memory_classes=decode_classes(gpu),
            compute_classes=prefill_classes(gpu),
            is_moe=work.is_moe,
            eager=facts.workload.enforce_eager,
        )


def _link(gpu: Gpu, cards: int) -> tuple[str, float]:
    # class of the link between `cards` GPUs, and bytes per second that one of them sends
    rate = gpu.interconnect_bytes_per_second
    boards = -(-cards // gpu.devices_per_board)
    if rate is not None and gpu.fabric_joins(boards):
        return "fabric", rate / 2
    if cards > _ONE_SERVER:
        return "nodes", (gpu.pcie_bytes_per_second or _USUAL_PCIE) / 2
    kind = "pcie_peer" if gpu.is_for_servers else "pcie"
    return kind, (gpu.pcie_bytes_per_second or _USUAL_PCIE) / 2


# Generation of hosts that plan a step while the GPU works on the last (`speed_hosts.csv`).
AHEAD = "third"
SCHEDULER_TABLE = DATA_DIR / "serving_schedulers.csv"
Order = Literal["mixed", "prompts_first"]
Holds = Literal["middle", "whole"]

_ORDERS, _HOLDS = ("mixed", "prompts_first"), ("middle", "whole")
_USUAL_STEP_TOKENS = 512  # llama.cpp's ubatch


@dataclass(frozen=True, slots=True)
class Scheduler:
    """Batching rules of an engine."""

    # "mixed" steps hold every running sequence and pieces of prompts; "prompts_first" reads waiting
    # prompts in separate steps, and answers wait
    order: Order
    # share of the pool of an admitted sequence: "whole" reserves its answer, "middle" takes blocks
    # as the answer grows
    holds: Holds
    # most tokens of one step
    step_tokens: int
    # most sequences of one rank
    max_sequences: int
    # tokens of the largest step with prompts that runs as captured graphs
    graph_tokens: int


def scheduler_of(profile: ModelProfile, workload: Workload, estimate: MemoryEstimate) -> Scheduler:
    """Return the scheduler of an estimate's engine at the request's version and limits."""
    return _scheduler(profile, workload, estimate.engine, estimate.split, estimate.device_class)


@lru_cache(maxsize=64)
def _scheduler(
    profile: ModelProfile, workload: Workload, engine: Engine, split: Split, device_class: int
) -> Scheduler:
    # cached for all entries of a ranking that divide the model alike
    slug = engine.slug
    placement = Placement(profile, replace(workload, concurrency=1), split, device_class)
    if isinstance(engine, VllmEngine):
        release = vllm_release(workload.engine_version)
        limits = limits_of(placement, release)
        rules = _rules_of(f"{slug}-v0" if release.profiles_whole_prompts else slug, None)
        tokens, sequences = limits.tokens, limits.sequences
    else:
        rules = _rules_of(slug, workload.engine_version)
        tokens = engine.step_tokens(placement) or _USUAL_STEP_TOKENS
        sequences = workload.max_num_seqs or rules.max_sequences
    graphs = 0 if workload.enforce_eager else rules.graph_tokens
    return replace(rules, step_tokens=tokens, max_sequences=sequences, graph_tokens=graphs)


def _rules_of(name: str, version: str | None) -> Scheduler:
    # rules of an engine's release; of the newest without a version
    release = release_of(version)
    return next(
        rules
        for engine, until, rules in _rules()
        if engine == name and (until is None or (release is not None and release < until))
    )


@cache
def _rules() -> tuple[tuple[str, Release | None, Scheduler], ...]:
    # (engine, release from which the rules no longer hold, rules with default limits), the oldest
    # releases of an engine first
    return read_table(SCHEDULER_TABLE, _row)


def _row(row: TableRow) -> tuple[str, Release | None, Scheduler]:
    order: Order = "mixed" if row.one_of("order", _ORDERS) == "mixed" else "prompts_first"
    holds: Holds = "whole" if row.one_of("holds", _HOLDS) == "whole" else "middle"
    most, graphs = (row.optional(name, int) or 0 for name in ("max_sequences", "graph_tokens"))
    until = release_of(row.optional("until", str))
    return row.text("engine"), until, Scheduler(order, holds, _USUAL_STEP_TOKENS, most, graphs)
