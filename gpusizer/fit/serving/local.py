"""Servers of local engines (llama.cpp, exllama, MLX …): the steps of `fit/speed` as a server's.

Nobody's runs under load were found for them, so that their constants are those of one user's steps
and of one prompt (`speed/decode.py`, `speed/prefill.py`).
"""

from __future__ import annotations

from gpusizer.fit.serving.facts import ServerFacts
from gpusizer.fit.serving.server import Server, admitted
from gpusizer.fit.speed.decode import pace_of, step_cost
from gpusizer.fit.speed.kernels import cache_reads
from gpusizer.fit.speed.links import exchange_seconds, link_of
from gpusizer.fit.speed.prefill import flops_per_second, prompt_token_seconds
from gpusizer.fit.speed.tables import CACHE_EFFICIENCY, engine_limits
from gpusizer.fit.speed.work import ModelFacts, Work
from gpusizer.gpus import Gpu
from gpusizer.memory.estimate import MemoryEstimate
from gpusizer.memory.workload import Workload
from gpusizer.model.profile import ModelProfile


def local_server(
    known: ServerFacts,
    profile: ModelProfile,
    workload: Workload,
    estimate: MemoryEstimate,
    gpu: Gpu,
) -> Server | None:
    """The server of a place of a ranking, whose limits are `known`; None where its speed is not."""
    prompt, answer = known.prompt, known.answer
    facts = ModelFacts.of(profile, workload, prompt)
    if facts is None:
        return None
    work = Work.of(facts, estimate)
    cost, token = step_cost(work, gpu, 1), prompt_token_seconds(work, gpu)
    rate, bandwidth = flops_per_second(work, gpu), gpu.bandwidth_bytes_per_second
    if cost is None or token is None or rate is None or bandwidth is None:
        return None
    pace = pace_of(work, gpu)
    speed = bandwidth / gpu.devices_per_board * work.tensor * pace.efficiency
    filled = (prompt + answer / 2) / facts.context
    cache = facts.cache_bytes * cache_reads(work.kernels, gpu, facts.query_heads) * filled
    product = 2 * (facts.matrix_parameters + facts.head_parameters) / rate
    link = link_of(gpu, work.tensor)
    alone = exchange_seconds(link, work.tensor, facts.hidden, 0.0)
    traffic = exchange_seconds(link, work.tensor, facts.hidden, 1.0) - alone
    return Server(
        prompt=prompt,
        answer=answer,
        ranks=1,
        stages=1,
        scheduler=known.scheduler,
        dense=work.dense_bytes / speed,
        experts=work.expert_bytes / speed,
        unused=known.unused,
        cache=cache / CACHE_EFFICIENCY / speed,
        product=product,
        attention=max(0.0, token - product),
        traffic=facts.layers * traffic,
        latency=facts.layers * alone,
        host=cost.in_layers(pace) + _besides(work, gpu),
        prompt_host=0.0,
        sequence=engine_limits(work.engine).seconds_per_sequence,
        stream=0.0,
        request=0.0,
        most=admitted(known),
    )


def _besides(work: Work, gpu: Gpu) -> float:
    """Seconds of a step for launches, unpacking and hops, which no constant of a class scales."""
    cost = step_cost(work, gpu, 1)
    exchanged = exchange_seconds(link_of(gpu, work.tensor), work.tensor, work.facts.hidden, 1.0)
    return 0.0 if cost is None else max(0.0, cost.fixed - work.facts.layers * exchanged)
