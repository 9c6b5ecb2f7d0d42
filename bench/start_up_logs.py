"""Compares start-up logs of serving engines with public answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench import rivals
from bench.errors import Comparison
from bench.front_door import AnsweredRow, estimate_of, gpu_of, size
from bench.measurements import Row, load_profile
from gpusizer.logs.prediction import grows_evenly
from gpusizer.memory.quants import Quant, find_quant
from gpusizer.memory.quants.native import native_quant
from gpusizer.model.profile import ModelProfile
from gpusizer.model.tensor_roles import Part

# circumstances that no request can state
UNASKABLE = frozenset(
    {
        "lora",
        "shared_with_trainer",
        "shared_gpu",
        "patched",
        "mixed_ranks",
        "cpu_offload",
        "data_parallel_attention",
        "pooling",
    }
)

_SECOND_MODEL = "draft_model"
_ON_GPU = ("fits", "tight")
_SAME_NAMES = (
    "engine",
    "gpu_count",
    "tensor_parallel",
    "pipeline_parallel",
    "kv_dtype",
    "max_num_seqs",
    "max_num_batched_tokens",
    "enforce_eager",
    "prefix_caching",
    "sampler",
)


def fields_of(row: Row) -> dict[str, Any]:
    """Return the row's settings as fields of a request; unstated settings are None."""
    version = (row.get("engine_version"), row.get("engine_generation"))
    own_drafts = _SECOND_MODEL in row.get("flags", ()) and _has_drafts(load_profile(row["profile"]))
    return {
        "model": row["profile"],
        "quant": row["quant"],
        "gpu": gpu_of(row),
        **{name: row.get(name) for name in _SAME_NAMES},
        "engine_version": " ".join(filter(None, version)),
        "context": row.get("max_model_len"),
        "expert_parallel": row["tensor_parallel"] if row.get("expert_parallel") else None,
        "memory_utilization": row.get("utilization"),
        "text_only": "text_only" in row.get("flags", ()),
        "draft_tokens": row.get("draft_tokens", 1) if own_drafts else None,
    }


def _has_drafts(profile: ModelProfile) -> bool:
    return any(group.part is Part.MTP for group in profile.groups)


def apart(row: Row) -> bool:
    """Whether something ran that no request can state, such as adapters or a second model."""
    flags = set(row.get("flags", ()))
    second = _SECOND_MODEL in flags and not _has_drafts(load_profile(row["profile"]))
    return second or bool(flags & UNASKABLE)


class Scenario(AnsweredRow):
    """A start of a serving engine and the answer to its request."""

    @property
    def per_gpu(self) -> dict[str, int]:
        amounts: dict[str, int] = self.estimate["per_gpu"]
        return amounts

    @property
    def gpus(self) -> int:
        return int(self.estimate["gpus"])

    @property
    def context(self) -> int:
        """Tokens of the answer's cache: fewer than requested if the answer reduces them."""
        return int(self.answer["workload"]["context"])

    @property
    def even(self) -> bool:
        """Whether every token costs the same: no windows, no recurrent states."""
        return grows_evenly(self.profile)

    @property
    def family(self) -> str:
        """Name of the activation model that applies."""
        arch = self.profile.architecture
        if any(group.part is Part.VISION for group in self.profile.groups):
            return "vision"
        return "moe" if arch is not None and arch.experts else "dense"

    def capacity(self, name: str) -> float | None:
        """Return a number of the answer's `capacity`, None for an answer without a card."""
        value: float | None = self.estimate.get("capacity", {}).get(name)
        return value


def scenario(row: Row) -> Scenario | None:
    """Return the answer to a row's request, None if it is refused."""
    fields = fields_of(row)
    answer = size(fields)
    return None if answer is None else Scenario(row, fields, answer)


def compare(row: Row) -> Iterator[Comparison]:
    """Compare every component that the row measured and that the answer shows."""
    run = scenario(row)
    if run is not None:
        yield from _weights(run)
        yield from _cache(run)
        yield from _runtime(run)
        yield from _pool(run)


def says_it_fits(row: Row) -> bool | None:
    """Return the printed verdict, None if no request can state the run or name its card."""
    if apart(row):
        return None
    run = scenario(row)
    if run is None or not run.fields["gpu"]:
        return None
    return run.estimate["verdict"] in _ON_GPU and bool(run.capacity("kv_cache_pool_bytes"))


def _of(run: Scenario) -> Callable[..., Comparison]:
    return partial(Comparison.with_error, run.row, run.row["engine"], apart=apart(run.row))


