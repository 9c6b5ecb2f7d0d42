"""Compares llama.cpp's allocation lines, processes and published GGUF files with answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from bench import rivals
from bench.errors import Comparison
from bench.front_door import AnsweredRow, estimate_of, gpu_of, size
from bench.measurements import Row, load_profile
from gpusizer.core.errors import UnknownQuant
from gpusizer.memory.quants import find_quant

FILES = "gguf"  # value of `engine` for rows about files, without a run

_ENGINES = {"ollama": "ollama"}  # everything else is llama.cpp to gpusizer
_LABELS = {"MXFP4": "mxfp4_moe", "F16": "gguf-f16", "BF16": "gguf-f16", "F32": "gguf-f32"}
_ANY_QUANT = "q4_k_m"  # for a mix that no request can name: cache and buffers do not depend on it
_FORK = "ik_llama.cpp"
_HOST = ("CPU", "Host")
# Recipes that give every tensor one type: sizes of uniform tensors are compared with these only.
_UNIFORM = frozenset({"gguf-f16", "q8_0"})
_LOADED_TWICE = 1.02  # share of the file above which a tied embedding or mapped pages count twice


def gguf_slug(label: str | None, publisher: str) -> str | None:
    """Return the slug of a quantization's label, None for a mix that has no slug.

    If a publisher's files differ from the plain recipe, the slug includes the publisher.
    """
    name = _LABELS.get(label or "", label or "")
    for spelling in (f"{name}@{publisher}", name) if publisher else (name,):
        try:
            quant = find_quant(spelling)
        except UnknownQuant:
            continue
        return quant.slug if "llama.cpp" in quant.engines else None
    return None


def _publisher(row: Row) -> str:
    owner: str = row.get("gguf_repo", "").partition("/")[0]
    return owner.lower()


def fields_of(row: Row) -> dict[str, Any]:
    """Return the row's settings as fields of a request; a row's `context` is for all sequences.

    No run of llama.cpp here loaded a projector; Ollama's files bring theirs along.
    """
    sequences, keys, values = row.get("sequences", 1), row.get("kv_k"), row.get("kv_v")
    names_quant = gguf_slug(row.get("quant"), _publisher(row))
    context, offload = row.get("context"), row.get("offload")
    placed = row.get("gpu_layers") if offload == "partial" else None
    version = row.get("engine_version")
    if row["program"] == "llama.cpp":  # a build is no younger than its run
        version = row.get("build") or row.get("date")
    return {
        "model": row["profile"],
        "quant": names_quant or _ANY_QUANT,
        "engine": _ENGINES.get(row["program"], "llama.cpp"),
        "engine_version": version,
        "gpu": gpu_of(row),
        "gpu_count": max(1, row["gpu_count"]),
        "context": -(-context // sequences) if context else None,
        "concurrency": sequences,
        "kv_dtype": "/".join(filter(None, (keys, values))),
        "batch_size": row.get("batch"),
        "ubatch_size": row.get("ubatch"),
        "flash_attention": row.get("flash_attention"),
        "backend": row["backends"][0].lower() if len(row["backends"]) == 1 else None,
        "gpu_layers": 0 if offload == "none" else placed,
        "cpu_moe": offload == "overrides",
        "text_only": row["program"] not in _ENGINES,
    }


def apart(row: Row) -> bool:
    """Whether something ran that no request can state: a fork, or tensors placed by name."""
    return row["program"] == _FORK or row.get("offload") == "overrides"


class Run(AnsweredRow):
    """A run of llama.cpp or Ollama and the answer to its request."""

    @property
    def names_quant(self) -> bool:
        """Whether the request names the quantization that ran."""
        row = self.row
        return gguf_slug(row.get("quant"), _publisher(row)) is not None

    @property
    def weights_bytes(self) -> int:
        """Bytes of weights on GPUs and in system memory."""
        return int(self.estimate["weights_bytes"] + self.estimate["host_bytes"])


def compare(row: Row) -> Iterator[Comparison]:
    """Compare every component that the row measured and that the answer shows."""
    fields = fields_of(row)
    answer = size(fields)
    if answer is None:
        return
    run = Run(row, fields, answer)
    if row["measure_kind"] == "process":
        yield from _process(run)
        return
    yield from _weights(run)
    yield from _cache(run)
    yield from _compute(run)


def _of(run: Run) -> Callable[..., Comparison]:
    return partial(Comparison.with_error, run.row, run.row["program"], apart=apart(run.row))


def _naive_weights(run: Run) -> float:
    quant = find_quant(run.fields["quant"])
    return rivals.naive_weights_bytes(run.profile, quant, native=False)


def _naive_cache(run: Run) -> float:
    context: int = run.row.get("context", 0)
    return rivals.naive_kv_bytes_per_token(run.profile) * context


def on_gpus(amounts: Mapping[str, int]) -> dict[str, int]:
    """Return the amounts of devices that are not the host."""
    return {
        name: amount for name, amount in amounts.items() if not any(word in name for word in _HOST)
    }


def _weights(run: Run) -> Iterator[Comparison]:
    measured = run.row["measured"]
    if not run.names_quant:
        return
    guess = _naive_weights(run)
    loaded, file_bytes = measured.get("weights_bytes"), run.row.get("file_bytes")
    if loaded and not (file_bytes and loaded > _LOADED_TWICE * file_bytes):
        yield _of(run)("weights", loaded, run.weights_bytes, guess)
    placed = sum(on_gpus(measured.get("weights_by_device", {})).values())
    if placed and run.row.get("offload") == "all":
        predicted = run.estimate["weights_bytes"]
        yield _of(run)("weights_on_gpus", placed, predicted, guess)


def _cache(run: Run) -> Iterator[Comparison]:
    # Cache and recurrent states of all devices; of GPUs if they have only some layers.
    measured, row = run.row["measured"], run.row
    kv = measured.get("kv_bytes")
    if not kv:
        return
    amount = kv + measured.get("recurrent_bytes", 0)
    if row.get("offload") in ("partial", "none"):
        if "kv_by_device" not in measured or measured.get("recurrent_bytes"):
            return
        amount = sum(on_gpus(measured["kv_by_device"]).values())
    predicted = run.estimate["kv_cache_bytes"]
    guess, rival = _naive_cache(run), rivals.hf_mem_llama_cache(row)
    kind = _attention(run)
    yield _of(run)("kv_cache", amount, predicted, guess, variant=kind, rival=rival)


def _attention(run: Run) -> str:
    arch = run.profile.architecture
    layers = [run.layer for run in arch.layer_plan] if arch else []
    if any(layer.latent for layer in layers):
        return "mla expanded" if run.row.get("mla_mode") == 0 else "mla"
    if any(layer.state and not layer.tokens for layer in layers):
        return "hybrid"
    return "window" if any(layer.tokens and not layer.lasts for layer in layers) else "plain"


def _compute(run: Run) -> Iterator[Comparison]:
    # The largest compute buffer of any GPU; of any device if no layer is on a GPU.
    buffers = run.row["measured"].get("compute_by_device", {})
    cards = {} if run.row.get("offload") == "none" else on_gpus(buffers)
    if not buffers or run.row.get("legacy"):
        return
    measured = max((cards or buffers).values())
    predicted = run.estimate["per_gpu"]["activations_bytes"]
    guess = None
    if run.names_quant:
        guess = rivals.NAIVE_OVERHEAD * (_naive_weights(run) + _naive_cache(run))
        guess /= max(1, run.row["gpu_count"])
    yield _of(run)("compute", measured, predicted, guess, variant=_placement(run))


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


def _process(run: Run) -> Iterator[Comparison]:
    # Only if the GPUs have all layers. Under Vulkan the counter of an APU includes the part that
    # the answer places in system memory.
    measured = run.row["measured"].get("total_used_bytes")
    if not measured or not run.names_quant or run.row.get("offload") != "all":
        return
    backends = run.row["backends"]
    host = run.estimate["host_bytes"] if "Vulkan" in backends else 0
    low_bytes, total_bytes, high_bytes = (
        run.estimate[name] + host for name in ("low_bytes", "total_bytes", "high_bytes")
    )
    guess = (1 + rivals.NAIVE_OVERHEAD) * (_naive_weights(run) + _naive_cache(run))
    band, variant = (low_bytes, high_bytes), "+".join(backends)
    yield _of(run)("process_total", measured, total_bytes, guess, variant=variant, band=band)


def compare_file(row: Row) -> Iterator[Comparison]:
    """Compare the published bytes of a GGUF file, or of its tensors, for recipes with a slug."""
    profile = load_profile(row["profile"])
    slug = gguf_slug(row["quant"], _publisher(row))
    uniform = row["counts"] == "uniform_tensors"
    if slug is None or (uniform and slug not in _UNIFORM):
        return
    answer = size(
        {
            "model": row["profile"],
            "quant": slug,
            "engine": "llama.cpp",
            "importance_matrix": row.get("importance_matrix"),
            "gguf_date": row.get("gguf_date"),
        }
    )
    if answer is None:
        return
    estimate = estimate_of(answer)
    tensors = estimate["weights_bytes"] + estimate["host_bytes"] - estimate["projector_bytes"]
    yield Comparison.with_error(
        row,
        FILES,
        "uniform_tensors" if uniform else "file_size",
        row["bytes"],
        estimate["file_bytes"] if row["counts"] == "file" else tensors,
        rivals.naive_weights_bytes(profile, find_quant(slug), native=False),
        variant=slug.partition("@")[0],
    )
