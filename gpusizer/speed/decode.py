"""Decoding: seconds of one step, from the bytes read, FLOPs and bytes exchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from gpusizer.gpus import Gpu
from gpusizer.speed.classes import SERVING, board_of, decode_classes
from gpusizer.speed.kernels import (
    backends_of,
    cache_reads,
    expert_launch_seconds,
    launches_small_kernels,
    reads_of_weights,
    step_times,
    unpacking_seconds,
)
from gpusizer.speed.links import SECONDS_PER_HOP, exchange_seconds
from gpusizer.speed.prefill import flops_per_second
from gpusizer.speed.rate import RateBand
from gpusizer.speed.tables import Pace, decode_table, engine_limits, find, host_of, release_of
from gpusizer.speed.work import Work

# a step reads a recurrent state and writes it back
_STATE_PASSES = 2


class StepCost(NamedTuple):
    """The parts of a step's seconds that the constants of a class apply to.

    `seconds(pace)` = (reading + cache) / efficiency + layers x seconds per layer
    + expert layers x seconds per expert layer + fixed.
    """

    # seconds, bytes of weights over bandwidth
    reading: float
    # seconds, bytes of the caches of all sequences over bandwidth
    cache: float
    # number of layers, weighted by how their kernels run
    layers: float
    # seconds of the host, exchange between GPUs, scheduling of further sequences, launches without
    # graphs, unpacking of weights on cards that cannot overlap it
    fixed: float
    # seconds of the matrix products, a lower bound for reading weights
    computing: float
    # number of layers with routed experts, weighted likewise. Experts are read as other weights
    # are; router, top-k, gather and scatter take `Pace.seconds_per_expert_layer`, which no
    # bandwidth shortens.
    expert_layers: float = 0.0
    # the host launches kernels one by one while the GPU works, and the slower counts
    launched: bool = False

    def seconds(self, pace: Pace) -> float:
        """Return the seconds of the step with a class's constants."""
        weights = max(self.reading / pace.efficiency, self.computing)
        reading = weights + self.cache / pace.efficiency
        layers = self.in_layers(pace)
        return (max(reading, layers) if self.launched else reading + layers) + self.fixed

    def in_layers(self, pace: Pace) -> float:
        """Return the seconds of the step that no bandwidth shortens, layer by layer."""
        experts = self.expert_layers * pace.seconds_per_expert_layer
        return self.layers * pace.seconds_per_layer + experts


def step_cost(work: Work, gpu: Gpu, sequences: float, filled: float = 1.0) -> StepCost | None:
    """Return the cost of a step of `sequences` sequences; None if the bandwidth is unknown.

    `filled`: share of the context that is in their caches, on average.
    """
    # GPUs of a tensor-parallel group divide the reading; a layer split reads on one after the
    # other. Only serving engines keep the stages of a split busy with different sequences: a step
    # then holds its share of them. Data-parallel ranks each read all weights but routed experts for
    # their own sequences, and step together (docs.vllm.ai, "Data Parallel Deployment").
    if gpu.bandwidth_bytes_per_second is None:
        return None
    facts, cards = work.facts, work.tensor
    together = in_step(work, sequences)
    bandwidth = gpu.bandwidth_bytes_per_second / gpu.devices_per_board * cards
    share = work.expert_share_each(_of_stage(work, sequences))
    experts = work.expert_bytes * share
    computing = _computing(work, gpu, together) if together > 1 else 0.0
    if computing is None:
        return None
    exchange = exchange_seconds(gpu, cards, facts.hidden, together)
    grown = (facts.cache_bytes - facts.state_bytes) * filled
    cache = grown * cache_reads(work.kernels, gpu, facts.query_heads)
    cache += facts.state_bytes * _STATE_PASSES
    layers = facts.running_layers
    if work.kernels.llama_cpp:
        layers = facts.launched_layers
        layers += facts.small_layers if launches_small_kernels(gpu) else 0.0
    host, times = host_of(work.engine, facts.workload.engine_version), step_times(work.kernels, gpu)
    reads = reads_of_weights(work.family, gpu, work.quant)
    return StepCost(
        reading=(work.dense_bytes + experts) * reads / bandwidth,
        cache=cache * together / host.cache_efficiency / bandwidth,
        layers=layers * times.layer,
        expert_layers=facts.expert_layers * times.expert_layer,
        launched=work.kernels.launched,
        fixed=host.seconds
        + facts.layers * exchange
        + facts.layers * times.launch_seconds
        + facts.sink_layers * times.sinks_seconds
        + facts.delta_layers * times.delta_seconds
        + expert_launches(work)
        + unpacking_seconds(work.kernels, gpu, _weights(work), work.bits, work.quant) / cards
        + (work.pipeline - 1) * SECONDS_PER_HOP
        + (together - 1) * engine_limits(work.engine).seconds_per_sequence,
        computing=computing,
    )


def expert_launches(work: Work) -> float:
    """Return the seconds of a step in which kernels are launched for experts without tokens."""
    facts = work.facts
    release = release_of(facts.workload.engine_version)
    each = expert_launch_seconds(work.engine, release, work.quant, facts.experts)
    return facts.expert_layers * each


def in_step(work: Work, sequences: float) -> float:
    """Return the sequences that one GPU of the fullest data-parallel rank works on at a time."""
    return _of_stage(work, work.users_each(sequences))


def _of_stage(work: Work, sequences: float) -> float:
    stages = work.pipeline if work.family == SERVING else 1
    return max(1.0, sequences / stages)


_ONE_BACKEND = RateBand(1.0, 1.0)


def step_seconds(work: Work, gpu: Gpu, sequences: float, filled: float = 1.0) -> float | None:
    """Return the seconds in which each of `sequences` sequences gets a token."""
    cost = step_cost(work, gpu, sequences, filled)
    return None if cost is None else cost.seconds(pace_of(work, gpu))


def backend_band(work: Work, gpu: Gpu) -> RateBand:
    """Return the band of speeds over the backends that the request leaves open."""
    backends = backends_of(work.kernels, gpu)
    likely = step_seconds(work, gpu, 1) if len(backends) > 1 else None
    if likely is None:
        return _ONE_BACKEND
    stated = (replace(work, kernels=work.kernels._replace(backend=name)) for name in backends)
    ratios = [likely / seconds for w in stated if (seconds := step_seconds(w, gpu, 1))]
    return RateBand(min(ratios), max(ratios))


def pace_of(work: Work, gpu: Gpu) -> Pace:
    """Return the constants of that engine, format and class of GPU."""
    return decoding_as_on(work, gpu)[1]


def decoding_as_on(work: Work, gpu: Gpu) -> tuple[str, Pace]:
    """Return the class whose constants apply, and the constants."""
    return find(decode_table(), work.family, decode_classes(gpu), work.format, board_of(gpu))


def _computing(work: Work, gpu: Gpu, tokens: float) -> float | None:
    # 2 FLOP per active parameter and token, the head included
    rate = flops_per_second(work, gpu)
    if rate is None:
        return None
    return 2 * _weights(work) * tokens / rate


def _weights(work: Work) -> int:
    # weights that a token is multiplied with, the head included
    return work.facts.matrix_parameters + work.facts.head_parameters