def _weights(run: Scenario) -> Iterator[Comparison]:
    measured = run.row["measured"].get("weights_bytes")
    if measured:
        native = run.row["quant"] == "native"
        stored = "stored" if run.profile.quantization is None and native else "quantized"
        predicted, guess = run.per_gpu["weights_bytes"], _naive_weights(run)
        rival = rivals.hf_mem_weights(run.row, run.gpus)
        yield _of(run)("weights", measured, predicted, guess, variant=stored, rival=rival)


def _quant(row: Row, profile: ModelProfile) -> tuple[Quant, bool]:
    native = row["quant"] == "native"
    return (native_quant(profile) if native else find_quant(row["quant"])), native


def _naive_weights(run: Scenario) -> float:
    quant, native = _quant(run.row, run.profile)
    return rivals.naive_weights_bytes(run.profile, quant, native=native) / run.gpus


def _naive_per_token(run: Scenario) -> float:
    return rivals.naive_kv_bytes_per_token(run.profile) / run.gpus


def _cache(run: Scenario) -> Iterator[Comparison]:
    # Bytes per token if all tokens cost the same, else bytes of a sequence. If the answer shortens
    # the sequence, its number for the shorter sequence is compared.
    measured, context = run.row["measured"], run.row.get("max_model_len")
    sequence = run.per_gpu["kv_cache_bytes"]
    per_token = measured.get("kv_bytes_per_token")
    if per_token and run.even:
        tokens = context or run.profile.max_context or run.context
        rival = rivals.hf_mem_serving_cache(run.row, tokens, run.gpus * tokens)
        predicted, guess = sequence / run.context, _naive_per_token(run)
        yield _of(run)("kv_per_token", per_token, predicted, guess, rival=rival)
    pool, concurrency = measured.get("kv_pool_bytes"), measured.get("max_concurrency")
    if pool and concurrency and context and not run.even:
        guess = _naive_per_token(run) * context
        rival = rivals.hf_mem_serving_cache(run.row, context, run.gpus)
        yield _of(run)("kv_per_sequence", pool / concurrency, sequence, guess, rival=rival)


def _runtime(run: Scenario) -> Iterator[Comparison]:
    # The bytes of graphs are the overhead without `enforce_eager` minus that with it.
    measured = run.row["measured"]
    if measured.get("activations_bytes"):
        share = rivals.NAIVE_OVERHEAD * _naive_weights(run)
        predicted = run.per_gpu["activations_bytes"]
        peak = measured["activations_bytes"]
        yield _of(run)("activations", peak, predicted, share, variant=run.family)
    graphs = 0 if run.row.get("enforce_eager") else max(0, measured.get("graphs_bytes", 0))
    if not graphs and not measured.get("non_torch_bytes"):
        return
    answer = size({**run.fields, "enforce_eager": True})
    assert answer is not None  # the same request was answered with graphs
    eager = estimate_of(answer)["per_gpu"]
    if measured.get("non_torch_bytes"):
        variant = "one GPU" if run.gpus == 1 else "several GPUs"
        inside = eager["overhead_bytes"] - eager["outside_budget_bytes"]
        yield _of(run)("non_torch", measured["non_torch_bytes"], inside, variant=variant)
    if graphs:
        added = run.per_gpu["overhead_bytes"] - eager["overhead_bytes"]
        yield _of(run)("graphs", graphs, added)


def _pool(run: Scenario) -> Iterator[Comparison]:
    # Only if card and utilization are stated.
    row, measured = run.row, run.row["measured"]
    pool, predicted = measured.get("kv_pool_bytes", 0), run.capacity("kv_cache_pool_bytes")
    if predicted is None or not row.get("utilization") or pool <= 0:
        return
    guess = None
    if row.get("gpu_memory_bytes"):
        budget = row["utilization"] * row["gpu_memory_bytes"]
        guess = max(0.0, budget - (1 + rivals.NAIVE_OVERHEAD) * _naive_weights(run))
    generation = row.get("engine_generation", "")
    yield _of(run)("kv_pool", pool, predicted, guess, variant=generation)
    concurrency, sequences = measured.get("max_concurrency"), run.capacity("max_concurrency")
    if concurrency and sequences is not None and row.get("max_model_len"):
        sequence = _naive_per_token(run) * row["max_model_len"]
        naive = guess / sequence if guess is not None and sequence else None
        yield _of(run)("max_concurrency", concurrency, sequences, naive, in_bytes=False)
