"""Predictions for the start-up logs of serving engines, by the code that answers users."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from bench import hf_mem_answers, naive
from bench.comparison import Comparison
from bench.hf_mem_answers import Rival
from bench.measurements import Row
from bench.models import load_profile
from gpusizer.architecture import Attention
from gpusizer.engines import Engine, find_engine
from gpusizer.errors import UnknownGpu
from gpusizer.fit import Fit, Fitter, asked_split, device_class_of
from gpusizer.gpus import Catalogue, Gpu, load_catalogue
from gpusizer.profile import ModelProfile
from gpusizer.quants import Quant, find_quant
from gpusizer.quants.native import native_quant
from gpusizer.roles import Part
from gpusizer.units import GB
from gpusizer.workload import DEFAULT_CONTEXT, Workload

_ANY_GPU = "h100-sxm-80gb"  # lends what a row does not say; memory is always the row's
_ANY_AMD = "instinct-mi300x-192gb"
UNASKABLE = {"lora", "shared_with_trainer", "shared_gpu", "patched", "mixed_ranks", "cpu_offload",
             "data_parallel_attention"}  # fmt: skip
"""Circumstances that no request can state."""

_KEPT_ELSEWHERE = {"cpu_offload"}
_OTHER_TENANTS = {"shared_gpu", "cpu_offload"}
_BY_OTHER_RANKS = {"mixed_ranks"}
_GROWS_EVENLY = {Attention.FULL, Attention.MLA, Attention.NONE, Attention.CROSS}


@dataclass(frozen=True, slots=True)
class Scenario:
    """A row as a request, and the answer."""

    row: Row
    profile: ModelProfile
    quant: Quant
    native: bool
    engine: Engine
    gpu: Gpu
    fitter: Fitter
    fit: Fit

    @property
    def even(self) -> bool:
        """Every token costs the same: no windows, no recurrent states."""
        arch = self.profile.architecture
        return arch is not None and all(s.attention in _GROWS_EVENLY for s in arch.layer_plan)

    @property
    def family(self) -> str:
        """Which activation model applies."""
        arch = self.profile.architecture
        if any(group.part is Part.VISION for group in self.profile.groups):
            return "vision"
        return "moe" if arch is not None and arch.experts else "dense"

    def has(self, flags: set[str]) -> bool:
        return bool(flags & set(self.row.get("flags", ())))


def workload_of(row: Row, longest: int | None = None) -> Workload:
    """The row's settings; what it does not state is left to the engine's defaults.

    `longest` is the model's own limit, which serving engines plan for unless told otherwise.
    """
    version = (row.get("engine_version"), row.get("engine_generation"))
    return Workload(
        context=row.get("max_model_len") or longest or DEFAULT_CONTEXT,
        concurrency=1,
        kv_dtype=_cache_type(row),
        engine=row["engine"],
        engine_version=" ".join(filter(None, version)) or None,
        tensor_parallel=row["tensor_parallel"],
        pipeline_parallel=row["pipeline_parallel"],
        expert_parallel=row["tensor_parallel"] if row.get("expert_parallel") else None,
        memory_utilization=row.get("utilization"),
        max_num_seqs=row.get("max_num_seqs"),
        max_num_batched_tokens=row.get("max_num_batched_tokens"),
        enforce_eager=bool(row.get("enforce_eager")),
        text_only="text_only" in row.get("flags", ()),
        draft_tokens=int("draft_model" in row.get("flags", ())),  # how many, no row says
    )


def _cache_type(row: Row) -> str:
    """The cache's element type; left to the engine it is that of the weights' arithmetic."""
    kind: str = row.get("kv_dtype", "auto")
    if kind == "auto" and row.get("weight_dtype") == "float32":
        return "f32"
    return "fp8" if kind.startswith("fp8") else kind


def scenario(row: Row) -> Scenario:
    """Answer a row with Fitter and Estimator, on a card of exactly the row's memory."""
    profile = load_profile(row["profile"])
    if "pooling" in row.get("flags", ()):
        profile = replace(profile, pipeline_tag="feature-extraction")
    workload = workload_of(row, profile.max_context)
    native = row["quant"] == "native"
    quant = native_quant(profile) if native else find_quant(row["quant"])
    engine, gpu = find_engine(row["engine"]), card(row)
    fitter = Fitter(profile, workload, [(quant, native)])
    split = asked_split(workload)
    assert split is not None  # rows always state their parallelism
    estimate = fitter.estimate(quant, native, engine, split, device_class_of(engine, gpu))
    fit = fitter.fit(gpu, split.gpus, estimate)
    return Scenario(row, profile, quant, native, engine, gpu, fitter, fit)


@cache
def _catalogue() -> Catalogue:
    return load_catalogue()


def card(row: Row) -> Gpu:
    """The catalogue's card where it knows the name, with the memory that the run saw.

    A row that names only a class of cards gets that class's size; one that names none, nothing,
    and with it the defaults of small cards.
    """
    memory = row.get("gpu_memory_bytes")
    name = row.get("gpu", "")
    try:
        gpu = _catalogue().find(name)
    except UnknownGpu:
        gpu = _catalogue().find(_ANY_AMD if name.startswith("AMD") else _ANY_GPU)
        memory = memory or row.get("gpu_class_gb", 0) * GB
    if memory is None:
        memory = gpu.device_memory_bytes
    return replace(gpu, memory_bytes=memory, devices_per_board=1)


def compare(row: Row) -> Iterator[Comparison]:
    """Every component that the row measured and that a prediction exists for."""
    run = scenario(row)
    yield from _weights(run)
    yield from _cache(run)
    yield from _runtime(run)
    yield from _pool(run)


