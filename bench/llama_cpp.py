"""Predictions for llama.cpp's allocation lines and for whole processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from bench import hf_mem_answers, naive
from bench.comparison import Comparison
from bench.hf_mem_answers import Rival
from bench.measurements import Row
from bench.models import load_profile
from gpusizer.architecture import Attention
from gpusizer.engines import Engine, Split, find_engine
from gpusizer.engines.llama_cpp import CUDA, LLAMA_CPP, METAL, ROCM, SYCL, VULKAN
from gpusizer.engines.llama_versions import CacheRules, Latent
from gpusizer.errors import UnknownQuant
from gpusizer.fit import Fitter
from gpusizer.memory import MemoryEstimate
from gpusizer.profile import ModelProfile
from gpusizer.quants import Quant, all_quants, find_quant
from gpusizer.quants.native import native_quant
from gpusizer.quants.table import as_published
from gpusizer.roles import Part
from gpusizer.weight_sizes import weight_sizes
from gpusizer.workload import Workload

_ENGINES = {"ollama": "ollama"}  # everything else is llama.cpp to gpusizer
_ANY_QUANT = "gguf-f16"  # the cache and the compute buffer do not depend on it
_SIXTEEN_BITS = frozenset({"F16", "BF16"})
_LABELS = {"MXFP4": "mxfp4_moe", "F16": "gguf-f16", "BF16": "gguf-f16", "F32": "gguf-f32"}
_FORK = "ik_llama.cpp"
_HOST = ("CPU", "Host")
_BACKENDS = {"ROCm": ROCM, "SYCL": SYCL, "Metal": METAL, "Vulkan": VULKAN}
_TEXT = (Part.TEXT, Part.MTP, Part.ENCODER)
_LOADED_TWICE = 1.02  # more than the file: a tied embedding, or mapped pages counted twice


@dataclass(frozen=True, slots=True)
class Run:
    """A row as a request, and the answer on one GPU and on as many as ran."""

    row: Row
    profile: ModelProfile
    quant: Quant | None
    native: bool
    engine: Engine
    whole: MemoryEstimate
    shared: MemoryEstimate


@cache
def text_profile(repo_id: str) -> ModelProfile:
    """The model without its vision or audio towers, which GGUF keeps in a file of their own."""
    profile = load_profile(repo_id)
    groups = tuple(group for group in profile.groups if group.part in _TEXT)
    return replace(profile, groups=groups, parameters=sum(group.parameters for group in groups))


def gguf_quant(label: str | None, profile: ModelProfile) -> tuple[Quant, bool] | None:
    """The quantization a label stands for and whether it is the checkpoint as stored.

    Models released in MXFP4 keep it in files labelled F16. None for a recipe of GGUF that
    gpusizer does not know.
    """
    stored = profile.quantization.method if profile.quantization else ""
    if stored == "mxfp4" and label in _SIXTEEN_BITS:
        return native_quant(profile), True
    try:
        quant = find_quant(_LABELS.get(label or "", label or ""))
    except UnknownQuant:
        return None
    return (quant, False) if "llama.cpp" in quant.engines else None


def compare(row: Row) -> Iterator[Comparison]:
    """Every component that the row measured and that a prediction exists for."""
    run = _run(row)
    if row["measure_kind"] == "process":
        yield from _process(run)
        return
    yield from _weights(run)
    yield from _cache(run)
    yield from _compute(run)


def _run(row: Row) -> Run:
    profile = text_profile(row["profile"])
    engine = _engine(row)
    known = gguf_quant(row.get("quant"), profile)
    alike = known or _of_that_size(row, profile)
    quant, native = alike or (find_quant(_ANY_QUANT), False)
    quant = as_published(quant, row.get("gguf_repo", "").partition("/")[0])
    fitter = Fitter(profile, _workload(row, alike is not None), [(quant, native)])
    backend = _BACKENDS.get(row["backends"][0], CUDA)
    whole, shared = (
        fitter.estimate(quant, native, engine, Split(pipeline=gpus), backend)
        for gpus in (1, max(1, row["gpu_count"]))
    )
    return Run(row, profile, quant if known else None, native, engine, whole, shared)


def _of_that_size(row: Row, profile: ModelProfile) -> tuple[Quant, bool] | None:
    """For a mix made by hand, the recipe whose file is nearest in size: its largest matrix
    stands for the mix's."""
    file_bytes = row.get("file_bytes")
    if file_bytes is None or row.get("offload") != "overrides" or row["program"] == _FORK:
        return None
    recipes = [quant for quant in all_quants() if "llama.cpp" in quant.engines]
    sizes = {quant.slug: weight_sizes(profile, quant, native=False).total for quant in recipes}
    return min(recipes, key=lambda quant: abs(sizes[quant.slug] - file_bytes)), False


