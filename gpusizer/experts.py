"""Degrees of parallelism asked for: how experts combine with the others, and what is refused.

vLLM's --enable-expert-parallel deals the routed experts out to all tensor x data ranks
(docs.vllm.ai, "Expert Parallel Deployment"); SGLang's --ep-size is the same where it equals them.
"""

from __future__ import annotations

from dataclasses import replace

from gpusizer.divisibility import obstacles
from gpusizer.engines import find_engine
from gpusizer.errors import InvalidRequest
from gpusizer.notes import Note
from gpusizer.profile import ModelProfile
from gpusizer.workload import Workload

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
    """Why engines that divide matrices refuse the tensor-parallel degree asked for."""
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
