"""Degrees of parallelism: those that serving engines accept for a model, and those a request asks
for.

Tensor parallelism follows vLLM's rules, whose layers the other engines share or mirror: attention
heads divide by the degree (config/model.py, verify_with_parallel_config); key and value heads
divide by it or it by them (every model's attention class); MLP and expert widths divide
(layers/linear.py, fused_moe); the vocabulary is padded to a multiple of 64 and must then divide
(vocab_parallel_embedding.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.memory.engines import find_engine
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile

VOCABULARY_STEP = 64
"""Rows of embedding and head are padded to a multiple of this."""


@lru_cache(maxsize=4096)
def divides(arch: Architecture, tensor: int) -> bool:
    """Whether the model can be divided among so many tensor-parallel ranks."""
    return tensor == 1 or next(obstacles(arch, tensor, dealt=False), None) is None


def obstacles(arch: Architecture, tensor: int, *, dealt: bool) -> Iterator[Note]:
    """Yield the reasons why a tensor-parallel degree is refused, none for an accepted one.

    `dealt`: routed experts stay whole (expert parallelism), so that their width need not divide.
    Facts that the configuration does not state refuse no degree.
    """
    heads, kv_heads = arch.attention_heads, arch.kv_heads
    if heads and heads % tensor:
        yield Note("heads_not_divisible", heads=heads, degree=tensor)
    elif kv_heads and kv_heads % tensor and tensor % kv_heads:
        yield Note("kv_heads_not_divisible", kv_heads=kv_heads, degree=tensor)
    width = arch.intermediate_size
    if arch.experts:
        width = None if dealt else arch.expert_width
    if width and width % tensor:
        yield Note("width_not_divisible", width=width, degree=tensor)
    if arch.vocab_size and padded_vocabulary(arch.vocab_size) % tensor:
        rows = padded_vocabulary(arch.vocab_size)
        yield Note("vocabulary_not_divisible", rows=rows, degree=tensor)


def padded_vocabulary(rows: int) -> int:
    """Rows of embedding and head once padded.

    >>> padded_vocabulary(50_257)
    50304
    """
    return -(-rows // VOCABULARY_STEP) * VOCABULARY_STEP


def costs(arch: Architecture, tensor: int) -> Iterator[Note]:
    """Notes on what an accepted degree repeats or pads on the ranks."""
    if arch.kv_heads and tensor > arch.kv_heads:
        yield Note("kv_heads_repeated", kv_heads=arch.kv_heads, degree=tensor)
    if tensor > 1 and arch.vocab_size and arch.vocab_size % VOCABULARY_STEP:
        padded = padded_vocabulary(arch.vocab_size)
        yield Note("vocabulary_padded", rows=arch.vocab_size, padded=padded)


EXPERT_ENGINES = ("vllm", "sglang")
"""Engines whose expert parallelism is modelled; the first is the one meant by default."""

_MOST_TENSOR = 8  # one server; the remaining ranks are data-parallel


def resolve_experts(workload: Workload, profile: ModelProfile) -> tuple[Workload, tuple[Note, ...]]:
    """The workload with the degrees that expert parallelism implies.

    Raises InvalidRequest where the degree is no multiple of the tensor-parallel one, or more
    than there are experts.
    """
    degree = workload.expert_parallel
    if degree is None or degree == 1:
        return replace(workload, expert_parallel=None), ()
    arch = profile.architecture
    if arch is None or not arch.experts:
        note = Note("no_routed_experts", degree=degree)
        return replace(workload, expert_parallel=None), (note,)
    if workload.engine is not None and workload.engine not in EXPERT_ENGINES:
        note = Note("not_modelled", facts="expert_parallel")
        return replace(workload, expert_parallel=None), (note,)
    if degree > arch.experts:
        raise _refusal(degree, "more_than_experts", experts=arch.experts)
    tensor = workload.tensor_parallel or _tensor(degree, arch.attention_heads or 1)
    if degree % tensor:
        raise _refusal(degree, "expert_ranks", tensor=tensor)
    engine = workload.engine or EXPERT_ENGINES[0]
    return replace(workload, engine=engine, tensor_parallel=tensor), ()


def refused_degrees(workload: Workload, profile: ModelProfile) -> tuple[Note, ...]:
    """Why engines that divide matrices refuse the requested tensor-parallel degree."""
    arch, degree = profile.architecture, workload.tensor_parallel
    other = workload.engine is not None and find_engine(workload.engine).split_by != "tensor"
    if arch is None or degree is None or other:
        return ()
    return tuple(obstacles(arch, degree, dealt=workload.expert_parallel is not None))


def _tensor(degree: int, heads: int) -> int:
    """The largest tensor-parallel degree of one server that divides ranks and heads."""
    return next(n for n in range(_MOST_TENSOR, 0, -1) if degree % n == 0 and heads % n == 0)


def _refusal(degree: int, reason: str, **facts: int) -> InvalidRequest:
    return InvalidRequest(field="expert_parallel", value=str(degree), reason=reason, **facts)