def _engine(row: Row) -> Engine:
    """What ran. ik_llama.cpp caches windows at full length, as llama.cpp did when it was forked,
    and a latent as `-mla` says: 0 expands it, 1 keeps values apart without flash attention
    (ikawrakow/ik_llama.cpp, PR 473)."""
    if row["program"] != _FORK:
        return find_engine(_ENGINES.get(row["program"], "llama.cpp"))
    latent = Latent.HEADS if _expanded(row) else Latent.ONCE
    if row.get("mla_mode") == 1 and not row.get("flash_attention", True):
        latent = Latent.TWICE
    return replace(LLAMA_CPP, builds=(CacheRules(0, latent, windows=False),))


def _expanded(row: Row) -> bool:
    """Whether a latent was cached as keys and values of every head: both types are named."""
    return row.get("mla_mode") == 0 and "kv_v" in row


def _workload(row: Row, known: bool) -> Workload:
    """What ran; weights on the host only where their size is known, and not in the fork, which
    copies them in ways of its own."""
    kv_k, kv_v = row.get("kv_k", "auto"), row.get("kv_v")
    sequences = row.get("sequences", 1)
    known = known and row["program"] != _FORK
    on_host = known and row["gpu_count"] and row.get("offload") in ("partial", "none")
    return Workload(
        context=-(-row.get("context", 0) // sequences) or 1,
        concurrency=sequences,
        engine_version=row.get("build") if row["program"] == "llama.cpp" else None,
        kv_dtype=kv_k if kv_v is None else f"{kv_k}/{kv_v}",
        batch_size=row.get("batch"),
        ubatch_size=row.get("ubatch"),
        flash_attention=row.get("flash_attention", True),
        gpu_layers=row.get("gpu_layers") if on_host else None,
        cpu_moe=known and row.get("offload") == "overrides",
    )


def _made(
    run: Run,
    component: str,
    measured: float,
    predicted: float,
    guess: float | None,
    variant: str,
    rival: Rival | None = None,
) -> Comparison:
    row = run.row
    return Comparison(
        row["program"], component, variant, row["id"], row["dup_group"], row["source_group"],
        row["source_url"], measured, predicted, guess, rival=rival,
    )  # fmt: skip


def _naive_weights(run: Run) -> float:
    assert run.quant is not None
    return naive.weights_bytes(run.profile, run.quant, native=run.native)


def _naive_cache(run: Run) -> float:
    context: int = run.row.get("context", 0)
    return naive.kv_bytes_per_token(run.profile) * context


def on_gpus(amounts: Mapping[str, int]) -> dict[str, int]:
    """Devices that are not the host."""
    return {
        name: amount for name, amount in amounts.items() if not any(word in name for word in _HOST)
    }


def _weights(run: Run) -> Iterator[Comparison]:
    """All buffers together, and those on GPUs where every layer went there.

    Buffers that exceed the file hold something twice; what of that is on GPUs counts there.
    """
    measured = run.row["measured"]
    if run.quant is None:
        return
    predicted, guess = run.whole.sizes.total, _naive_weights(run)
    loaded, file_bytes = measured.get("weights_bytes"), run.row.get("file_bytes")
    if loaded and not (file_bytes and loaded > _LOADED_TWICE * file_bytes):
        yield _made(run, "weights", loaded, predicted, guess, "")
    placed = sum(on_gpus(measured.get("weights_by_device", {})).values())
    if placed and run.row.get("offload") == "all":
        placed_there = run.whole.per_gpu.weights.likely
        yield _made(run, "weights_on_gpus", placed, placed_there, guess, "")


def _cache(run: Run) -> Iterator[Comparison]:
    measured = run.row["measured"]
    kv = measured.get("kv_bytes")
    if kv:
        states = measured.get("recurrent_bytes", 0)
        predicted = _whole_cache(run)
        guess, rival = _naive_cache(run), hf_mem_answers.llama_cache(run.row)
        yield _made(run, "kv_cache", kv + states, predicted, guess, _attention(run), rival)


def _whole_cache(run: Run) -> float:
    """On GPUs and host together: what a model wholly on one GPU would take."""
    workload = _workload(run.row, known=False)
    arch, context = run.profile.architecture, workload.context
    one = run.engine.sequence_bytes(arch, workload, Split(), CUDA, context)
    return one * workload.concurrency


def _attention(run: Run) -> str:
    arch = run.profile.architecture
    kinds = {spec.attention for spec in arch.layer_plan} if arch else set()
    if Attention.MLA in kinds:
        return "mla expanded" if run.row.get("mla_mode") == 0 else "mla"
    if Attention.RECURRENT in kinds:
        return "hybrid"
    return "window" if kinds & {Attention.SLIDING, Attention.CHUNKED} else "plain"


def _compute(run: Run) -> Iterator[Comparison]:
    """The largest compute buffer of any GPU; of any device where no layer is on a GPU.

    Tensors placed by hand rule out batches in flight on several GPUs (llama-context.cpp:
    `has_tensor_overrides` against pipeline parallelism).
    """
    buffers = run.row["measured"].get("compute_by_device", {})
    cards = {} if run.row.get("offload") == "none" else on_gpus(buffers)
    if not buffers or run.row.get("legacy"):
        return
    measured = max((cards or buffers).values())
    by_hand = run.row.get("offload") == "overrides"
    predicted = (run.whole if by_hand else run.shared).per_gpu.activations.likely
    guess = None
    if run.quant is not None:
        guess = naive.OVERHEAD * (_naive_weights(run) + _naive_cache(run))
        guess /= max(1, run.row["gpu_count"])
    yield _made(run, "compute", measured, predicted, guess, _placement(run))


def _placement(run: Run) -> str:
    row = run.row
    offload = row.get("offload")
    if offload in ("overrides", "partial"):
        return "overrides" if offload == "overrides" else "partial offload"
    if _attention(run) in ("mla", "mla expanded", "hybrid"):
        return _attention(run)
    if offload == "none":
        return "no layer on a GPU"
    return "flash attention" if row.get("flash_attention", True) else "no flash attention"


def _counts_host(row: Row) -> bool:
    """Vulkan gives the GPU system memory to read, which the counters of an APU take in."""
    return "Vulkan" in row["backends"]


def _process(run: Run) -> Iterator[Comparison]:
    """Everything a process took on its GPUs, with all layers there."""
    measured = run.row["measured"].get("total_used_bytes")
    if not measured or run.quant is None or run.row.get("offload") != "all":
        return
    predicted = run.shared.all_gpus.total.likely
    if _counts_host(run.row):
        predicted += run.whole.sizes.total - run.whole.per_gpu.weights.likely
    guess = (1 + naive.OVERHEAD) * (_naive_weights(run) + _naive_cache(run))
    yield _made(run, "process_total", measured, predicted, guess, "+".join(run.row["backends"]))
