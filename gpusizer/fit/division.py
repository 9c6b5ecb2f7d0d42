"""Division of a model over devices, by an engine's default or as requested."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from gpusizer.core.errors import InvalidRequest
from gpusizer.core.messages import Note
from gpusizer.gpus import Gpu
from gpusizer.gpus.costs.power import is_whole_computer
from gpusizer.memory.engines import ENGINES, Engine, Split, find_engine
from gpusizer.memory.kv_cache import kv_cache_bytes
from gpusizer.memory.workload import Workload
from gpusizer.model.architecture import Architecture
from gpusizer.model.profile import ModelProfile

# Numbers of GPUs that are tried, smallest first.
COUNTS = (1, 2, 4, 8, 16, 32)

# Rows of embedding and head are padded to a multiple of this.
VOCABULARY_STEP = 64

_MOST_TENSOR = 8  # most ranks that divide matrices by default: one server
_SEQUENCE = 8192  # tokens whose caches are compared
_MAX_BOARDS_OF_A_CLUSTER = 32  # of those for datacenters
_MAX_BOARDS_OF_A_MACHINE = 8  # of one workstation or server


def max_boards(gpu: Gpu) -> int:
    """Return the largest number of boards of this kind that plans try."""
    if is_whole_computer(gpu):
        return 1
    return _MAX_BOARDS_OF_A_CLUSTER if gpu.is_for_servers else _MAX_BOARDS_OF_A_MACHINE


@lru_cache(maxsize=4096)  # visitors describe cards of their own
def board_counts(gpu: Gpu) -> tuple[int, ...]:
    """Return the numbers of boards that plans try, smallest first."""
    most = min(max_boards(gpu), COUNTS[-1] // gpu.devices_per_board)
    return tuple(count for count in COUNTS if count <= most)


def asked_split(workload: Workload) -> Split | None:
    """Return the requested parallelism, None if the request leaves it open."""
    tensor, pipeline = workload.tensor_parallel, workload.pipeline_parallel
    expert = workload.expert_parallel or 1
    if tensor is None and pipeline is None and expert == 1:
        return None
    tensor = tensor or expert
    data = expert // tensor if expert > 1 else 1
    return Split(tensor, pipeline or 1, data, expert)


def asked_boards(workload: Workload, gpu: Gpu) -> int | None:
    """Return the boards of the requested parallelism, None if the request leaves it open."""
    split = asked_split(workload)
    return None if split is None else -(-split.gpus // gpu.devices_per_board)


def split_for(engine: Engine, profile: ModelProfile, devices: int) -> Split | None:
    """Return how an engine divides a model over `devices`, None if it cannot."""
    if devices == 1:
        return Split()
    if engine.split_by == "none":
        return None
    layers = profile.architecture.layers if profile.architecture else 1
    # vLLM refuses a tensor-parallel degree that does not divide heads, widths and vocabulary; the
    # remaining devices become pipeline stages.
    if engine.split_by == "layer":
        return Split(pipeline=devices) if devices <= layers else None
    tensor = min(devices, _MOST_TENSOR)
    while tensor > 1 and (devices % tensor or not _all_divide(profile, tensor)):
        tensor -= 1
    pipeline = devices // tensor
    return Split(tensor, pipeline) if pipeline <= layers else None


def other_splits(
    engine: Engine, profile: ModelProfile, workload: Workload, taken: Split
) -> Iterator[Split]:
    """Yield divisions over one server that repeat less of the cache than `taken`."""
    # Tensor-parallel ranks repeat what they cannot share, such as MLA's latent (docs.vllm.ai, "Data
    # Parallel Deployment"; SGLang's `--enable-dp-attention`). First data-parallel attention with
    # routed experts on all ranks, then stages. Each data-parallel rank has its own cache, the only
    # one that its sequences use.
    arch = profile.architecture
    is_open = asked_split(workload) is None and workload.concurrency > 1 and profile.draft is None
    if arch is None or not is_open or taken.tensor == 1 or taken.gpus != taken.tensor:
        return
    if not repeats_cache(arch, workload.kv_dtype, taken.tensor):
        return
    devices = taken.gpus
    smaller = [tensor for tensor in range(devices // 2, 0, -1) if devices % tensor == 0]
    if engine.abilities.expert_parallel and (arch.experts or 0) >= devices:
        for tensor in smaller:
            if next(obstacles(arch, tensor, dealt=True), None) is None:
                yield Split(tensor, 1, devices // tensor, devices)
    if engine.abilities.stages:
        for tensor in smaller:
            if devices // tensor <= arch.layers and divides(arch, tensor):
                yield Split(tensor, devices // tensor)


@lru_cache(maxsize=4096)
def repeats_cache(arch: Architecture, kv_dtype: str, tensor: int) -> bool:
    """Whether tensor-parallel ranks together hold more cache of a sequence than one device."""
    one = kv_cache_bytes(arch, _SEQUENCE, 1, kv_dtype)
    return kv_cache_bytes(arch, _SEQUENCE, 1, kv_dtype, shards=tensor) * tensor > 1.01 * one


def _all_divide(profile: ModelProfile, tensor: int) -> bool:
    # A draft model has to divide too. False without a language model's configuration.
    models = (profile, profile.draft.profile) if profile.draft else (profile,)
    return all(model.architecture and divides(model.architecture, tensor) for model in models)


@lru_cache(maxsize=4096)
def divides(arch: Architecture, tensor: int) -> bool:
    """Whether the model can be divided among `tensor` tensor-parallel ranks."""
    return tensor == 1 or next(obstacles(arch, tensor, dealt=False), None) is None


def obstacles(arch: Architecture, tensor: int, *, dealt: bool) -> Iterator[Note]:
    """Yield the reasons against a tensor-parallel degree, none if it is accepted.

    With `dealt`, routed experts stay whole (expert parallelism) and their width need not divide.
    """
    # These are vLLM's rules, whose layers the other engines share or mirror: attention heads divide
    # by the degree (config/model.py, verify_with_parallel_config); key and value heads divide by it
    # or it by them (every model's attention class); MLP and expert widths divide (layers/linear.py,
    # fused_moe); the vocabulary is padded to a multiple of 64 and must then divide
    # (vocab_parallel_embedding.py). A fact that the configuration does not state refuses no degree.
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
    """Return the rows of embedding and head with padding.

    >>> padded_vocabulary(50_257)
    50304
    """
    return -(-rows // VOCABULARY_STEP) * VOCABULARY_STEP


def costs(arch: Architecture, tensor: int) -> Iterator[Note]:
    """Yield notes on what an accepted degree repeats or pads on the ranks."""
    if arch.kv_heads and tensor > arch.kv_heads:
        yield Note("kv_heads_repeated", kv_heads=arch.kv_heads, degree=tensor)
    if tensor > 1 and arch.vocab_size and arch.vocab_size % VOCABULARY_STEP:
        padded = padded_vocabulary(arch.vocab_size)
        yield Note("vocabulary_padded", rows=arch.vocab_size, padded=padded)


def resolve_experts(workload: Workload, profile: ModelProfile) -> tuple[Workload, tuple[Note, ...]]:
    """Return the workload with the degrees that expert parallelism implies, and notes.

    Raises InvalidRequest if the degree is no multiple of the tensor-parallel degree, or above the
    number of experts.
    """
    degree = workload.expert_parallel
    if degree is None or degree == 1:
        return replace(workload, expert_parallel=None), ()
    arch = profile.architecture
    if arch is None or not arch.experts:
        note = Note("no_routed_experts", degree=degree)
        return replace(workload, expert_parallel=None), (note,)
    dealing = [engine for engine in ENGINES.values() if engine.abilities.expert_parallel]
    if workload.engine is not None and find_engine(workload.engine) not in dealing:
        note = Note("not_modelled", facts="expert_parallel")
        return replace(workload, expert_parallel=None), (note,)
    if degree > arch.experts:
        raise _refusal(degree, "more_than_experts", experts=arch.experts)
    heads = arch.attention_heads or 1
    dividing = (n for n in range(_MOST_TENSOR, 0, -1) if degree % n == 0 and heads % n == 0)
    tensor = workload.tensor_parallel or next(dividing)
    if degree % tensor:
        raise _refusal(degree, "expert_ranks", tensor=tensor)
    engine = workload.engine or dealing[0].slug
    return replace(workload, engine=engine, tensor_parallel=tensor), ()


def refused_degrees(engine: Engine, workload: Workload, profile: ModelProfile) -> tuple[Note, ...]:
    """Return why an engine refuses the requested tensor-parallel degree, () if it does not."""
    arch, degree = profile.architecture, workload.tensor_parallel
    if arch is None or degree is None or engine.split_by != "tensor":
        return ()
    return tuple(obstacles(arch, degree, dealt=workload.expert_parallel is not None))


def _refusal(degree: int, reason: str, **facts: int) -> InvalidRequest:
    return InvalidRequest(field="expert_parallel", value=str(degree), reason=reason, **facts)
