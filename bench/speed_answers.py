"""Measured speeds, compared with the public answers to their requests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bench.errors import Comparison
from bench.front_door import Answer, catalogue, size
from bench.measurements import Row, load_profile
from gpusizer.gpus.gpu_cores import cores_sold
from gpusizer.speed.classes import decode_classes
from gpusizer.speed.tables import DECODE, PREFILL, SERVING
from gpusizer.speed.work import PROMPT_SHARE

ENGINE = "speed"  # replaces the engine in tables: answers name one rate for each quantity

OFFLINE = "offline"  # scenario of an unbounded load

_LLAMA_CPP = ("llama.cpp", "ollama")
_MEMORY = {
    "nvidia_gddr": "gddr",
    "nvidia_hbm": "hbm",
    "apple": "apple",
    "amd": "amd",
    "intel": "intel",
}
_BUILD = re.compile(r"\bb(?:uild )?(\d{4,5})\b")
_DYNAMIC = re.compile(r"-UD-(I?Q\w+?)(?:-\d|$)")  # Unsloth's mix in a file's name

# Builds of the days that sources name: b2780 is of 1 May 2024, and a README of 13 May prints its
# runs.
_BUILDS = {
    "2023-10": "b1400",
    "reference build 8e672ef (2023-11), newer chips on newer builds": "b1500",
    "Jan 2024": "b1900",
    "2024-04": "b2650",
    "2024-04/05": "b2750",
    "May 2024 (pre-b3000)": "b2780",
    "Aug 2025": "b6200",
    "2025-10-15": "b6765",
}

# releases of vLLM by the months that sources name
_RELEASES = {
    "2023-10": "0.2.1",
    "2023-11": "0.2.2",
    "2023-12": "0.2.6",
    "2024-04/05": "0.4.1",
}
_BACKENDS = {
    "cuda": "cuda",
    "rocm": "rocm",
    "hip": "rocm",
    "vulkan": "vulkan",
    "metal": "metal",
    "sycl": "sycl",
}
_DECODED = "decode_tokens_per_second"
_PREFILLED = "prefill_tokens_per_second"
_TOTAL = "decode_tokens_per_second_total"
_SERVED = "serving_tokens_per_second"


def fields_of(row: Row, quantity: str = DECODE) -> dict[str, Any]:
    """Return the row's settings as fields of a request about one quantity.

    An answer's decode speed is that at the request's context: the content of the cache during
    generation. Its speed of prompts is that of the prompt it states, a share of the context. For
    totals a sequence is prompt and answer together. A source's figure for one replaces an unstated
    one for the other.
    """
    prompt = row.get("prompt_tokens", 0)
    lengths = prompt + row.get("generated_tokens", 0)
    cached = row.get("context")
    context = cached or lengths if quantity == DECODE else lengths or cached
    if quantity == PREFILL and prompt:
        context = round(prompt / PROMPT_SHARE)
    several, split = row["gpu_count"] > 1, row.get("split")
    offline = row.get("scenario") == OFFLINE
    return {
        "model": row["profile"],
        "quant": _quant(row),
        "engine": row["engine"],
        "engine_version": _version(row),
        "backend": _backend(row),
        "gpu": _gpu(row),
        "gpu_count": row["gpu_count"],
        "context": context,
        "concurrency": None if offline else row.get("concurrency"),
        "tensor_parallel": row["gpu_count"] if several and split == "tensor" else None,
        "pipeline_parallel": row["gpu_count"] if several and split == "layer" else None,
    }


def _gpu(row: Row) -> str:
    # A chip sold with several numbers of GPU cores has its own.
    gpu, cores = catalogue().find(row["gpu_slug"]), row.get("gpu_cores")
    return f"{gpu.slug} ({cores} cores)" if cores in cores_sold(gpu) else gpu.slug


def _version(row: Row) -> str | None:
    # llama.cpp's versions are builds; months of a source are none.
    text = row.get("engine_version")
    if text is None:
        return None
    if row["engine"] not in _LLAMA_CPP:
        return _RELEASES.get(text, text) if row["engine"] == "vllm" else text
    build = _BUILD.search(text)
    return _BUILDS.get(text) or (f"b{build[1]}" if build else None)


def _backend(row: Row) -> str | None:
    # The first word of the source's text.
    written = row.get("backend", "").lower()
    named = (name for word, name in _BACKENDS.items() if written.startswith(word))
    return next(named, None) if row["engine"] in _LLAMA_CPP else None


def _quant(row: Row) -> str | None:
    # Files of models released in MXFP4 are of that recipe, checkpoints are as stored.
    slug: str | None = row.get("quant")
    dynamic = _DYNAMIC.search(row["repo"])
    if dynamic:
        return f"ud-{dynamic[1]}".lower()
    if slug != "mxfp4":
        return slug
    return "mxfp4_moe" if row["engine"] in _LLAMA_CPP else "native"


def answer_to(row: Row, quantity: str = DECODE) -> Answer | None:
    """Return the ranking's entry for the row's card, or None if no request can state it."""
    report = size(fields_of(row, quantity)) if is_asked(row) else None
    return None if report is None else report["ranking"][0]


def is_asked(row: Row) -> bool:
    """Return whether the row states its format, its lengths and the division over its cards."""
    fields = fields_of(row)
    unstated = row["gpu_count"] > 1 and row.get("split") not in ("tensor", "layer")
    return bool(fields["quant"] and fields["context"] and not unstated)


def compare(row: Row) -> Iterator[Comparison]:
    """Compare every speed that the row measured and that the answer shows."""
    measured, alone = row["measured"], row.get("concurrency", 1) == 1
    total = _SERVED if row.get("scenario") == OFFLINE else _TOTAL
    shown = {
        DECODE: (_DECODED, _DECODED, component_of(row, DECODE)) if alone else None,
        PREFILL: (_PREFILLED, _PREFILLED, PREFILL) if row.get("split") != "tensor" else None,
        SERVING: (_SERVED, total, "serving"),
    }
    for quantity, place in shown.items():
        if place is None or not measured.get(place[0]):
            continue
        entry = answer_to(row, quantity)
        rate = entry and entry[place[1]]
        if rate is None:
            continue
        yield Comparison.with_error(
            row,
            ENGINE,
            place[2],
            measured[place[0]],
            rate["likely"],
            variant=row["engine"],
            in_bytes=False,
            band=(rate["low"], rate["high"]),
        )


def component_of(row: Row, quantity: str) -> str:
    """Return the name under which errors of a row's quantity are summed up."""
    return f"{DECODE}_{_kind(row)}" if quantity == DECODE else quantity


def _kind(row: Row) -> str:
    # Groups of decode errors: by experts, division and kind of memory. Eager runs of transformers,
    # which wait for the host, are apart.
    arch = load_profile(row["profile"]).architecture
    if row["engine"] == "transformers":
        return "eager"
    if row.get("split") == "tensor":
        return "tensor"
    if arch is not None and arch.experts:
        return "moe"
    if row["gpu_count"] > 1:
        return "split"
    classes = decode_classes(catalogue().find(row["gpu_slug"]))
    return next((_MEMORY[name] for name in classes if name in _MEMORY), "other")