def verdict_is_wrong(row: Row) -> bool | None:
    """Whether we said "fits" of a run that ran out of memory; None for runs that did not."""
    if row["outcome"] != "out_of_memory" or not row.get("gpu_memory_bytes"):
        return None
    fit = scenario(row).fit
    return fit.verdict.all_on_gpu and fit.kv_pool_bytes > 0


def _made(
    run: Scenario, component: str, measured: float, predicted: float, guess: float | None,
    variant: str = "", in_bytes: bool = True, rival: Rival | None = None,
) -> Comparison:  # fmt: skip
    row = run.row
    return Comparison(
        run.engine.slug, component, variant, row["id"], row["dup_group"], row["source_group"],
        row["source_url"], measured, predicted, guess, in_bytes, rival,
    )  # fmt: skip


def _weights(run: Scenario) -> Iterator[Comparison]:
    measured = run.row["measured"].get("weights_bytes")
    if measured and not run.has(_KEPT_ELSEWHERE):
        predicted = run.fit.estimate.per_gpu.weights.likely
        stored = "stored" if run.profile.quantization is None and run.native else "quantized"
        rival = hf_mem_answers.weights(run.row, run.fit.estimate.split.gpus)
        yield _made(run, "weights", measured, predicted, _naive_weights(run), stored, rival=rival)


def _naive_weights(run: Scenario) -> float:
    whole = naive.weights_bytes(run.profile, run.quant, native=run.native)
    return whole / run.fit.estimate.split.gpus


def _naive_per_token(run: Scenario) -> float:
    return naive.kv_bytes_per_token(run.profile) / run.fit.estimate.split.gpus


def _cache(run: Scenario) -> Iterator[Comparison]:
    """Bytes per token where all tokens cost the same, else bytes per full-length sequence."""
    measured = run.row["measured"]
    context = run.fitter.workload.context
    sequence, gpus = run.fit.estimate.per_gpu.kv_cache.likely, run.fit.estimate.split.gpus
    if run.has(_BY_OTHER_RANKS):
        return
    per_token = measured.get("kv_bytes_per_token")
    if per_token and run.even:
        block = run.engine.kv_cell_multiple
        tokens = -(-context // block) * block
        yield _made(
            run, "kv_per_token", per_token, sequence / tokens, _naive_per_token(run),
            rival=hf_mem_answers.serving_cache(run.row, context, gpus * context),
        )  # fmt: skip
    pool, concurrency = measured.get("kv_pool_bytes"), measured.get("max_concurrency")
    if pool and concurrency and not run.even:
        guess = _naive_per_token(run) * context
        rival = hf_mem_answers.serving_cache(run.row, context, gpus)
        yield _made(run, "kv_per_sequence", pool / concurrency, sequence, guess, rival=rival)


def _runtime(run: Scenario) -> Iterator[Comparison]:
    """Activations, and the overhead with and without CUDA graphs taken apart."""
    measured, split = run.row["measured"], run.fit.estimate.split
    share = naive.OVERHEAD * _naive_weights(run)
    if measured.get("activations_bytes"):
        predicted = run.fit.estimate.per_gpu.activations.likely
        amount = measured["activations_bytes"]
        yield _made(run, "activations", amount, predicted, share, run.family)
    eager, captured = (
        run.engine.overhead(
            run.profile,
            replace(run.fitter.workload, enforce_eager=enforced),
            split,
            run.fit.estimate.device_class,
        )
        for enforced in (True, False)
    )
    if measured.get("non_torch_bytes"):
        several = "one GPU" if split.gpus == 1 else "several GPUs"
        amount = measured["non_torch_bytes"]
        yield _made(run, "non_torch", amount, eager.inside.likely, None, several)
    graphs = (captured.inside + captured.outside).likely - (eager.inside + eager.outside).likely
    if measured.get("graphs_bytes", 0) > 0 and not run.row.get("enforce_eager"):
        yield _made(run, "graphs", measured["graphs_bytes"], graphs, None)


def _granted(run: Scenario) -> int:
    """The pool by the engine's own sum, which it prints before anything outside its budget exists.

    A fit's pool is smaller where graphs and context would not find room beside it.
    """
    made = run.fit.estimate
    if run.engine.budget_rule != "whole":
        return run.fit.kv_pool_bytes
    budget = int(run.gpu.device_memory_bytes * made.utilization)
    return max(0, budget - made.budgeted.likely + made.per_gpu.kv_cache.likely)


def _pool(run: Scenario) -> Iterator[Comparison]:
    """The cache pool and what it holds, where memory and utilization are both stated."""
    row, measured = run.row, run.row["measured"]
    memory, utilization = row.get("gpu_memory_bytes"), row.get("utilization")
    pool = measured.get("kv_pool_bytes", 0)
    if not memory or not utilization or pool <= 0 or run.has(_OTHER_TENANTS):
        return
    guess = max(0.0, utilization * memory - (1 + naive.OVERHEAD) * _naive_weights(run))
    generation, granted = row.get("engine_generation", ""), _granted(run)
    yield _made(run, "kv_pool", pool, granted, guess, generation)
    held, predicted = measured.get("max_concurrency"), run.fit.max_concurrency
    if held and predicted is not None and row.get("max_model_len"):
        if run.fit.kv_pool_bytes < granted:
            predicted = granted / run.fit.estimate.per_gpu.kv_cache.likely
        sequence = _naive_per_token(run) * row["max_model_len"]
        guess = guess / sequence if sequence else 0.0
        yield _made(run, "max_concurrency", held, predicted, guess, "", False)
